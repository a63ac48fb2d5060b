"""A private Slurm cluster with the plugin, distgpu and distgpu-task, for the runs here."""

import os
import pathlib
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SANDBOX = ROOT / "tools/sandbox/sandbox"


class Cluster:
    """As a context: up within it, with nothing left after it."""

    def __init__(
        self,
        build: pathlib.Path,
        tracking: str,
        nodes: int,
        confs: list[str],
        files: list[str],
        cgroup: list[str],
    ) -> None:
        self.name = f"signals{os.getpid()}"
        self.nodes, self.confs, self.cgroup = nodes, confs, list(cgroup)
        self.proctrack, _, signals_all = tracking.partition("+")
        if signals_all:
            self.cgroup.append("SignalChildrenProcesses=yes")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="distgpu-signals-"))
        self.folder.chmod(0o1777)
        command = pathlib.Path(os.environ.get("DISTGPU_COMMAND", build / "tools/distgpu/distgpu"))
        plugin = pathlib.Path(
            os.environ.get("DISTGPU_PLUGIN", build / "spank_plugin/spank_distgpu.so")
        )
        parent = command.with_name("distgpu-task")
        if not parent.exists():
            parent = command.parent / "../libexec/distgpu/distgpu-task"
        for source, target in (
            (command, "bin/distgpu"),
            (plugin, "spank_distgpu.so"),
            (plugin.with_name(f"{plugin.stem}_step.so"), "spank_distgpu_step.so"),
            (parent, "libexec/distgpu/distgpu-task"),
            *((HERE / file, file) for file in files),
        ):
            (self.folder / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, self.folder / target)
        subprocess.run(["chmod", "-R", "go+rX", self.folder], check=True)

    def __enter__(self) -> "Cluster":
        words = ["up", "--nodes", str(self.nodes), "--cpus", "256", "--proctrack", self.proctrack]
        words += ["--plugin", f"{self.folder}/spank_distgpu.so command={self.folder}/bin/distgpu"]
        for conf in self.confs:
            words += ["--conf", conf]
        for line in self.cgroup:
            words += ["--cgroup", line]
        self.sandbox(*words)
        return self

    def __exit__(self, *_: object) -> None:
        self.sandbox("down")
        shutil.rmtree(self.folder, ignore_errors=True)

    def sandbox(self, verb: str, *words: str) -> None:
        subprocess.run([SANDBOX, verb, "--name", self.name, *words], check=True)

    def submit(self, *words: str) -> str:
        command = [str(SANDBOX), "run", "--name", self.name, "--", *words]
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, text=True)
        return str(done.stdout).strip()

    def on(self, host: str, *words: str) -> list[str]:
        """The lines that a command of root prints there; raises if it fails."""
        command = [str(SANDBOX), "on", "--name", self.name, host, "--", *words]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
        return done.stdout.splitlines()
