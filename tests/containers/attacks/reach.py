"""Tries each way into a process of the host from a program of a container.

usage: reach.py HOST_ONLY_FILE WORD...

Waits for a process whose command line has all of the WORDs, then prints a line for each way in:
its name, and "refused" with the reason or "OPEN". At last a walk through all processes.
"""

import collections.abc
import ctypes
import errno
import os
import pathlib
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
PTRACE_ATTACH = 16
PTRACE_DETACH = 17
PTRACE_SEIZE = 0x4206
CLONE_NEWNS = 0x20000
CLONE_NEWUSER = 0x10000000
SYS_PIDFD_GETFD = 438


class Piece(ctypes.Structure):
    """struct iovec"""

    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def done(result: int) -> None:
    """Raises what libc says is wrong."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def words_of(pid: str) -> list[str]:
    try:
        text = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return []
    return text.decode(errors="replace").split("\0")


def others() -> list[str]:
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()]


def find(wanted: list[str]) -> int:
    for _ in range(300):
        for pid in others():
            if set(wanted) <= set(words_of(pid)):
                return int(pid)
        time.sleep(0.1)
    sys.exit("no process " + " ".join(wanted))


def trace(pid: int, request: int) -> None:
    done(libc.ptrace(request, pid, None, None))
    libc.ptrace(PTRACE_DETACH, pid, None, None)


def read_memory(pid: int) -> None:
    space = ctypes.create_string_buffer(1)
    here = Piece(ctypes.addressof(space), 1)
    there = Piece(0x1000, 1)
    try:
        done(libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0))
    except OSError as problem:
        if problem.errno != errno.EFAULT:  # nothing is mapped there, but it may be asked
            raise


def take_file(pid: int) -> None:
    done(libc.syscall(SYS_PIDFD_GETFD, os.pidfd_open(pid), 2, 0))


def join(pid: int, kind: int) -> None:
    """In a child, as it would not come back."""
    child = os.fork()
    if child == 0:
        try:
            done(libc.setns(os.pidfd_open(pid), kind))
        except OSError as problem:
            os._exit(problem.errno or 1)
        os._exit(0)
    number = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if number:
        raise OSError(number, os.strerror(number))


def read(path: str) -> None:
    with open(path, "rb") as file:
        file.read(1)


def ways(pid: int, secret: str) -> dict[str, collections.abc.Callable[[], object]]:
    folder = f"/proc/{pid}"
    return {
        "host's file through root": lambda: os.stat(f"{folder}/root{secret}"),
        "same of a thread": lambda: os.stat(f"{folder}/task/{pid}/root{secret}"),
        "cwd": lambda: os.listdir(f"{folder}/cwd"),
        "exe": lambda: read(f"{folder}/exe"),
        "what fd/2 is": lambda: os.readlink(f"{folder}/fd/2"),
        "fd/2": lambda: os.open(f"{folder}/fd/2", os.O_RDWR),
        "map_files": lambda: os.listdir(f"{folder}/map_files"),
        "environ": lambda: read(f"{folder}/environ"),
        "maps": lambda: read(f"{folder}/maps"),
        "mem": lambda: os.open(f"{folder}/mem", os.O_RDWR),
        "auxv": lambda: read(f"{folder}/auxv"),
        "syscall": lambda: read(f"{folder}/syscall"),
        "io": lambda: read(f"{folder}/io"),
        "ns/user": lambda: os.stat(f"{folder}/ns/user"),
        "ns/mnt": lambda: os.stat(f"{folder}/ns/mnt"),
        "setns user": lambda: join(pid, CLONE_NEWUSER),
        "setns mount": lambda: join(pid, CLONE_NEWNS),
        "ptrace attach": lambda: trace(pid, PTRACE_ATTACH),
        "ptrace seize": lambda: trace(pid, PTRACE_SEIZE),
        "process_vm_readv": lambda: read_memory(pid),
        "pidfd_getfd": lambda: take_file(pid),
    }


def main() -> None:
    secret, *wanted = sys.argv[1:]
    pid = find(wanted)
    for name, way in ways(pid, secret).items():
        try:
            way()
        except OSError as problem:
            print(f"{name}: refused, {errno.errorcode[problem.errno or 0]}")
        else:
            print(f"{name}: OPEN")
    entered = [other for other in others() if os.path.exists(f"/proc/{other}/root{secret}")]
    for other in entered:
        print("walk: OPEN", other, *words_of(other))
    if not words_of(str(pid)):
        print("it ended meanwhile")  # what was refused then proves nothing
    print("tried all")


main()
