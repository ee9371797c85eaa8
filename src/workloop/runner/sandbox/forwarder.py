"""How a process without a network reaches a few Unix sockets by ports of loopback; needs nothing but Python itself."""

import os
import select
import signal
import socket
import sys
import threading

LOOPBACK = "127.0.0.1"
PIECE_BYTES = 65_536
WAITING_MAX = 128
CONNECTIONS_MAX = 512


def main(arguments: list[str]) -> None:
    """Open the doors "port=path", leave a child that serves them, and become the command after "--"."""
    end = arguments.index("--")
    doors = [listening(door) for door in arguments[:end]]
    command = arguments[end + 1 :]
    child = os.fork()
    if child == 0:
        if os.fork() == 0:  # an orphan from now on, so that the command never has to wait for it
            serve(doors)
        os._exit(0)
    os.waitpid(child, 0)
    for listener, _ in doors:
        listener.close()
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # the interpreter ignores these, and exec would hand that on
        signal.signal(ignored, signal.SIG_DFL)
    os.execv(command[0], command)


def listening(door: str) -> tuple[socket.socket, str]:
    """Open one port."""
    port, path = door.split("=", 1)
    listener = socket.create_server((LOOPBACK, int(port)), backlog=WAITING_MAX)
    return listener, path


def serve(doors: list[tuple[socket.socket, str]]) -> None:
    """Serve until the namespace ends; the command's pipes and signals are none of our business."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    room = threading.BoundedSemaphore(CONNECTIONS_MAX)
    paths = {listener.fileno(): (listener, path) for listener, path in doors}
    while True:
        ready, _, _ = select.select(list(paths), [], [])
        for number in ready:
            listener, path = paths[number]
            inner, _ = listener.accept()
            room.acquire()
            threading.Thread(target=connect, args=(inner, path, room), daemon=True).start()


def connect(inner: socket.socket, path: str, room: threading.BoundedSemaphore) -> None:
    """Carry one connection in both directions until both have ended."""
    outer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with inner, outer:
            inner.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            outer.connect(path)
            back = threading.Thread(target=carry, args=(outer, inner), daemon=True)
            back.start()
            carry(inner, outer)
            back.join()
    except OSError:  # the other side is gone: the connection ends, and that is all the inside may learn
        return
    finally:
        room.release()


def carry(source: socket.socket, sink: socket.socket) -> None:
    """Pass bytes on as they come, and the end of them."""
    try:
        while piece := source.recv(PIECE_BYTES):
            sink.sendall(piece)
    except OSError:  # one of them was reset; the end below tells the other one
        pass
    try:
        sink.shutdown(socket.SHUT_WR)
    except OSError:  # it is closed already
        return


if __name__ == "__main__":
    main(sys.argv[1:])
