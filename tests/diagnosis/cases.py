"""The kinds of faults and of healthy trainings, and what a right answer to each is."""

import dataclasses
import enum
import random

import fault_plan
from private_cluster import LOGIN, SERVICE_PORT


class Expected(enum.Enum):
    RANKS = "the struck ranks are accused, first and alone"
    ALL_WAIT = "all ranks are reported to wait in the place, and none is accused"
    PAIRS = "the ranks of one collective are accused of waiting in another"
    SAME_RANK = "the answer says that several processes have one rank"
    HEALTHY = "none is accused"


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    struck: int = 1  # how many ranks the fault strikes
    among: tuple[int, ...] = (0, 1, 2, 3)
    has_place: bool = True  # whether the function is to be named
    polls: bool = False  # whether what hangs wakes again and again
    expected: Expected = Expected.RANKS
    program: str = "world.py"
    launcher: str = "pytorch"
    collectives: tuple[str, ...] = ("all_reduce", "broadcast", "barrier", "all_gather")
    may_use_ddp: bool = True
    has_waiters: bool = True  # whether they wait in a collective of the training
    proctracks: tuple[str, ...] = ("linuxproc",)
    ends: bool = False  # whether the fault ends the struck rank
    words: tuple[str, ...] = ()  # that the answer has besides


BOTH = ("linuxproc", "cgroup")
OTHERS = (1, 2, 3)  # whose end leaves the store, which rank 0 has
ONE_COLLECTIVE = ("all_reduce", "barrier")

FAULTS = (
    Case("own"),
    Case("extension"),
    Case("gil"),
    Case("lock"),
    Case("import"),
    Case("shutdown"),
    Case("lock_file", struck=4, polls=True, expected=Expected.ALL_WAIT, has_waiters=False),
    Case("poll_file", polls=True, has_waiters=False),
    Case("rendezvous", polls=True, has_waiters=False),
    Case("retry", polls=True),
    Case("spin"),
    Case("sigstop", has_place=False, words=("stopped",)),
    Case("dstate", has_place=False, proctracks=BOTH, words=("in the kernel",)),
    Case("dead_mount"),
    Case("dead_path"),
    Case(
        "oom",
        among=OTHERS,
        has_place=False,
        has_waiters=False,
        proctracks=BOTH,
        ends=True,
    ),
    Case("silent_exit", among=OTHERS, has_place=False, has_waiters=False, ends=True),
    Case("exception", among=OTHERS, has_place=False, has_waiters=False, ends=True),
    Case(
        "other_collectives",
        struck=2,
        has_place=False,
        expected=Expected.PAIRS,
        collectives=("all_reduce", "all_gather", "barrier"),
        may_use_ddp=False,
        has_waiters=False,
    ),
    Case("two_places", struck=2),
    Case("loader", words=("worker",)),
    Case("checkpoint", among=(0,)),
    Case("torchrun", launcher="torchrun"),
    Case("accelerate", program="accelerate_world.py", launcher="accelerate", has_waiters=False),
    Case("mpi", program="mpi_world.py", launcher="ompi", has_waiters=False, proctracks=BOTH),
    Case("jax", program="jax_world.py", launcher="jax", has_waiters=False),
    Case("send_recv", among=(0, 1, 2), collectives=ONE_COLLECTIVE),
    Case("subgroups", collectives=ONE_COLLECTIVE, may_use_ddp=False),
    Case("thread_collectives"),
    Case("title", proctracks=BOTH),
    Case("title_torchrun", launcher="torchrun", proctracks=BOTH),
    Case("nodump", has_place=False),
    Case("same_rank", launcher="same_rank", expected=Expected.SAME_RANK, has_waiters=False),
    Case("three", struck=3),
    Case("service"),
)

HEALTHY = tuple(
    Case(name, struck=0, has_place=False, expected=Expected.HEALTHY)
    for name in "plain data_bound evaluation checkpoint_minute slow_steps first_compile compile_child "
    "uneven long_step environment titled loaders".split()
)

NAMES = (
    "load_batch read_shard polish_the_brass my_function tokenize augment fetch_features _prepare "
    "collate_examples get_item wait_for_data reduce_metrics next_sample decode_image step_scheduler "
    "log_scalars"
).split()


def draw(case: Case, waiters: str, seed: int, folder: str, dead: str) -> fault_plan.Plan:
    rng = random.Random(f"{case.name} {waiters} {seed}")
    return fault_plan.Plan(
        kind=case.name,
        waiters=waiters,
        ranks=tuple(sorted(rng.sample(case.among, case.struck))),
        step=rng.randint(4, 20),
        names=tuple(rng.sample(NAMES, max(1, case.struck)))
        if case.name == "two_places"
        else (rng.choice(NAMES),) * max(1, case.struck),
        collective=rng.choice(case.collectives),
        elements=rng.choice((1, 1000, 100_000, 1_000_000)),
        ddp=case.may_use_ddp and case.has_waiters and waiters != "spin" and rng.random() < 0.4,
        seconds=rng.choice((0.05, 0.2, 0.5, 1, 2, 5)),
        choice=rng.randrange(1000),
        folder=folder,
        service=f"{LOGIN}:{SERVICE_PORT}",
        dead=dead,
    )
