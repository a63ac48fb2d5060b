"""A rank that computes for so many seconds.

    loop.py SECONDS [fail|fill]     `fail`: rank 1 ends with status 7 at once
                                    `fill`: rank 3 takes 8 MiB every 0.4 s
"""

import os
import sys
import time

end = time.monotonic() + float(sys.argv[1])
fault = sys.argv[2] if len(sys.argv) > 2 else ""
rank = os.environ["RANK"]
kept = []
while time.monotonic() < end:
    sum(range(10000))
    if (fault, rank) == ("fail", "1"):
        sys.exit(7)
    if (fault, rank) == ("fill", "3"):
        kept.append(b"x" * (8 << 20))
        time.sleep(0.4)
