#!/usr/bin/env python3
"""Stands for a training script: checks that this process is a rank of one world, and ends.

It reads what the framework reads for which it is named (examples/jax_train.py), or as train.py what
it finds. Rank 0 listens at the rendezvous, and every rank reports there. It is a failure if ranks are
missing or double, if the world is not all processes of the step, or a single one, or if the processes
of a node do not use each of its GPUs once. Only this may stand in the frameworks' place because
tests/frameworks trains with them, and shows that these are the variables that they read.
"""

import dataclasses
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

LIMIT = 20  # seconds until all ranks must have met
Address = tuple[str, int]


@dataclasses.dataclass
class Process:
    """What a framework takes its variables for."""

    rank: int
    ranks: int
    devices: list[int]  # which of the GPUs that it sees it uses
    address: Address | None  # of rank 0; None: MPI's own
    gpus: int = len(os.environ.get("CUDA_VISIBLE_DEVICES", "").replace(",", " ").split())
    host: str = socket.gethostname()


def text(name: str) -> str:
    if not os.environ.get(name):
        sys.exit(f"stand-in: {name}: not set")
    return os.environ[name]


def number(name: str) -> int:
    return int(text(name))


def address_of(joined: str) -> Address:
    host, _, port = joined.rpartition(":")
    return host, int(port)


def master() -> Address:
    return text("MASTER_ADDR"), number("MASTER_PORT")


def torch_process() -> Process:
    return Process(number("RANK"), number("WORLD_SIZE"), [number("LOCAL_RANK")], master())


def lightning_process() -> Process:
    number("SLURM_NTASKS_PER_NODE")  # without it the Trainer refuses devices=N
    ranks = number("SLURM_PROCID"), number("SLURM_NTASKS")
    return Process(*ranks, [number("SLURM_LOCALID")], master())


def open_mpi_process() -> Process:
    ranks = number("OMPI_COMM_WORLD_RANK"), number("OMPI_COMM_WORLD_SIZE")
    return Process(*ranks, [number("OMPI_COMM_WORLD_LOCAL_RANK")], master())


def azure_process() -> Process:
    address = address_of(text("AZ_BATCH_MASTER_NODE"))
    return dataclasses.replace(open_mpi_process(), address=address)


def mpi4py_process() -> Process:
    return dataclasses.replace(open_mpi_process(), rank=number("PMIX_RANK"), address=None)


def horovod_process() -> Process:
    if text("HOROVOD_CONTROLLER") == "mpi":
        ranks = number("PMIX_RANK"), number("SLURM_NTASKS")
        return Process(*ranks, [number("SLURM_LOCALID")], None)
    server = text("HOROVOD_GLOO_RENDEZVOUS_ADDR"), number("HOROVOD_GLOO_RENDEZVOUS_PORT")
    ranks = number("HOROVOD_RANK"), number("HOROVOD_SIZE")
    return Process(*ranks, [number("HOROVOD_LOCAL_RANK")], server)


def tensorflow_process() -> Process:
    """A worker uses all GPUs of its node, and a chief or parameter server none."""
    config = json.loads(text("TF_CONFIG"))
    cluster, role, index = config["cluster"], config["task"]["type"], config["task"]["index"]
    tasks = [
        (name, i) for name in ("chief", "ps", "worker") for i in range(len(cluster.get(name, [])))
    ]
    rank = tasks.index((role, index))
    if rank:
        socket.create_server(address_of(cluster[role][index]))  # fails if it is another node's
    first_role, first = tasks[0]
    process = Process(rank, len(tasks), [], address_of(cluster[first_role][first]))
    return dataclasses.replace(
        process, devices=list(range(process.gpus)) if role == "worker" else []
    )


def jax_process() -> Process:
    devices = [int(device) for device in text("JAX_LOCAL_DEVICE_IDS").split(",")]
    ranks = number("SLURM_PROCID"), number("SLURM_NTASKS")
    return Process(*ranks, devices, address_of(text("JAX_COORDINATOR_ADDRESS")))


def found_process() -> Process:
    """Of a script that may be of any framework."""
    readers = {
        "TF_CONFIG": tensorflow_process,
        "JAX_COORDINATOR_ADDRESS": jax_process,
        "HOROVOD_CONTROLLER": horovod_process,
        "OMPI_COMM_WORLD_RANK": open_mpi_process,
    }
    return next((readers[name] for name in readers if name in os.environ), torch_process)()


