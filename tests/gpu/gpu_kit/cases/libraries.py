"""NVIDIA's libraries, each function that is declared called once."""

import re

from gpu_kit.case import Case, Outcome, Status
from gpu_kit.kit import Kit


def abi(kit: Kit) -> Outcome:
    header = kit.run(["nvidia-smi"], 30).output
    newest = re.search(r"CUDA (?:UMD )?Version: ([0-9.]+)", header)
    first = kit.gpus[0]
    done = kit.run(
        [kit.program("gpu_abi_tests")],
        110,
        EXPECTED_UUID=first.uuid,
        EXPECTED_NAME=first.name,
        EXPECTED_CUDA=newest[1] if newest else "",
        CUDA_DEVICE_ORDER="PCI_BUS_ID",
        **kit.nccl_path,
    )
    ended = re.findall(r"\[ +(OK|FAILED|SKIPPED) +\] (\S+) \(", done.output)
    results = {name: word for word, name in ended}
    wrong = [name for name, word in results.items() if word == "FAILED"]
    if done.status != 0:
        line = f"status {done.status}; failed: {', '.join(wrong) or 'none'}"
        return Outcome(Status.FAILED, line, {"tests": results}, done.text)
    return Outcome(Status.PASSED, f"{len(results)} tests passed", {"tests": results}, done.output)


CASES = [Case("abi", "Each function of libcuda, libnccl and libnvidia-ml that is used", 120, abi)]
