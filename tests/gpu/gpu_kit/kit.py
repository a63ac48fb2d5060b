"""What a case is; the folder of the kit, the machine around it, and how its programs are run there."""

import contextlib
import dataclasses
import enum
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any


class Status(enum.Enum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclasses.dataclass
class Outcome:
    """How a case ended: one line, and what is worth keeping."""

    status: Status
    line: str
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    text: str = ""  # as a machine printed it


def passed(line: str, text: str = "", **facts: Any) -> Outcome:
    return Outcome(Status.PASSED, line, facts, text)


class Wrong(Exception):
    """What a case saw is not what it must be."""

    def __init__(self, line: str, text: str = "") -> None:
        super().__init__(line)
        self.outcome = Outcome(Status.FAILED, line, {}, text)


def expect(condition: bool, line: str, text: str = "") -> None:
    if not condition:
        raise Wrong(line, text)


@dataclasses.dataclass(frozen=True)
class Case:
    """One thing to find out. `limit`: the seconds that it may take. `needs`: of "gpu" (a real one),
    "torch" (one that sees the GPU) and "sanitizer"; without them it is skipped by name."""

    name: str
    about: str
    limit: int
    needs: tuple[str, ...]
    run: "Callable[[Kit], Outcome]"


CASES: list[Case] = []  # the most valuable first: the minutes may end before the last


def case(name: str, about: str, limit: int, *needs: str) -> "Callable[[Run], Run]":
    """Adds the function below to the cases."""

    def add(function: "Run") -> "Run":
        CASES.append(Case(name, about, limit, needs, function))
        return function

    return add


GPU_FIELDS = ("index", "uuid", "pci.bus_id", "name", "driver_version", "mig.mode.current")


@dataclasses.dataclass(frozen=True)
class Gpu:
    """One GPU in nvidia-smi's words."""

    index: int
    uuid: str
    pci: str  # as Linux writes it: 0000:13:00.0
    name: str
    driver: str
    mig: str  # Enabled, Disabled or [N/A]


@dataclasses.dataclass
class Done:
    """A program that has ended. `status` is None where its time was over."""

    status: int | None
    output: str  # standard output
    errors: str  # standard error
    seconds: float

    @property
    def text(self) -> str:
        return self.output + self.errors


def host_name() -> str:
    """As Slurm names this node."""
    return socket.gethostname().split(".")[0]


class Kit:
    """Programs of the folder `root`, over the stand-ins of `mocks` where that is given."""

    def __init__(self, root: pathlib.Path, mocks: pathlib.Path | None) -> None:
        self.root = root
        self.mocks = mocks
        self.deadline = time.monotonic() + 60  # of the case that runs now
        self.python = "/usr/bin/python3" if mocks else "python3"
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="distgpu-gpu."))
        self.nccl_folder: str | None = None  # of torch's own libnccl
        self.base = self._environment()
        self.gpus = self._find_gpus()
        self.torch = self._look_at_torch()

    def close(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)

    def program(self, name: str) -> str:
        return str(self.root / "bin" / name)

    def script(self, name: str) -> str:
        return str(self.root / "programs" / name)

    def lacks(self, needs: tuple[str, ...]) -> str | None:
        """Why a case that needs these cannot run here; None: it can."""
        if "gpu" in needs and self.mocks:
            return "needs a real GPU; these are stand-ins"
        if "torch" in needs and not self.torch.get("usable"):
            return f"needs torch: {self.torch.get('why', 'none')}"
        if "sanitizer" in needs and not shutil.which("compute-sanitizer", path=self.base["PATH"]):
            return "needs compute-sanitizer, which is not on PATH"
        return None

    def run(self, command: list[str], seconds: float = 60, **environment: str | None) -> Done:
        """Runs a program to its end, or kills it and all that it started. None unsets."""
        begun = time.monotonic()
        with self.started(command, **environment) as process:
            limit = max(1.0, min(seconds, self.deadline - begun))
            try:
                output, errors = process.communicate(timeout=limit)
                status: int | None = process.returncode
            except subprocess.TimeoutExpired:
                self.end(process)
                output, errors = process.communicate()
                status = None
        return Done(status, output, errors, time.monotonic() - begun)

    @contextlib.contextmanager
    def started(
        self, command: list[str], **environment: str | None
    ) -> Iterator[subprocess.Popen[str]]:
        """A program in a session of its own, so that its children can be ended with it."""
        variables = self.base | {k: v for k, v in environment.items() if v is not None}
        for name, value in environment.items():
            if value is None:
                variables.pop(name, None)
        process = subprocess.Popen(
            command,
            env=variables,
            cwd=self.scratch,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            errors="replace",
            start_new_session=True,
        )
        try:
            yield process
        finally:
            self.end(process)

    @staticmethod
    def end(process: subprocess.Popen[str]) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    def _environment(self) -> dict[str, str]:
        # Another job's ranks and libraries' settings are not this machine's.
        strange = ("SLURM", "OMPI_", "PMI", "NCCL_", "MASTER_", "DISTGPU_", "FAKE_")
        variables = {k: v for k, v in os.environ.items() if not k.startswith(strange)}
        for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "CUDA_VISIBLE_DEVICES"):
            variables.pop(name, None)
        if self.mocks:
            # Open MPI, over which the stand-in for NCCL works, as root and on few CPUs.
            variables |= {
                "PATH": f"{self.mocks}:{variables['PATH']}",
                "LD_LIBRARY_PATH": str(self.mocks),
                "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "OMPI_MCA_mpi_yield_when_idle": "1",
                "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
            }
        return variables

    def _find_gpus(self) -> list[Gpu]:
        if not shutil.which("nvidia-smi", path=self.base["PATH"]):
            return []
        fields = ",".join(GPU_FIELDS)
        done = self.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"], 30)
        if done.status != 0:
            return []
        return [gpu_of(line) for line in done.output.splitlines() if line.strip()]

    def _look_at_torch(self) -> dict[str, object]:
        if not self.gpus:
            return {"usable": False, "why": "no GPU"}
        done = self.run([self.python, self.script("torch_facts.py")], 120)
        if done.status != 0:
            lines = done.errors.strip().splitlines()
            return {"usable": False, "why": lines[-1] if lines else f"status {done.status}"}
        facts: dict[str, object] = {}
        for line in done.output.splitlines():
            name, _, value = line.partition("=")
            facts[name] = value
        usable = bool(self.mocks) or facts.get("cuda_available") == "True"
        facts |= {"usable": usable, "why": "it sees no GPU"}
        library = facts.get("nccl_library")
        if usable and library and not self.mocks:
            # The library that torch brings is the one that nccl-scaling shall load too.
            self.nccl_folder = str(pathlib.Path(str(library)).parent)
        return facts

    @property
    def nccl_path(self) -> dict[str, str]:
        """The variable with which nccl-scaling finds torch's own libnccl."""
        return {"LD_LIBRARY_PATH": self.nccl_folder} if self.nccl_folder else {}


def gpu_of(line: str) -> Gpu:
    """A line of nvidia-smi's answer; its PCI domain has eight digits, Linux's has four."""
    index, uuid, pci, name, driver, mig = (field.strip() for field in line.split(","))
    return Gpu(int(index), uuid, pci.lower()[-12:], name, driver, mig)


Run = Callable[[Kit], Outcome]
