"""What machine this is: kept whole, since nobody can ask it again."""

import pathlib

from gpu_kit.case import Case, Outcome, Status, passed
from gpu_kit.kit import Kit

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
    "unit_tests": "*Gpu*:*Nvidia*:*Topo*:-*MigInstances*:*Polic*:*GpuMemory*:*GpuLoad*:*HowBusy*",
}


def unit_tests(kit: Kit) -> Outcome:
    ran = 0
    for program, chosen in UNIT_TESTS.items():
        done = kit.run([kit.program(program), f"--gtest_filter={chosen}", "--gtest_brief=1"], 60)
        lines = [line for line in done.output.splitlines() if "[==========]" in line]
        if done.status != 0 or not lines:
            return Outcome(Status.FAILED, f"{program}: status {done.status}", {}, done.text)
        ran += int(lines[-1].split()[1])
    return passed(f"{ran} unit tests of the GPU parts passed here", tests=ran)


CASES = [
    Case("machine", "What machine this is", 90, look),
    Case(
        "unit-tests", "The unit tests of the GPU parts, on this machine's libraries", 90, unit_tests
    ),
]
