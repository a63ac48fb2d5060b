"""A program of JAX, Horovod or MPI whose rank RANK does not come to the fourth collective.

usage: hang_elsewhere.py jax|horovod|mpi RANK
"""

import functools
import sys
import time
from collections.abc import Callable


def load_batch() -> None:
    time.sleep(3600)


def with_jax() -> tuple[int, Callable[[], object]]:
    import jax
    import numpy as np
    from jax.experimental import multihost_utils

    jax.distributed.initialize()
    ones = np.ones(4, np.float32)
    return jax.process_index(), functools.partial(multihost_utils.process_allgather, ones)


def with_horovod() -> tuple[int, Callable[[], object]]:
    import horovod.torch as hvd
    import torch

    hvd.init()
    return hvd.rank(), functools.partial(hvd.allreduce, torch.ones(4))


def with_mpi() -> tuple[int, Callable[[], object]]:
    from mpi4py import MPI

    return MPI.COMM_WORLD.Get_rank(), functools.partial(MPI.COMM_WORLD.allreduce, 1)


def main() -> None:
    rank, reduce = globals()[f"with_{sys.argv[1]}"]()
    for number in range(1000):
        if number == 3:
            print("three steps", flush=True)
            if rank == int(sys.argv[2]):
                load_batch()
        reduce()


main()
