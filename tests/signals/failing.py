"""A rank of which one fails, two seconds after the start: `failing.py HOW RANK [SECONDS]`.

The others sleep so long, as in a collective."""

import ctypes
import os
import signal
import sys
import time

HOW, FAILS = sys.argv[1], int(sys.argv[2])
time.sleep(2)
if int(os.environ["RANK"]) == FAILS:
    if HOW == "exception":
        raise RuntimeError("on purpose")
    if HOW == "exit":
        sys.exit(3)
    if HOW == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if HOW == "segv":
        ctypes.string_at(0)
    if HOW == "oom":
        hog = [b"x" * (1 << 24) for _ in range(64)]
time.sleep(int(sys.argv[3]) if len(sys.argv) > 3 else 60)
