"""An mpi4py program whose rank RANK does not come to the fourth collective.

usage: hang_mpi.py RANK
"""

import sys
import time

from mpi4py import MPI


def load_batch() -> None:
    time.sleep(3600)


def main() -> None:
    for number in range(1000):
        if number == 3:
            print("three steps", flush=True)
            if MPI.COMM_WORLD.Get_rank() == int(sys.argv[1]):
                load_batch()
        MPI.COMM_WORLD.allreduce(1)


main()
