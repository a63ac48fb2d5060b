"""The faults: each leaves ranks where they never come back from. They need no framework, but where
they name one."""

import atexit
import ctypes
import itertools
import os
import pathlib
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import fault_plan

FOR_EVER = 10**6


def say(text: str) -> None:
    """In one piece, whoever else writes."""
    os.write(1, f"{text}\n".encode())


def rename(name: str, function: Callable[..., object]) -> Callable[..., object]:
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    return function


def announce(rank: int, function: Callable[..., object]) -> None:
    code = function.__code__
    lines = [line for _, _, line in code.co_lines() if line]
    file = pathlib.Path(code.co_filename).name
    say(f"struck {rank} {file} {code.co_firstlineno} {max(lines)}")


def call_as(name: str, rank: int, function: Callable[[], object]) -> object:
    announce(rank, rename(name, function))
    return function()


class Rank:
    """Of a job with this plan."""

    def __init__(self, plan: fault_plan.Plan, rank: int) -> None:
        self.plan = plan
        self.rank = rank
        self.is_struck = rank in plan.ranks

    def name(self) -> str:
        names = self.plan.names
        return names[self.plan.ranks.index(self.rank)] if self.is_struck else names[0]

    def strike(self, function: Callable[[], object]) -> None:
        """Leaves the rank in this function, renamed as planned."""
        call_as(self.name(), self.rank, function)


def train(rank: Rank, reduce: Callable[[], object]) -> None:
    """Steps of which each is one collective, until the plan's own fault."""
    say(f"started {os.environ['SLURM_JOB_ID']}")
    for number in itertools.count():
        if number == rank.plan.step and rank.is_struck:
            own(rank)
        reduce()


# What the struck ranks do; the others go on, and wait for them.


def own(world: Rank) -> None:
    def sleep() -> None:
        time.sleep(FOR_EVER + world.plan.choice)

    def pause() -> None:
        signal.pause()

    def wait_for_event() -> None:
        threading.Event().wait()

    def read() -> None:
        os.read(os.pipe()[0], 1)

    world.strike([sleep, pause, wait_for_event, read][world.plan.choice % 4])


def sleeping(world: Rank) -> None:
    def sleep() -> None:
        time.sleep(FOR_EVER + world.plan.choice)

    world.strike(sleep)


def extension(world: Rank) -> None:
    libc = ctypes.CDLL(None)

    def pause() -> None:
        libc.pause()

    def wait() -> None:
        libc.select(0, None, None, None, None)

    world.strike([pause, wait][world.plan.choice % 2])


def gil(world: Rank) -> None:
    """The lock of the interpreter is held meanwhile."""
    libc = ctypes.PyDLL(None)

    def pause() -> None:
        libc.pause()

    world.strike(pause)


def lock(world: Rank) -> None:
    first, second = threading.Lock(), threading.Lock()
    both = threading.Barrier(2)

    def helper() -> None:
        with second:
            both.wait()
            with first:
                pass

    def swap() -> None:
        with first:
            both.wait()
            with second:
                pass

    threading.Thread(target=helper, daemon=True).start()
    world.strike(swap)


def import_(world: Rank) -> None:
    """The place is the module's, which has one line."""
    folder = pathlib.Path(world.plan.folder, f"modules{world.rank}")
    folder.mkdir()
    (folder / f"{world.name()}.py").write_text(f"__import__('time').sleep({FOR_EVER})\n")
    sys.path.insert(0, str(folder))
    say(f"struck {world.rank} {world.name()}.py 1 1")
    __import__(world.name())


def shutdown(world: Rank) -> None:
    def sleep() -> None:
        time.sleep(FOR_EVER)

    rename(world.name(), sleep)
    announce(world.rank, sleep)
    if world.plan.choice % 2:
        atexit.register(sleep)
    else:
        threading.Thread(target=sleep).start()
    sys.exit()


def retry(world: Rank) -> None:
    ways: list[Callable[[float], object]] = [time.sleep, threading.Event().wait]
    pause = ways[world.plan.choice % 2]

    def connect() -> None:
        attempt = 0
        while True:
            try:
                socket.create_connection(("127.0.0.1", 9))
                return
            except ConnectionRefusedError:
                attempt += 1
            pause(world.plan.seconds)

    world.strike(connect)


def spin(world: Rank) -> None:
    def count() -> None:
        while True:
            pass

    world.strike(count)


def sigstop(world: Rank) -> None:
    world.strike(lambda: os.kill(os.getpid(), signal.SIGSTOP))


def dstate(world: Rank) -> None:
    """In the kernel until the child, which shares the memory, ends."""
    libc = ctypes.CDLL(None)

    def fork() -> None:
        if libc.vfork() == 0:
            time.sleep(FOR_EVER)

    world.strike(fork)


def dead_mount(world: Rank) -> None:
    def read() -> None:
        pathlib.Path(world.plan.dead, "shard").read_bytes()

    world.strike(read)


