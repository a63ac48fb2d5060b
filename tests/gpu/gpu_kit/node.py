"""What machine this is, which GPU is which, and the command as a task's first program."""

import json
import os
import pathlib
import time
from typing import Any

from gpu_kit.kit import Kit, Outcome, Status, case, expect, host_name, passed

# What is kept whole, since nobody can ask the machine again.
COMMANDS = [
    ["uname", "-srm"],
    ["nvidia-smi"],
    ["nvidia-smi", "-L"],
    ["nvidia-smi", "topo", "-m"],
    ["nvidia-smi", "-q", "-d", "CLOCK,PERFORMANCE,ECC"],
    ["sh", "-c", "ls -l /dev/nvidia* /dev/infiniband 2>&1; nproc; free -g; ulimit -l"],
    ["sh", "-c", "cat /proc/driver/nvidia/version /proc/driver/nvidia/gpus/*/information"],
    ["sh", "-c", "ldconfig -p | grep -E 'libcuda|libnccl|libmpi|libhwloc|libibverbs'"],
    ["sh", "-c", "lspci -nn 2>/dev/null | grep -i -E 'nvidia|mellanox' || ls /sys/bus/pci/devices"],
]


@case("machine", "What machine this is", 90)
def look(kit: Kit) -> Outcome:
    text = ""
    for command in COMMANDS:
        try:
            done = kit.run(command, 20)
            text += f"$ {' '.join(command)}\n{done.text}\n"
        except FileNotFoundError:
            text += f"$ {' '.join(command)}\nnot found\n\n"
    gpu = kit.gpus[0]
    version = pathlib.Path("/sys/module/nvidia/version")
    line = f"{len(kit.gpus)} x {gpu.name}, driver {gpu.driver}, torch {kit.torch.get('torch')}"
    facts = {
        "gpus": [vars(one) for one in kit.gpus],
        "torch": kit.torch,
        "module": version.read_text().strip() if version.exists() else None,
    }
    return Outcome(Status.PASSED, line, facts, text)


# Without those that look into the checkout, or for a stand-in for NVML in it.
UNIT_TESTS = {
    "scaling_backend_tests": "*",
    "unit_tests": "*Gpu*:*Nvidia*:*Topo*:-Nvml.*:*MigInstances*:*Polic*:*GpuMemory*:*GpuLoad*",
}


@case("unit-tests", "The unit tests of the GPU parts, on this machine's libraries", 90)
def unit_tests(kit: Kit) -> Outcome:
    ran = 0
    for program, chosen in UNIT_TESTS.items():
        done = kit.run([kit.program(program), f"--gtest_filter={chosen}", "--gtest_brief=1"], 60)
        lines = [line for line in done.output.splitlines() if "[==========]" in line]
        expect(done.status == 0 and lines != [], f"{program}: status {done.status}", done.text)
        ran += int(lines[-1].split()[1])
    return passed(f"{ran} unit tests of the GPU parts passed here", tests=ran)


def topology(kit: Kit) -> dict[str, Any]:
    """What distgpu topo says; over the stand-ins of a machine that was made up for them."""
    made_up = ["--topology", str(kit.mocks / "topology.json")] if kit.mocks else []
    done = kit.run([kit.program("distgpu"), "topo", "--format", "json", *made_up], 30)
    expect(done.status == 0, f"distgpu topo: status {done.status}", done.text)
    answer: dict[str, Any] = json.loads(done.output)
    return answer


@case("topo-nvidia-smi", "distgpu topo against nvidia-smi", 60)
def as_nvidia_smi(kit: Kit) -> Outcome:
    found = topology(kit)
    counts = f"distgpu topo has {len(found['gpus'])} GPUs, nvidia-smi {len(kit.gpus)}"
    expect(len(found["gpus"]) == len(kit.gpus), counts, json.dumps(found, indent=1))
    wrong = []
    for own, theirs in zip(found["gpus"], kit.gpus):
        if own["pci"] != theirs.pci:
            wrong.append(f"GPU {theirs.index}: {own['pci']}, nvidia-smi has {theirs.pci}")
        if own["uuid"] != theirs.uuid:
            wrong.append(f"GPU {theirs.index}: {own['uuid']}, nvidia-smi has {theirs.uuid}")
        if bool(own["mig"]) != (theirs.mig == "Enabled"):
            wrong.append(f"GPU {theirs.index}: MIG {own['mig']}, nvidia-smi has {theirs.mig}")
    expect(not wrong, "; ".join(wrong), json.dumps(found, indent=1))
    first = found["gpus"][0]
    line = f"{len(found['gpus'])} GPUs alike: address, UUID, MIG; the first is a {first['model']}"
    return passed(line, topology=found)


