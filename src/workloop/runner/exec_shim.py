"""How a program is started so that the kernel kills it when the process that started it dies."""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
PARENT_GONE = 125


def main(arguments: list[str]) -> None:
    """Replace this process by a program; expects our parent's pid, then the program and its arguments.

    The signal is bound to the thread that forked, so the loop spawns from its main thread only.
    """
    parent, *argv = arguments
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != int(parent):  # it died before the kernel knew our wish
        sys.exit(PARENT_GONE)
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # the interpreter ignores these, and exec would hand that on
        signal.signal(ignored, signal.SIG_DFL)
    os.execv(argv[0], argv)


if __name__ == "__main__":
    main(sys.argv[1:])