def nodump(world: Rank) -> None:
    undumpable = 4  # PR_SET_DUMPABLE
    ctypes.CDLL(None).prctl(undumpable, 0)
    sleeping(world)


def service(world: Rank) -> None:
    host, port = world.plan.service.split(":")

    def ask() -> None:
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(b"never\n")
            connection.recv(1)

    world.strike(ask)


# What all ranks do.


def poll(world: Rank, file: pathlib.Path) -> None:
    while not file.exists():
        time.sleep(world.plan.seconds)


def lock_file(world: Rank) -> None:
    """As filelock's BaseFileLock.acquire does, in its file."""
    source = (
        "import os, time\n"
        "def acquire(file, poll_interval):\n"
        "    while True:\n"
        "        try:\n"
        "            return os.open(file, os.O_CREAT | os.O_EXCL)\n"
        "        except FileExistsError:\n"
        "            pass\n"
        "        time.sleep(poll_interval)\n"
    )
    defined: dict[str, Any] = {}
    exec(compile(source, "/usr/lib/python3/site-packages/filelock/_api.py", "exec"), defined)
    acquire = rename("BaseFileLock.acquire", defined["acquire"])
    file = pathlib.Path(world.plan.folder, "cache.lock")
    file.touch()

    def load_cache() -> None:
        acquire(file, min(world.plan.seconds, 1))

    announce(world.rank, load_cache)
    load_cache()


def poll_file(world: Rank) -> None:
    if world.is_struck:
        own(world)
    poll(world, pathlib.Path(world.plan.folder, "written"))


def after_an_end(end: Callable[[Any], None]) -> Callable[[Any], None]:
    def strike_all(world: Any) -> None:
        if world.is_struck:
            end(world)
        world.wait_at_store()

    return strike_all


def die(world: Rank) -> None:
    world.strike(lambda: os.kill(os.getpid(), signal.SIGKILL))


def leave(world: Rank) -> None:
    def leave_at_once() -> None:
        os._exit(0)

    def leave_in_order() -> None:
        sys.exit(0)

    world.strike([leave_at_once, leave_in_order][world.plan.choice % 2])


def fail(world: Rank) -> None:
    def raise_error() -> None:
        raise ValueError("the batch is empty")

    world.strike(raise_error)


def other_collectives(world: Any) -> None:
    names = ["all_reduce", "all_gather", "barrier"]
    names.remove(world.plan.collective)
    mine = names[world.plan.choice % 2] if world.is_struck else world.plan.collective

    def step() -> None:
        world.begin(mine, False)

    announce(world.rank, step)
    step()


def checkpoint(world: Any) -> None:
    import torch

    def save() -> None:
        """Nobody reads from the pipe."""
        state = {"weights": torch.ones(1 << 20)}
        with os.fdopen(os.pipe()[1], "wb") as file:
            if world.plan.choice % 2:
                torch.save(state, file)
            else:
                file.write(state["weights"].numpy().tobytes())

    if world.is_struck:
        world.strike(save)
    torch.distributed.barrier()


def send_recv(world: Any) -> None:
    import torch.distributed

    if world.is_struck:
        sleeping(world)
    if world.rank == world.plan.ranks[0] + 1:
        torch.distributed.recv(world.tensor, src=world.plan.ranks[0])


def set_title(title: str) -> None:
    """As setproctitle does: over the arguments and the environment, which it first copies."""
    for name, value in os.environ.items():
        os.putenv(name, value)
    fields = pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[48])
    ctypes.memset(begin, 0, end - begin)
    ctypes.memmove(begin, title.encode(), min(len(title), end - begin - 1))


SLEEPERS = (
    "two_places torchrun subgroups thread_collectives title title_torchrun same_rank three"
).split()
OF_STRUCK: dict[str, Callable[[Any], None]] = {
    **{name: sleeping for name in SLEEPERS},
    "own": own,
    "extension": extension,
    "gil": gil,
    "lock": lock,
    "import": import_,
    "shutdown": shutdown,
    "retry": retry,
    "spin": spin,
    "sigstop": sigstop,
    "dstate": dstate,
    "dead_mount": dead_mount,
    "dead_path": dead_mount,
    "nodump": nodump,
    "service": service,
}
OF_ALL: dict[str, Callable[[Any], None]] = {
    "lock_file": lock_file,
    "poll_file": poll_file,
    "oom": after_an_end(die),
    "silent_exit": after_an_end(leave),
    "exception": after_an_end(fail),
    "other_collectives": other_collectives,
    "checkpoint": checkpoint,
    "send_recv": send_recv,
}


def strike(world: Any) -> None:
    kind = world.plan.kind
    if kind in OF_ALL:
        OF_ALL[kind](world)
    elif world.is_struck and kind in OF_STRUCK:
        OF_STRUCK[kind](world)
