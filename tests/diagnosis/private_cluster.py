"""A private Slurm cluster of two nodes for the runs, with what lies outside their jobs."""

import functools
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import IO

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SANDBOX = ROOT / "tools/sandbox/sandbox"
LOGIN = "10.77.0.1"
SERVICE_PORT = 7001
HASTY_MINUTE = 20  # seconds: longer than the pauses of the healthy kinds


class ClusterError(Exception):
    """A message for the user."""


@functools.cache
def environment(name: str) -> pathlib.Path:
    """The folder of programs of one of the tests' Python environments, made if it is not there."""
    command = [str(ROOT / "tests/frameworks/environment"), name]
    made = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if made.returncode:
        raise ClusterError(f"environment {name}: cannot be had; see the messages above")
    return pathlib.Path(made.stdout.strip()).parent


class Cluster:
    """As a context: up within it, with nothing left after it."""

    def __init__(self, build: pathlib.Path, proctrack: str, watch: bool, is_hasty: bool) -> None:
        self.name = f"why{os.getpid()}{proctrack[0]}"
        self.proctrack = proctrack
        self.plugin = build / "spank_plugin/spank_distgpu.so"
        self.command = build / "tools/distgpu/distgpu"
        self.is_hasty = watch and is_hasty
        for file in (self.plugin, self.command):
            if not file.exists():
                raise ClusterError(f"{file}: not there; build it, or name a build with --build")
        self.servers: list[subprocess.Popen[str]] = []
        # Open to the user whose jobs run there, who may be unable to enter the checkout.
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="distgpu-diagnosis-"))

    def __enter__(self) -> "Cluster":
        try:
            self._up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for server in self.servers:
            server.terminate()
            server.wait()
        self._sandbox("down", check=False)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _up(self) -> None:
        self.scratch.chmod(0o1777)
        step_file = self.plugin.with_name(f"{self.plugin.stem}_step.so")
        for file in (self.plugin, step_file, self.command):
            shutil.copy(file, self.scratch)
        programs = self.scratch / "programs"
        shutil.copytree(HERE / "programs", programs, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(HERE / "fault_plan.py", programs)
        started = self.scratch / "distgpu"
        if self.is_hasty:
            started = self.scratch / "hasty"
            started.write_text(
                f'#!/bin/bash\nexec {self.scratch}/distgpu "${{@/#1m/{HASTY_MINUTE}s}}"\n'
            )
            started.chmod(0o755)
        subprocess.run(["chmod", "-R", "go+rX", programs], check=True)
        (self.scratch / "dead").mkdir()
        line = f"{self.scratch / self.plugin.name} command={started} cpus=keep"
        # Jobs at the same time share the nodes, whatever the machine has.
        arguments = ["--nodes", "2", "--cpus", "200", "--gpus", "0", "--plugin", line]
        self._sandbox("up", *arguments, "--proctrack", self.proctrack)
        self._serve("login", "service.py", LOGIN, str(SERVICE_PORT))
        for node in ("node01", "node02"):
            self._serve(node, "dead_mount.py", str(self.scratch / "dead"))

    def _sandbox(self, command: str, *arguments: str, check: bool = True) -> None:
        done = subprocess.run(
            [SANDBOX, command, "--name", self.name, *arguments],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        if check and done.returncode:
            raise ClusterError(f"sandbox {command}: failed; see the messages above")

    def _serve(self, host: str, program: str, *arguments: str) -> None:
        file = str(self.scratch / "programs" / program)
        server = subprocess.Popen(
            [SANDBOX, "on", "--name", self.name, host, "--", "/usr/bin/python3", file, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.servers.append(server)
        if server.stdout is None or server.stdout.readline() != "ready\n":
            raise ClusterError(f"{program} on {host}: does not start")

    def submit(
        self, command: list[str], path: str, output: IO[bytes] | int
    ) -> subprocess.Popen[bytes]:
        """Starts a command as an ordinary user on the host of srun, with this PATH."""
        # Several threads in each of several ranks would wait for the machine's few CPUs.
        variables = dict(os.environ, PATH=path, OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
        variables["OMPI_MCA_mpi_yield_when_idle"] = "1"
        # More ranks than CPUs: those that wait in MPI must let the others run.
        return subprocess.Popen(
            [SANDBOX, "run", "--name", self.name, "--", *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if output != subprocess.PIPE else subprocess.PIPE,
            cwd=self.scratch,
            env=variables,
            start_new_session=True,
        )
