"""A rank of which one fails, two seconds after the start: `failing.py HOW RANK`.

The others sleep, as in a collective; with torchrun each launcher has two ranks."""

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
time.sleep(0 if HOW == "healthy" else 60)
