"""The command as a task's first program. Slurm is not here: its variables are set by hand, as srun
sets them for a step of one task."""

import json
import os
import socket

from gpu_kit.case import Case, Outcome, expect, passed
from gpu_kit.cases.identity import topology
from gpu_kit.kit import Kit


def step_of_one(kit: Kit) -> dict[str, str]:
    host = socket.gethostname().split(".")[0]
    gpus = ",".join(str(gpu.index) for gpu in kit.gpus) if not kit.mocks else ""
    step = {
        "SLURM_JOB_ID": "1",
        "SLURM_STEP_ID": "0",
        "SLURM_STEP_NODELIST": host,
        "SLURM_STEP_NUM_NODES": "1",
        "SLURM_STEP_NUM_TASKS": "1",
        "SLURM_STEP_TASKS_PER_NODE": "1",
        "SLURM_NTASKS": "1",
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_NODEID": "0",
        "SLURM_GTIDS": "0",
        "SLURM_CPUS_ON_NODE": str(os.cpu_count()),
        "SLURMD_NODENAME": host,
        "MASTER_ADDR": "127.0.0.1",
    }
    return step | ({"SLURM_STEP_GPUS": gpus, "CUDA_VISIBLE_DEVICES": gpus} if gpus else {})


def plan(kit: Kit) -> Outcome:
    file = kit.scratch / "topology.json"
    file.write_text(json.dumps(topology(kit)))
    count = len(kit.gpus)
    shape = ["--nodes", "1", "--ntasks", str(count), "--gpus-per-node", str(count)]
    command = [kit.program("distgpu"), "plan", "pytorch", *shape, "--topology", str(file)]
    done = kit.run([*command, "--format", "json"], 30)
    expect(done.status == 0, f"distgpu plan: status {done.status}", done.text)
    tasks = json.loads(done.output)["tasks"]
    given = sorted(task["gpus"] for task in tasks)
    expect(given == [[i] for i in range(count)], f"the tasks have GPUs {given}", done.output)
    return passed(f"{count} tasks, each with a GPU of its own", tasks=tasks)


def check(kit: Kit) -> Outcome:
    distgpu = kit.program("distgpu")
    command = [distgpu, "exec", "pytorch,verbose", "--", distgpu, "check"]
    done = kit.run(command, 30, **step_of_one(kit))
    expect(done.status == 0, f"distgpu check: status {done.status}", done.text)
    outcome = passed(done.output.strip().splitlines()[-1])
    outcome.text = done.text
    return outcome


def train(kit: Kit) -> Outcome:
    script = kit.script("torch_train.py")
    command = [kit.program("distgpu"), "exec", "pytorch", "--", kit.python, script]
    done = kit.run(command, 110, **step_of_one(kit))
    expect(done.status == 0, f"torch_train.py: status {done.status}", done.text)
    return passed(done.output.strip().splitlines()[-1])


CASES = [
    Case("plan", "distgpu plan on this node's topology", 60, plan),
    Case("check", "distgpu check", 60, check),
    Case("train", "distgpu exec, and torch.distributed trains", 120, train, ("torch",)),
]
