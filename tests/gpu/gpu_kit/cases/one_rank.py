"""nccl-scaling with one rank: all that needs no second GPU."""

import signal
import time

from gpu_kit.case import Case, Outcome, expect, passed
from gpu_kit.kit import Kit
from gpu_kit.ranks import ranks
from gpu_kit.scaling import ALL_TYPES, bandwidths, completed, scaling

SHORT = ["--iterations", "5", "--warmup", "2"]


def everything(kit: Kit) -> Outcome:
    """Each result is compared on the host, which is what takes long; hence the largest size."""
    sizes = ["-b", "8", "-e", "16K" if kit.mocks else "16M", "-f", "8"]
    run = scaling(kit, 1, [*sizes, "--type", ALL_TYPES, *SHORT])
    results = completed(run, "every collective and type")
    kinds = {(m["collective"], m["type"], m["in_place"]) for m in results["measurements"]}
    # Seven collectives, of which five also work in place, of seven types.
    expect(len(kinds) == 12 * 7, f"{len(kinds)} of 84 collectives and types measured", run.text)
    line = f"{len(results['measurements'])} measurements, data right, in {run.seconds:.0f} s"
    return passed(line, fingerprint=results["fingerprint"], nodes=results["nodes"])


def modes(kit: Kit) -> Outcome:
    """What is measured only where it is asked for. One rank has no other half to exchange with."""
    collectives = "all-reduce,reduce-scatter,reduce,gather,scatter,all-to-all-v"
    ops = ["--op", "sum,max,min,prod,avg", "--type", "double,half"]
    sizes = ["-b", "4K", "-e", "4K" if kit.mocks else "4M", "-f", "32"]
    given = [*sizes, "--collective", collectives, *ops, "--graph", "--registered", *SHORT]
    run = scaling(kit, 1, given)
    results = completed(run, "operations, graphs and registered buffers")
    kinds = {(m["collective"], m["op"], m["type"]) for m in results["measurements"]}
    # Three reductions with five operations, three that copy; two types.
    expect(len(kinds) == (3 * 5 + 3) * 2, f"{len(kinds)} of 36 kinds measured", run.text)
    fingerprint = {entry["name"]: entry["value"] for entry in results["fingerprint"]}
    expect(fingerprint.get("timed loop") == "CUDA graph", "no graph in the fingerprint", run.text)
    expect(fingerprint.get("buffers") == "registered", "buffers not registered", run.text)
    line = f"operations, graphs and registered buffers, data right, in {run.seconds:.0f} s"
    return passed(line, algbw=bandwidths(results))


def large(kit: Kit) -> Outcome:
    sizes = ["-b", "4M" if kit.mocks else "512M", "-e", "8M" if kit.mocks else "4G", "-f", "8"]
    run = scaling(kit, 1, [*sizes, "--collective", "all-reduce,all-gather", *SHORT])
    results = completed(run, "4 GiB")
    largest = max(m["bytes"] for m in results["measurements"])
    line = f"up to {largest / 2**30:g} GiB, data right, in {run.seconds:.0f} s"
    return passed(line, algbw=bandwidths(results), seconds=run.seconds)


def wrong_element(kit: Kit) -> Outcome:
    run = scaling(kit, 1, ["-b", "4K", "-e", "4K", *SHORT], DISTGPU_SCALING_CORRUPT="0:7")
    expect(run.status == 5, f"a wrong element: status {run.status}, not 5", run.text)
    expect("wrong data: element 7 is" in run.text, "the element is not named", run.text)
    return passed("a wrong element ends the run with status 5, and is named")


def unknown_device(kit: Kit) -> Outcome:
    variable = "FAKE_CUDA_DEVICES" if kit.mocks else "CUDA_VISIBLE_DEVICES"
    run = scaling(kit, 1, ["-b", "4K", "-e", "4K", *SHORT], **{variable: "0" if kit.mocks else ""})
    expect(run.status == 3, f"without a GPU: status {run.status}, not 3", run.text)
    line = run.text.strip().splitlines()[-1]
    return passed(f"without a GPU: {line}")


def killed(kit: Kit) -> Outcome:
    """SIGKILL while collectives run: the GPU must be free for the next program."""
    endless = [kit.program("nccl-scaling"), "-b", "1M", "-e", "64M", "-i", "64K", *SHORT]
    with ranks(kit, 1, endless, **kit.nccl_path) as started:
        time.sleep(2 if kit.mocks else 8)
        expect(started.status(0) is None, "it ended before it was killed", started.text(0))
        started.signal(0, signal.SIGKILL)
        status = started.wait(0, time.monotonic() + 20)
    expect(status == 128 + 9, f"status {status} after SIGKILL")
    run = scaling(kit, 1, ["-b", "4K", "-e", "4K", *SHORT])
    completed(run, "the next run")
    return passed(f"killed in a collective; the next run took {run.seconds:.1f} s")


def sanitized(kit: Kit) -> Outcome:
    tool = ["compute-sanitizer", "--tool", "memcheck", "--error-exitcode", "9"]
    command = [*tool, "--target-processes", "all", kit.program("gpu_abi_tests")]
    command.append("--gtest_filter=RealBackend.Runs*:RealDriver.Runs*:RealDriver.Copies*")
    done = kit.run(command, 140, **kit.nccl_path)
    expect(done.status == 0, f"compute-sanitizer: status {done.status}", done.text)
    summary = [line for line in done.text.splitlines() if "ERROR SUMMARY" in line]
    return passed(summary[-1].strip("= ") if summary else "no summary", text=done.text[-3000:])


CASES = [
    Case(
        "scaling-all",
        "nccl-scaling, one rank: every collective, type and placement",
        150,
        everything,
    ),
    Case("scaling-modes", "Operations, a graph, registered buffers", 90, modes),
    Case("scaling-wrong-data", "A wrong element injected", 45, wrong_element),
    Case("scaling-no-gpu", "nccl-scaling where it sees no GPU", 30, unknown_device),
    Case("scaling-killed", "nccl-scaling killed in a collective", 75, killed),
    Case("scaling-large", "nccl-scaling, one rank, up to 4 GiB", 120, large),
    Case(
        "sanitizer",
        "The kernel and the collectives under compute-sanitizer",
        150,
        sanitized,
        ("gpu", "sanitizer"),
    ),
]
