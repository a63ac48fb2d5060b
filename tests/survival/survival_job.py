"""A job that trains on three nodes: its script for each way of surviving, and what it left."""

import dataclasses
import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

from cluster import Cluster
from survival_faults import Place

HERE = pathlib.Path(__file__).resolve().parent
MEMORY = "--mem=1G"
ON_THREE = "--nodes=3 --ntasks=3 --ntasks-per-node=1"
ALONE = f"{ON_THREE} --kill-on-bad-exit=1 --distgpu=pytorch,cpus=keep,fail=wait"
# The loop is that of SCR's scr_run.
WAYS = {
    "run": (
        "--nodes=4 --ntasks-per-node=1 --no-kill",
        "distgpu run --spares 1 --progress checkpoint.pt -- srun --distgpu=pytorch,cpus=keepKEYS "
        "PROGRAM",
    ),
    "requeue": (
        f"{ON_THREE} --requeue",
        f"srun {ALONE} PROGRAM || scontrol requeue $SLURM_JOB_ID",
    ),
    "loop": (
        "--nodes=4 --ntasks-per-node=1 --no-kill",
        f"""for ((attempt = 0; attempt < 5; attempt++)); do
    down=$(sinfo --noheader --Node --nodes="$SLURM_JOB_NODELIST" --states=down,drain,fail,no_respond \\
        --format=%N | sort -u | paste -sd,)
    srun {ALONE} ${{down:+--exclude=$down}} PROGRAM && exit 0
    sleep 60
done
exit 1""",
    ),
}


@dataclasses.dataclass(frozen=True)
class Entry:
    """A line of history.jsonl: an attempt begins, or has saved a step."""

    time: float
    step: int
    is_begin: bool
    nodes: list[str]


class Job:
    """Submitted when it is made."""

    def __init__(self, cluster: Cluster, way: str, keys: str, others: list[str], path: str) -> None:
        self.cluster = cluster
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{way}-", dir=cluster.folder))
        self.folder.chmod(0o777)
        self.program = self.folder / "survivor.py"
        shutil.copy(HERE / "survivor.py", self.program)
        options, line = WAYS[way]
        line = line.replace("PROGRAM", f"python {self.program}").replace("KEYS", keys)
        script = ["#!/bin/bash", f"#SBATCH {options} {MEMORY} --open-mode=append --output=job.log"]
        script += [f"#SBATCH --exclude={','.join(others)}"] if others else []
        script += [f"export PATH={cluster.folder}/bin:{path} OMP_NUM_THREADS=1", line]
        (self.folder / "job.sh").write_text("\n".join(script) + "\n")
        words = ["sbatch", "--parsable", f"--chdir={self.folder}", str(self.folder / "job.sh")]
        self.number = cluster.submit("timeout", "60", *words)
        if not self.number:
            raise RuntimeError("sbatch did not answer with a job")

    def is_over(self) -> bool:
        words = ["squeue", "--noheader", "--format=%A %T"]
        rows = self.cluster.on("login", *words)
        return self.number not in [row.split()[0] for row in rows]

    def record(self, field: str) -> str:
        """Of `scontrol show job`; empty without it."""
        (row,) = self.cluster.on("login", "scontrol", "--oneliner", "show", "job", self.number)
        return next((w.partition("=")[2] for w in row.split() if w.startswith(f"{field}=")), "")

    def history(self) -> list[Entry]:
        file = self.folder / "history.jsonl"
        text = file.read_text() if file.exists() else ""
        return [Entry(**json.loads(line)) for line in text.splitlines(True) if line.endswith("\n")]

    def places(self) -> list[Place]:
        files = [self.folder / f"rank.{rank}" for rank in range(3)]
        return [Place(rank, *file.read_text().split()) for rank, file in enumerate(files)]

    def output(self) -> str:
        file = self.folder / "job.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def processes(self) -> list[str]:
        """Of the training, on whichever node."""
        return [pid for pid, words in each_process() if os.fsencode(self.program) in words]


def each_process() -> Iterator[tuple[str, list[bytes]]]:
    """The words of each process of the machine, and so of all nodes."""
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.parent.name, path.read_bytes().split(b"\0")
        except OSError:
            continue