# By the script's name; the others read what torch reads.
READERS: dict[str, Callable[[], Process]] = {
    "train": found_process,
    "azure_mpi_train": azure_process,
    "horovod_train": horovod_process,
    "jax_train": jax_process,
    "lightning_train": lightning_process,
    "mpi4py_train": mpi4py_process,
    "tensorflow_train": tensorflow_process,
}


def meeting_place() -> Path:
    """Where ranks that MPI would connect learn of rank 0: the nodes share this folder."""
    return Path(f"meeting-{text('SLURM_JOB_ID')}-{text('SLURM_STEP_ID')}")


def gather(own: Process) -> list[Process]:
    """All ranks' processes; this one's is rank 0."""
    server = socket.create_server(("", own.address[1] if own.address else 0))
    server.settimeout(LIMIT)
    if own.address is None:
        new = meeting_place().with_suffix(".new")
        new.write_text(f"{own.host}:{server.getsockname()[1]}")
        new.rename(meeting_place())
    met = [own]
    while len(met) < own.ranks:
        try:
            connection, _ = server.accept()
        except TimeoutError:
            sys.exit(f"stand-in: rank 0: {len(met)} of {own.ranks} ranks came")
        with connection, connection.makefile("rw") as lines:
            met.append(Process(**json.loads(lines.readline())))
            lines.write("seen\n")
    return met


def report(own: Process) -> None:
    """Tells rank 0, which may be later than this one."""
    end = time.monotonic() + LIMIT
    while True:
        try:
            address = own.address or address_of(meeting_place().read_text())
            with socket.create_connection(address, timeout=LIMIT) as connection:
                lines = connection.makefile("rw")
                lines.write(json.dumps(dataclasses.asdict(own)) + "\n")
                lines.flush()
                if lines.readline() == "seen\n":
                    return
                problem = "does not answer"
        except OSError as error:
            problem = str(error)
        if time.monotonic() > end:
            sys.exit(f"stand-in: rank {own.rank}: rank 0 at {own.address}: {problem}")
        time.sleep(0.05)


def problems(own: Process, met: list[Process]) -> list[str]:
    processes = number("SLURM_STEP_NUM_TASKS") * int(os.environ.get("STAND_IN_PROCESSES", "1"))
    found = []
    if own.ranks == 1 or any(process.ranks != processes for process in met):
        found.append(f"a world of {own.ranks}, where the step has {processes} processes")
    ranks = sorted(process.rank for process in met)
    if ranks != list(range(own.ranks)):
        found.append(f"a world of {own.ranks} with the ranks {ranks}")
    for host in sorted({process.host for process in met}):
        here = [process for process in met if process.host == host]
        used = sorted(device for process in here for device in process.devices)
        if not here[0].gpus or used != list(range(here[0].gpus)):
            has = f"{host}: {here[0].gpus} GPUs"
            found.append(f"{has}, of which its {len(here)} processes use {used}")
    return found


def start_processes(count: int) -> int:
    """As Lightning's Trainer does by itself where each node has one task."""
    first = number("NODE_RANK") * count
    world = {"WORLD_SIZE": str(number("SLURM_NNODES") * count), "STAND_IN_PROCESSES": str(count)}
    children = [
        subprocess.Popen(
            [sys.executable, Path(sys.argv[0]).with_name("train.py")],
            env=os.environ | world | {"RANK": str(first + local), "LOCAL_RANK": str(local)},
        )
        for local in range(count)
    ]
    return max(child.wait() for child in children)


def main() -> int:
    devices = next((word for word in sys.argv[1:] if word.startswith("--devices=")), "")
    if devices:
        return start_processes(int(devices.partition("=")[2]))
    own = READERS.get(Path(sys.argv[0]).stem, torch_process)()
    if own.rank:
        report(own)
        return 0
    met = gather(own)
    found = problems(own, met)
    if not found:
        nodes = len({process.host for process in met})
        print(f"stand-in: trained with {own.ranks} ranks on {nodes} nodes")
    for problem in found:
        print(f"stand-in: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
