"""What is done to a training's rank or to its node, and how the node comes back."""

import dataclasses
import pathlib
import time

from cluster import Cluster

FAULTS = {
    "slurmd": "slurmd killed",
    "dead": "node dead",
    "network": "network cut",
    "kill": "rank killed",
    "oom": "out of memory",
    "hang": "rank hangs",
}
LOSES_NODE = ("slurmd", "dead", "network")
PATIENCE = 90  # seconds, until a node that is back must be idle


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a rank runs; its process ID is that of the node."""

    rank: int
    pid: str
    node: str


def kill_programs(cluster: Cluster, node: str, names: list[str]) -> None:
    """Those of the node, in the order of the names."""
    rows = [row.split(None, 1) for row in cluster.on(node, "ps", "-e", "-o", "pid=,comm=")]
    pids = [pid for name in names for pid, comm in rows if comm.startswith(name)]
    cluster.on(node, "kill", "-KILL", *pids)


def strike(cluster: Cluster, fault: str, place: Place, folder: pathlib.Path) -> None:
    if fault == "slurmd":
        pid = pathlib.Path(f"/run/distgpu-sandbox/{cluster.name}/{place.node}/slurmd.pid")
        cluster.on(place.node, "kill", "-KILL", pid.read_text().strip())
    elif fault == "dead":
        kill_programs(cluster, place.node, ["slurmd", "slurmstepd", "python"])
    elif fault == "network":
        cluster.sandbox("link", "cut", place.node)
    elif fault == "kill":
        cluster.on(place.node, "kill", "-KILL", place.pid)
    else:
        (folder / f"{fault}.{place.rank}").touch()


def mend(cluster: Cluster, fault: str, node: str, nodes: list[str]) -> None:
    """Returns once all the nodes are idle again."""
    if fault in ("slurmd", "dead"):
        cluster.sandbox("node", "start", node)
    elif fault == "network":
        cluster.sandbox("link", "restore", node)
    begin = time.monotonic()
    is_resumed = False
    question = ["sinfo", "--noheader", "--Node", f"--nodes={','.join(nodes)}", "--format=%N=%T"]
    while busy := [row for row in cluster.on("login", *question) if not row.endswith("=idle")]:
        seconds = time.monotonic() - begin
        if seconds > PATIENCE:
            raise TimeoutError(f"not idle after {PATIENCE} s: {' '.join(busy)}")
        if seconds > PATIENCE / 2 and not is_resumed:
            is_resumed = True
            for row in busy:
                name = row.split("=")[0]
                cluster.on("login", "scontrol", "update", f"nodename={name}", "state=resume")
        time.sleep(0.5)
