"""A rank that waits for ever.

usage: rank.py [RANK]

The rank of this number first leaves all CPUs but the lowest.
"""

import os
import signal
import sys


def main() -> None:
    if os.environ.get("RANK") in sys.argv[1:]:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print("waits", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
