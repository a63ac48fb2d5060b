"""A training under Slurm: one node with this machine's GPUs, distgpu's plugin, and the kit's own daemons."""

import contextlib
import os
import pathlib
import random
import re
import subprocess
import time
from collections.abc import Iterator

from gpu_kit.kit import Kit, Outcome, Wrong, case, expect, host_name, passed
from gpu_kit.node import topology

# Whoever runs the kit is alone on the machine: nobody's word is checked.
SLURM_CONF = """\
ClusterName=kit
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={slurmd_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
PluginDir={plugins}
PlugStackConfig={folder}/plugstack.conf
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} {gres}
PartitionName=all Nodes=ALL Default=YES
"""


def write_configuration(kit: Kit, folder: pathlib.Path) -> None:
    port = random.randrange(20000, 29000)
    gpus = device_files(kit)
    conf = SLURM_CONF.format(
        host=host_name(),
        port=port,
        slurmd_port=port + 1,
        plugins=kit.root / "lib" / "slurm",
        folder=folder,
        cpus=os.cpu_count(),
        gres=f"Gres=gpu:{len(gpus)}" if gpus else "",
    )
    (folder / "slurm.conf").write_text(conf)
    plugin = f"required {kit.root / 'lib' / 'spank_distgpu.so'} command={kit.program('distgpu')}\n"
    (folder / "plugstack.conf").write_text(plugin)
    lines = [f"Name=gpu File={file}\n" for file in gpus]
    # The other one would want D-Bus and systemd; nothing here is held by a cgroup.
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    (folder / "gres.conf").write_text("AutoDetect=off\n" + "".join(lines))
    for name in ("state", "spool"):
        (folder / name).mkdir()


def device_files(kit: Kit) -> list[str]:
    """Of the GPUs; over the stand-ins there are none."""
    return [] if kit.mocks else [f"/dev/nvidia{gpu['minor']}" for gpu in topology(kit)["gpus"]]


@contextlib.contextmanager
def cluster(kit: Kit) -> Iterator[dict[str, str]]:
    """Slurm's daemons until the block ends. Gives what srun and distgpu need in their environment."""
    kit.scratch.chmod(0o755)  # for steps of other users
    folder = kit.scratch / f"slurm.{time.monotonic_ns()}"
    folder.mkdir()
    write_configuration(kit, folder)
    conf = {"SLURM_CONF": str(folder / "slurm.conf")}
    conf |= {"PATH": f"{kit.root / 'bin'}:{kit.base['PATH']}"}
    daemons = [
        [kit.program("slurmctld"), "-D", "-i"],
        [kit.program("slurmd"), "-D", "-d", kit.program("slurmstepd"), "-N", host_name()],
    ]
    with contextlib.ExitStack() as stack:
        for daemon in daemons:
            process = stack.enter_context(kit.started(daemon, **conf))
            # Their end is not SIGKILL, with which slurmd would leave a step behind.
            stack.callback(finish, process)
        until_idle(kit, conf, folder)
        yield conf


def finish(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=10)


def until_idle(kit: Kit, conf: dict[str, str], folder: pathlib.Path) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        state = kit.run([kit.program("sinfo"), "--noheader", "--format=%T"], 10, **conf).text
        if state.strip() == "idle":
            return
        time.sleep(0.2)
    logs = "".join(file.read_text(errors="replace") for file in sorted(folder.glob("*.log")))
    raise Wrong(f"the node does not become idle: {state.strip()}", logs)


@case("srun-train", "srun --distgpu=pytorch trains, and check finds it ready", 120, "torch")
def train(kit: Kit) -> Outcome:
    gpus = len(device_files(kit))
    count = gpus or 1
    given = [f"--gres=gpu:{gpus}"] if gpus else []
    cpus = f"--cpus-per-task={(os.cpu_count() or 1) // count}"
    srun = [kit.program("srun"), f"--ntasks={count}", cpus, *given, "--distgpu=pytorch"]
    with cluster(kit) as conf:
        trained = kit.run([*srun, kit.python, kit.script("torch_train.py")], 90, **conf)
        checked = kit.run([*srun, kit.program("distgpu"), "check"], 30, **conf)
    text = trained.text + checked.text
    ranks = [line for line in trained.output.splitlines() if line.startswith("rank ")]
    expect(trained.status == 0 and len(ranks) == count, f"srun: status {trained.status}", text)
    expect(checked.status == 0, f"distgpu check: status {checked.status}", text)
    return passed(f"{ranks[0]}; {checked.output.strip().splitlines()[-1]}", text)


@case(
    "srun-hang",
    "A hang under srun: what why, NCCL and torch's flight recorder say",
    150,
    "gpu",
    "torch",
)
def hang(kit: Kit) -> Outcome:
    """As an ordinary user, since no tool reads a stack as root. NCCL gives up after 30 s."""
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    work = kit.scratch / "work"
    work.mkdir()
    os.chown(work, 65534, 65534)
    program = [kit.python, kit.script("torch_hang.py")]
    srun = [*user, kit.program("srun"), f"--chdir={work}", "--ntasks=2", "--gres=gpu:1"]
    with (
        cluster(kit) as conf,
        # torch makes a folder below HOME before it reads where the record goes.
        kit.started([*srun, "--distgpu=pytorch,watch", *program], **conf, HOME=str(work)) as step,
    ):
        assert step.stdout
        expect(step.stdout.readline() == "hangs\n", "torch_hang.py did not begin")
        time.sleep(3)
        job = kit.run([kit.program("squeue"), "--noheader", "--format=%i"], 10, **conf).output
        job = job.strip()
        why = [*user, kit.program("distgpu"), "why", job, "--repeat", "2"]
        told = kit.run(why, 40, **conf)
        records = [work / f"distgpu-{job}.0-rank_{rank}" for rank in range(2)]
        until = time.monotonic() + 60
        while not all(file.exists() for file in records) and time.monotonic() < until:
            time.sleep(0.5)
        kit.run([kit.program("scancel"), job], 10, **conf)
        step.wait(30)
    expect(told.status == 0, f"distgpu why: status {told.status}", told.text)
    lines = {
        "the rank that hangs": "rank 1 on .* is in load_batch .*, asleep",
        "the GPUs' load": "^  rank 0 .*%$",
        "NCCL's answer": "Rank 1 has launched up to operation 2",
    }
    for what, line in lines.items():
        expect(bool(re.search(line, told.text, re.MULTILINE)), f"without {what}", told.text)
    lacks = [file.name for file in records if not file.exists()]
    expect(not lacks, f"torch's flight recorder did not write {lacks}", told.text)
    return passed(told.output.splitlines()[2], told.text)
