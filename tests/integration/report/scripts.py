"""Random scripts for scripted_nvml.c, and whether a report says what they had the GPUs do.

    scripts.py make FOLDER SEED       for a step that starts within 3 seconds and takes 22
    scripts.py compare FOLDER REPORT  status 1, and a line for each difference
"""

import json
import pathlib
import random
import sys
import time
from typing import Any

NODES = [f"node{number:02}" for number in range(1, 5)]
GPUS = [f"0000:{bus}:00.0" for bus in (13, 14, 93, 94)]
REASONS = {0x4: "power cap", 0x40: "hardware thermal", 0x80: "power brake"}
ROUND = 5.5  # seconds: the sampler looks every 5, and sees what holds longer than this
FIRST, LAST = 4.0, 16.0  # of the events, in seconds after the script was made
MIB = 1 << 20

Line = tuple[float, str, str, int]  # time, kind, address, value


def script_of(address: str, chance: random.Random) -> tuple[list[Line], dict[str, Any]]:
    """A GPU's lines, with times from the beginning on, and what a report has to say of it."""
    lost = chance.uniform(FIRST + 2 * ROUND, LAST) if chance.random() < 0.2 else None
    end = LAST if lost is None else lost - ROUND
    counts = [0] * 101
    lines: list[Line] = []

    at = FIRST
    while at < end:
        percent = chance.choice([0, 100, chance.randrange(101)])
        counts[percent] += 1
        lines.append((at, "load", address, percent))
        at += chance.uniform(0.02, 0.4)

    levels = [chance.randrange(80 * 1024) for _ in range(3)]
    energy = [chance.randrange(10**9)]
    for _ in range(2):  # the counter begins at 0 again where a driver is loaded anew
        is_new = chance.random() < 0.3
        energy.append(
            chance.randrange(10**6) if is_new else energy[-1] + chance.randrange(10**6)
        )
    times = [0.0, FIRST, FIRST + ROUND]
    for at, memory, counter in zip(times, levels, energy):
        lines += [(at, "memory", address, memory), (at, "energy", address, counter)]
    joules = sum(
        later - earlier if later >= earlier else later for earlier, later in zip(energy, energy[1:])
    )

    mask = chance.choice([0, 0x4, 0x40, 0x80, 0x44])
    lines += [(FIRST, "clocks", address, mask), (FIRST + ROUND, "clocks", address, 0)]
    lanes = chance.choice([16, 8, 4])
    lines += [(FIRST, "lanes", address, lanes), (FIRST + ROUND, "lanes", address, 16)]
    xids = [chance.choice([13, 31, 48, 63, 94]) for _ in range(chance.randrange(3))]
    xid_times = sorted(chance.uniform(FIRST, end) for _ in xids)
    lines += [(at, "xid", address, number) for at, number in zip(xid_times, xids)]
    if lost is not None:
        lines.append((lost, "lost", address, 1))
    return lines, {
        "uuid": f"GPU-{address}",
        "counts": counts if any(counts) else [],
        "memory_peak": max(levels) * MIB,
        "joules": joules / 1000,
        "reasons": sorted(name for bit, name in REASONS.items() if mask & bit),
        "lanes": lanes,
        "xids": list(zip(xid_times, xids)),
        "lost": lost,
    }


def make(folder: pathlib.Path, seed: int) -> None:
    """Writes a script for each node, and what to expect."""
    chance = random.Random(seed)
    begin = time.time()
    expected: dict[str, dict[str, dict[str, Any]]] = {}
    for node in NODES:
        lines: list[Line] = []
        expected[node] = {}
        for address in GPUS:
            own, expected[node][address] = script_of(address, chance)
            lines += own
        text = "".join(
            f"{begin + at:.6f} {kind} {address} {value}\n"
            for at, kind, address, value in sorted(lines)
        )
        (folder / node).write_text(text)
    (folder / "expected.json").write_text(json.dumps({"begin": begin, "nodes": expected}))


def differences(gpu: dict[str, Any], expected: dict[str, Any], offset: float) -> list[str]:
    """What the report says otherwise. `offset`: of its times from the script's."""
    found: list[str] = []

    def same(name: str, has: object, should: object) -> None:
        if has != should:
            found.append(f"{name}: {has}, not {should}")

    def near(name: str, has: float | None, should: float | None) -> None:
        """A time is that of the look that saw it."""
        if has is None or should is None:
            same(name, has, should)
        elif not -0.1 <= has + offset - should <= ROUND:
            found.append(f"{name}: at {has + offset:.2f}, not {should:.2f}")

    same("uuid", gpu["uuid"], expected["uuid"])
    same("samples", gpu["busy"]["counts"], expected["counts"])
    same("memory", gpu["memory_peak"], expected["memory_peak"])
    same("joules", round(gpu["joules"], 3), round(expected["joules"], 3))
    same("clocks", sorted(each["reason"] for each in gpu["slow_clocks"]), expected["reasons"])
    for each in gpu["slow_clocks"]:
        if not 0 < each["seconds"] <= 2 * ROUND:
            found.append(f"clocks: {each}, not about {ROUND} s")
    same("lanes", gpu["pcie_width"], expected["lanes"])
    same("xids", [each["number"] for each in gpu["xids"]], [xid for _, xid in expected["xids"]])
    for each, (at, _) in zip(gpu["xids"], expected["xids"]):
        near("xid", each["time"], at)
    near("lost", gpu["lost"], expected["lost"])
    return found


def compare(folder: pathlib.Path, report: dict[str, Any]) -> int:
    """Prints what differs."""
    script = json.loads((folder / "expected.json").read_text())
    right = 0
    for node in report["reports"]:
        offset = node["began"] - script["begin"]
        for gpu in node["gpus"]:
            expected = script["nodes"][node["node"]][gpu["pci"]]
            found = differences(gpu, expected, offset)
            right += not found
            for line in found:
                print(f"{node['node']} {gpu['pci']}: {line}")
    total = len(NODES) * len(GPUS)
    print(f"{right} of {total} as their scripts")
    return 0 if right == total else 1


def main() -> int:
    action, folder, last = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    if action == "make":
        make(folder, int(last))
        return 0
    return compare(folder, json.loads(pathlib.Path(last).read_text()))


if __name__ == "__main__":
    sys.exit(main())
