"""A launcher without handlers (mock): starts two ranks on each node, and waits for both."""

import os
import subprocess
import sys

FIRST = 2 * int(os.environ["SLURM_NODEID"])
RANKS = [
    subprocess.Popen(
        [sys.executable, "rank.py", "launcher"], env=dict(os.environ, RANK=str(FIRST + i))
    )
    for i in (0, 1)
]
sys.exit(max(rank.wait() for rank in RANKS))
