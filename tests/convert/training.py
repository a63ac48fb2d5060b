"""What a script trains, by running it, and whether the one that distgpu convert makes of it trains the
same: the command ./try.

On a private cluster (tools/sandbox: hosts in namespaces of their own, without a way out), as an
ordinary user, with nothing on PATH but the commands listed here and stand-ins: the programs that
would train print their world, arguments, devices and variables instead. Needs root, the plugin and
the command (DISTGPU_PLUGIN, DISTGPU_COMMAND, else the dev preset's).
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

from ruamel.yaml import YAML

import conftest  # where distgpu_convert is
from distgpu_convert import main as converter
from distgpu_convert.slurm import Problem

HERE = pathlib.Path(__file__).resolve().parent
ROOT = conftest.ROOT
SANDBOX = str(ROOT / "tools/sandbox/sandbox")
BUILD = ROOT / "build/dev"
PLUGIN = pathlib.Path(os.environ.get("DISTGPU_PLUGIN", BUILD / "spank_plugin/spank_distgpu.so"))
COMMAND = os.environ.get("DISTGPU_COMMAND", str(BUILD / "tools/distgpu/distgpu"))
COMMANDS = (
    "awk basename bash cat cut date dirname env expr false getent grep head hostname id ip ls mkdir "
    "mktemp nproc paste perl printenv printf pwd rm scontrol sed seq sh shuf sleep sort squeue srun "
    "tail tee test timeout touch tr true uname uniq wc xargs"
).split()
STAND_INS = (
    "accelerate apptainer clear conda curl deepspeed git horovod-rendezvous horovodrun module mpiexec "
    "mpirun nsys numactl nvidia-smi pip pkill python python3 singularity ssh torchrun uv wget"
).split()
# What differs between any two steps, and what distgpu is there to set.
OWN = re.compile(
    r"SLURM|SRUN|SLURMD|DISTGPU|PET_|PMIX?_|PMIX|OMPI_|PRTE|MASTER_|RANK$|LOCAL_|NODE_RANK|WORLD_SIZE|"
    r"GROUP_|OMP_NUM_THREADS|CUDA_DEVICE_ORDER|NCCL_SOCKET|GLOO_SOCKET|NCCL_IB|UCX_NET|_$|SHLVL|"
    r"PWD|OLDPWD|HOSTNAME|TMPDIR|TRY_|GPU_DEVICE|CUDA_VISIBLE|ROCR_VISIBLE|ZE_AFF|BASH_|ENVIRONMENT|"
    r"AZ_BATCH|NODE_ADDR|TORCHELASTIC_|HOROVOD_|TF_CONFIG|JAX_|COORDINATOR|AUTOSCALER|DASHBOARD|RAY_|KMP|LC_|ROOT_"
)
# A variable that holds a launcher's command changes with it.
LAUNCHERS = re.compile(
    r"torchrun|torch\.distributed|accelerate(\.commands\.| )launch|deepspeed |mpirun|srun "
)


class Cluster:
    """A private cluster of 8 nodes with 8 made-up GPUs each."""

    def __init__(self) -> None:
        self.name = f"try{os.getpid()}"
        self.scratch = pathlib.Path(f"/tmp/distgpu-{self.name}")
        self.count = 0

    def __enter__(self) -> "Cluster":
        self.scratch.mkdir()
        self.scratch.chmod(0o1777)
        programs = self.scratch / "bin"
        programs.mkdir()
        for name in COMMANDS:
            found = shutil.which(name)
            if found:
                (programs / name).symlink_to(found)
        shutil.copy(HERE / "stand_in", programs / "stand_in")
        for name in STAND_INS:
            (programs / name).symlink_to("stand_in")
        shutil.copy(COMMAND, programs / "distgpu")
        shutil.copy(PLUGIN, self.scratch)
        shutil.copy(PLUGIN.with_name(f"{PLUGIN.stem}_step.so"), self.scratch)
        plugin = f"{self.scratch}/{PLUGIN.name} command={programs}/distgpu cpus=keep"
        up = "up --nodes 8 --cpus 128 --gpus 8 --conf FirstJobId=700000 --plugin".split()
        self._sandbox(*up, plugin)
        for host in ["login"] + [f"node0{i}" for i in range(1, 9)]:
            names = "".join(f"10.77.1.{i} node0{i}i node0{i}-ib0\\n" for i in range(1, 9))
            subprocess.run(
                [SANDBOX, "on", "--name", self.name, host, "--"]
                + ["sh", "-c", f"printf '{names}' >>/etc/hosts"],
                check=True,
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._sandbox("down")
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _sandbox(self, verb: str, *arguments: str) -> None:
        subprocess.run([SANDBOX, verb, "--name", self.name, *arguments], check=True)

    def _submit(self, folder: pathlib.Path, *words: str) -> "subprocess.CompletedProcess[bytes]":
        environment = {"PATH": f"{self.scratch}/bin", "TRY_RECORDS": str(folder / "records")}
        return subprocess.run(
            [shutil.which("bash") or "bash", SANDBOX, "run", "--name", self.name, "--"]
            + [shutil.which("env") or "env", "-i", *(f"{k}={v}" for k, v in environment.items())]
            + list(words),
            cwd=folder,
            capture_output=True,
            timeout=90,
            check=False,
        )

    def run(self, script: str) -> Tuple[List[Dict[str, Any]], str]:
        """What the processes that it starts record, and its output."""
        self.count += 1
        folder = self.scratch / f"run{self.count}"
        for each in (folder, folder / "records"):
            each.mkdir()
            each.chmod(0o777)
        (folder / "job").write_text(script)
        for name in ("train.py", "src", "s"):
            (folder / name).mkdir() if "." not in name else (folder / name).touch()
        (folder / "job").chmod(0o755)
        if "#SBATCH" in script:
            sbatch = shutil.which("sbatch") or "sbatch"
            sent = self._submit(folder, sbatch, "--parsable", "--output=log", "--time=1", "job")
            job = sent.stdout.decode().strip()
            if not job:
                return [], sent.stderr.decode()
            self._wait(folder, job)
            log = folder / "log"
            output = sent.stderr.decode() + (log.read_text() if log.exists() else "")
        else:
            bash = self._submit(folder, f"{self.scratch}/bin/bash", "job")
            output = (bash.stdout + bash.stderr).decode()
        # What is another one in each run: its folder, its job, temporary files.
        written = [each.read_text() for each in (folder / "records").iterdir()]
        names = rf"{folder}|700\d\d\d|/tmp/tmp\.\w+"
        records = [json.loads(re.sub(names, "RUN", each)) for each in written]
        return records, output

    def _wait(self, folder: pathlib.Path, job: str) -> None:
        for _ in range(150):
            squeue = shutil.which("squeue") or "squeue"
            if not self._submit(folder, squeue, "--noheader", "--jobs", job).stdout.strip():
                return
            time.sleep(0.3)
        self._submit(folder, shutil.which("scancel") or "scancel", job)


def seen(records: List[Dict[str, Any]]) -> List[Tuple[Any, ...]]:
    """What must agree, of each process."""
    first = min((each["host"] for each in records), default="")
    result = []
    for each in records:
        address = re.sub(r"^10\.77\.1\.(\d)$", r"node0\1", str(each["address"]))
        address = "first" if address in (first, "localhost", "127.0.0.1") else address
        devices = ",".join(sorted((each["devices"] or "").split(",")))
        variables = sorted(
            (name, value)
            for name, value in each["environment"].items()
            if not OWN.match(name) and not LAUNCHERS.search(value)
        )
        place = (each["host"], each["local"])
        result.append((each["world"], place, address, each["arguments"], devices, variables))
    return sorted(result, key=repr)


def compare(before: List[Dict[str, Any]], after: List[Dict[str, Any]]) -> Optional[str]:
    """How they differ; nothing: they agree."""
    names = ("world", "place", "address", "arguments", "devices", "variables")
    left, right = seen(before), seen(after)
    if len(left) != len(right):
        return f"{len(left)} processes before, {len(right)} after"
    for one, other in zip(left, right):
        for name, was, now in zip(names, one, other):
            if was != now:
                return f"{name} on {one[1][0]}: {was} before, {now} after"
    return None


AGREE, DIFFER, USAGE, CANNOT_RUN = 0, 1, 2, 3


def judge(cluster: Cluster, before: str, after: str) -> Tuple[int, str]:
    """Runs both: one of the statuses, and why."""
    was, said = cluster.run(before)
    if not was:
        return CANNOT_RUN, f"the script itself starts nothing\n{said}"
    now, says = cluster.run(after)
    missing = re.search(r"(?:execve\(\)?: ?|env: .)([^\s:']+)'?: No such file", says)
    if missing is not None:
        return CANNOT_RUN, f"{missing[1]} is not here"
    different = compare(was, now)
    if different:
        return DIFFER, f"{different}\n--- before\n{said}\n--- after\n{says}"
    return AGREE, f"{len(now)} processes agree"


# What only the script's own cluster has, and what would end it here before it trains.
SITE = (
    r"partition|account|constraint|qos|mem\S*|time|mail\S*|output|error|chdir|reservation|array|"
    r"dependency|hint|requeue|signal|licenses|exclusive|distribution|comment|image|auto-resume|export|"
    r"segment|gpu-bind|profile|threads-per-core|cpu-freq|nice|clusters|network|no-requeue|open-mode"
)
ELSEWHERE = [
    (rf"(?m)^(#SBATCH.*?) --?({SITE}|[pACtoeDqadLM])\b([= ]\s*[^-\s]\S*)?(?=\s|$)", r"\1"),
    (r"(?m)^#SBATCH +(?!-).*", "# "),
    (r"(?m)^(#SBATCH.*(?:--nodes[= ]|-N ?))(\d+-)?(9|\d\d+)\b", r"\g<1>4"),
    (r"(?m)^(\s*(?:export )?N?NODES=)(9|\d\d+)\b", r"\g<1>4"),
    (r"(?m)^(#SBATCH.*(?:--cpus-per-task[= ]|-c ?))\d{2,}", r"\g<1>8"),
    (r"(--)(no-)?container-[\w-]+(=| +)(\"[^\"]*\"|'[^']*'|[^\s\"']+)+", ""),
    (r"(?m)^(\s*)(source|\.|cd|pushd) ", r"\1true "),
    (r"(?m)^\s*set -.*", ""),
]


def moved_here(script: str) -> str:
    for there, here in ELSEWHERE:
        for _ in range(5):
            script = re.sub(there, here, script)
    return script


def azure_job(text: str) -> str:
    """What Azure ML does with a job in YAML: every process runs the command, with its own rank."""
    job = YAML(typ="safe", pure=True).load(text)
    how, resources = job.get("distribution") or {}, job.get("resources") or {}
    nodes = resources.get("instance_count", 1)
    each = how.get("process_count_per_instance") or 1
    inputs = job.get("inputs") or {}

    def value(match: "re.Match[str]") -> str:
        """A literal; nothing of what is on Azure alone, as in the new script until somebody sets it."""
        given = inputs.get(match[2]) if match[1] == "inputs" else None
        given = given.get("default") if isinstance(given, dict) else given
        return '""' if given is None or "${{" in str(given) else str(given)

    command = re.sub(r"\$\{\{ *(\w+)\.([\w.]+) *\}\}", value, job["command"])
    ranks = "RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS"
    program = shlex.quote(f"export {ranks} NODE_RANK=$SLURM_NODEID; {command}")
    return (
        f"#!/bin/bash\n#SBATCH --nodes={nodes} --ntasks-per-node={each} --gres=gpu:{each}\n"
        + "".join(
            f"export {name}={shlex.quote(str(value))}\n"
            for name, value in (job.get("environment_variables") or {}).items()
        )
        + "export MASTER_ADDR=$(scontrol show hostnames | head -n 1)\n"
        + f"srun bash -c {program}\n"
    )


def try_text(cluster: Cluster, name: str, before: str) -> Tuple[int, str]:
    """Converts a script or a job and runs both; a job in Python has nothing before to run."""
    try:
        conversion = converter.convert(name, before)
    except Problem as problem:
        return CANNOT_RUN, str(problem)
    if not conversion.script:
        notes = "".join(f"\n{line}: {note}" for line, note in conversion.notes)
        return CANNOT_RUN, f"convert leaves it alone{notes}"
    after = moved_here(conversion.script.replace("--mpi=pmix ", ""))
    is_yaml = name.endswith((".yml", ".yaml"))
    if is_yaml and not isinstance(YAML(typ="safe", pure=True).load(before).get("command"), str):
        return CANNOT_RUN, "not a job with a command of its own"
    if not name.endswith(".py"):
        first = azure_job(before) if is_yaml else moved_here(before)
        return judge(cluster, first, after)
    records, said = cluster.run(after)
    worlds = [each["world"] for each in records]
    if records and worlds == [len(records)] * len(records):
        return AGREE, f"one world of {len(records)} processes"
    return DIFFER, f"the processes have the worlds {worlds}\n{said}"


def main(files: List[str]) -> int:
    if not files or any(not pathlib.Path(file).is_file() for file in files):
        print("usage: tests/convert/try FILE...", file=sys.stderr)
        return USAGE
    if os.geteuid() != 0:
        print("tests/convert/try: the cluster needs root", file=sys.stderr)
        return CANNOT_RUN
    worst = AGREE
    with Cluster() as cluster:
        for file in files:
            text = pathlib.Path(file).read_bytes().decode("utf-8", "surrogateescape")
            status, said = try_text(cluster, pathlib.Path(file).name, text)
            print(f"{file}: {('agrees', 'differs', '', 'not run')[status]}: {said}", flush=True)
            worst = DIFFER if DIFFER in (status, worst) else max(status, worst)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