@case("topo-kernel", "distgpu topo against /sys and /proc", 60, "gpu")
def as_the_kernel(kit: Kit) -> Outcome:
    wrong = []
    gpus = topology(kit)["gpus"]
    for gpu in gpus:
        device = pathlib.Path("/sys/bus/pci/devices") / gpu["pci"]
        numa = int((device / "numa_node").read_text())
        if (gpu["numa"] if gpu["numa"] is not None else -1) != numa and numa >= 0:
            wrong.append(f"{gpu['pci']}: NUMA node {gpu['numa']}, the kernel has {numa}")
        cpus = (device / "local_cpulist").read_text().strip()
        if gpu["cpus"] and cpus and numa >= 0 and gpu["cpus"] != cpus:
            wrong.append(f"{gpu['pci']}: CPUs {gpu['cpus']}, the kernel has {cpus}")
        told = pathlib.Path("/proc/driver/nvidia/gpus") / gpu["pci"] / "information"
        minor = [line.split()[-1] for line in told.read_text().splitlines() if "Minor" in line]
        if [str(gpu["minor"])] != minor:
            wrong.append(f"{gpu['pci']}: minor {gpu['minor']}, the driver has {minor}")
    expect(not wrong, "; ".join(wrong), json.dumps(gpus, indent=1))
    return passed(f"{len(gpus)} GPUs: NUMA node, CPUs and minor number as the kernel has them")


@case("topo-cuda-order", "CUDA's order of GPUs", 150, "gpu", "torch")
def order_of_cuda(kit: Kit) -> Outcome:
    """CUDA counts the fastest GPU first, but where CUDA_DEVICE_ORDER=PCI_BUS_ID is set."""
    facts: dict[str, Any] = {}
    for order in ("", "PCI_BUS_ID"):
        asked = [kit.python, kit.script("torch_facts.py")]
        lines = kit.run(asked, 60, CUDA_DEVICE_ORDER=order or None).output.splitlines()
        facts[order or "default"] = [line for line in lines if line.startswith("device.")]
    by_address = [gpu["pci"] for gpu in topology(kit)["gpus"]]
    got = [line.split()[1] for line in facts["PCI_BUS_ID"]]
    expect(got == by_address, f"with PCI_BUS_ID torch has {got}, distgpu topo {by_address}", "")
    same = facts["default"] == facts["PCI_BUS_ID"]
    line = f"PCI_BUS_ID is distgpu's order; CUDA's own is {'the same' if same else 'another'} here"
    return passed(line, **facts)


def step_of_one(kit: Kit) -> dict[str, str]:
    """Slurm is not here: its variables are set as srun sets them for a step of one task."""
    host = host_name()
    gpus = ",".join(str(gpu.index) for gpu in kit.gpus) if not kit.mocks else ""
    step = {"SLURM_STEP_NODELIST": host, "SLURMD_NODENAME": host, "MASTER_ADDR": "127.0.0.1"}
    step |= {"SLURM_JOB_ID": "1", "SLURM_CPUS_ON_NODE": str(os.cpu_count())}
    step |= {f"SLURM_{name}": "0" for name in "STEP_ID PROCID LOCALID NODEID GTIDS".split()}
    ones = "NTASKS STEP_NUM_NODES STEP_NUM_TASKS STEP_TASKS_PER_NODE".split()
    step |= {f"SLURM_{name}": "1" for name in ones}
    return step | ({"SLURM_STEP_GPUS": gpus, "CUDA_VISIBLE_DEVICES": gpus} if gpus else {})


@case("plan", "distgpu plan on this node's topology", 60)
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


@case("check", "distgpu check", 60)
def check(kit: Kit) -> Outcome:
    distgpu = kit.program("distgpu")
    command = [distgpu, "exec", "pytorch,verbose", "--", distgpu, "check"]
    done = kit.run(command, 30, **step_of_one(kit))
    expect(done.status == 0, f"distgpu check: status {done.status}", done.text)
    return passed(done.output.strip().splitlines()[-1], done.text)


def load(kit: Kit) -> int:
    """The first GPU's, in percent, as distgpu why asks the driver for it."""
    pci = topology(kit)["gpus"][0]["pci"]
    done = kit.run([kit.program("distgpu"), "why", "--gpus", pci, "-"], 30)
    words = done.output.split()
    expect(done.status == 0 and len(words) == 2 and words[0] == pci, "no load", done.text)
    return int(words[1])


@case("busy", "What why says of a GPU's load, and check of its memory", 120, "gpu", "torch")
def busy(kit: Kit) -> Outcome:
    """Another process holds the GPU: why must see that it computes, check that memory is gone."""
    idle = load(kit)
    distgpu = kit.program("distgpu")
    command = [distgpu, "exec", "pytorch", "--", distgpu, "check"]
    with kit.started([kit.python, kit.script("torch_busy.py")]) as other:
        assert other.stdout
        expect(other.stdout.readline() == "busy\n", "torch_busy.py did not begin")
        time.sleep(2)
        full = load(kit)
        done = kit.run(command, 30, **step_of_one(kit))
    told = [line for line in done.text.splitlines() if line.startswith("failed: ")]
    held = len(told) == 1 and "are in use before the program starts" in told[0]
    expect(done.status != 0 and held, f"distgpu check: status {done.status}", done.text)
    expect(idle < 20 and full > 50, f"{idle} % without a program, {full} % with one")
    return passed(f"load {idle} % without, {full} % with another program; check: {told[0]}")


@case("train", "distgpu exec, and torch.distributed trains", 120, "torch")
def train(kit: Kit) -> Outcome:
    script = kit.script("torch_train.py")
    command = [kit.program("distgpu"), "exec", "pytorch", "--", kit.python, script]
    done = kit.run(command, 110, **step_of_one(kit))
    expect(done.status == 0, f"torch_train.py: status {done.status}", done.text)
    return passed(done.output.strip().splitlines()[-1])
