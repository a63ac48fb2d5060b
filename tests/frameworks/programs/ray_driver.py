"""A task of Ray on every node of the step, what it finds there, and the status that is asked for.

    ray_driver.py NODES [STATUS [SECONDS]]
"""

import os
import socket
import sys
import time

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

MISLEADING = ("MASTER_ADDR", "MASTER_PORT", "RANK", "LOCAL_RANK", "WORLD_SIZE", "NODE_RANK")


@ray.remote(num_cpus=1)  # type: ignore[misc]
def where() -> tuple[str, list[str]]:
    return socket.gethostname(), [name for name in MISLEADING if name in os.environ]


def main() -> int:
    wanted, status, seconds = [int(word) for word in (sys.argv[1:] + ["0", "0"])[:3]]
    ray.init(logging_level="warning")
    nodes = [node for node in ray.nodes() if node["Alive"]]
    places = [NodeAffinitySchedulingStrategy(node["NodeID"], soft=False) for node in nodes]
    tasks = [where.options(scheduling_strategy=place).remote() for place in places]
    for host, leaked in sorted(ray.get(tasks)):
        print("task on", host, "leaked", *leaked, flush=True)
    print("CPUs", *sorted(node["Resources"]["CPU"] for node in nodes))
    print("token", os.environ.get("RAY_AUTH_MODE"), len(os.environ.get("RAY_AUTH_TOKEN", "")))
    print("driver on", socket.gethostname())
    print("nodes", len(nodes), "of", wanted, flush=True)
    time.sleep(seconds)
    return status if len(nodes) == wanted else 99


if __name__ == "__main__":
    sys.exit(main())
