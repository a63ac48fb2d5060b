"""A JAX program whose rank RANK does not come to the fourth collective. usage: hang_jax.py RANK"""

import sys
import time

import jax
import numpy as np
from jax.experimental import multihost_utils


def load_batch() -> None:
    time.sleep(3600)


def main() -> None:
    jax.distributed.initialize()
    for number in range(1000):
        if number == 3:
            print("three steps", flush=True)
            if jax.process_index() == int(sys.argv[1]):
                load_batch()
        multihost_utils.process_allgather(np.ones(4, np.float32))


main()
