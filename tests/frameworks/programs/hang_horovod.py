"""A Horovod program whose rank RANK does not come to the fourth collective.

usage: hang_horovod.py RANK
"""

import sys
import time

import horovod.torch as hvd
import torch


def load_batch() -> None:
    time.sleep(3600)


def main() -> None:
    hvd.init()
    for number in range(1000):
        if number == 3:
            print("three steps", flush=True)
            if hvd.rank() == int(sys.argv[1]):
                load_batch()
        hvd.allreduce(torch.ones(4))


main()
