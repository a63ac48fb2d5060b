"""Every case, by running: the script and what becomes of it train the same, and each job of
Azure ML trains in the world that it asks for. Needs root."""

import os
import pathlib
from typing import Iterator, List

import pytest

from distgpu_convert import main
from training import AGREE, CANNOT_RUN, DIFFER, USAGE, Cluster, judge, try_text
from training import main as try_files

HERE = pathlib.Path(__file__).parent

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the cluster needs root")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with Cluster() as raised:
        yield raised


FILES = [
    *sorted(HERE.glob("cases/F*")),
    *sorted(HERE.glob("scripts/*.sbatch")),
]
LEFT = ("F1_", "F13_", "F22_", "F23_", "ssh_loop")
# What does not train as it stands, and is meant to: no --nnodes, a torchrun for each GPU, a variable
# that the tasks' shell does not get.
MEANT = {"F7_": 64, "F9_": 8, "launch_by": 4}
# The cluster's names, and no plugins but ours.
HERE_INSTEAD = (
    ("gpu[01", "node[01"),
    ("gpu01", "node01"),
    ("=n1:1", "=node01:1"),
    (" --segment=2", ""),
    ("#SBATCH --image=docker:example/train:1\n#SBATCH --auto-resume=1\n", ""),
    (" --module=gpu", ""),
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.name))
def test_the_script_trains_as_before(cluster: Cluster, file: pathlib.Path) -> None:
    script = file.read_text()
    for there, here in HERE_INSTEAD:
        script = script.replace(there, here)
    conversion = main.convert("job.sbatch", script)
    if file.name.startswith(LEFT):
        assert not conversion.script and conversion.notes
        return
    assert conversion.script
    for name, world in MEANT.items():
        if file.name.startswith(name):
            records, said = cluster.run(conversion.script)
            assert [each["world"] for each in records] == [world] * world, said
            return
    status, said = judge(cluster, script, conversion.script)
    assert status == AGREE, said


WORLDS = [
    ("AZ1_rank_in_command.yml", 16, "train.py --out results --local_rank"),
    ("AZ1b_pip_and_rank.yml", 16, "train.py --config ds.json --global_rank"),
    ("AZ6_command_list_of_one_text.py", 2, "train.py --epochs 30"),
    ("AZ6b_command_list_launch.py", 2, "train.py --data-dir  --epochs 25"),
    ("AZ7_subscript_before_job.py", 8, "train.py --epochs 10"),
    ("AZ7b_distribution_lost.py", 8, "train.py"),
    ("AZ7c_old_arguments_kept.py", 8, "train.py --epochs 100 --lr 0.8"),
]


@pytest.mark.parametrize("name, world, arguments", WORLDS)
def test_the_job_trains_in_its_world(
    cluster: Cluster, name: str, world: int, arguments: str
) -> None:
    file = HERE / "cases" / name
    script = main.convert(name, file.read_text()).script.replace("--mpi=pmix ", "")
    records, said = cluster.run(script)
    assert [each["world"] for each in records] == [world] * world, said
    given: List[str] = sorted(" ".join(each["arguments"]) for each in records)
    if "_rank" in arguments:
        assert given == sorted(f"{arguments} {rank}" for rank in range(world)), said
    else:
        assert given == [arguments] * world, said


YAML = sorted(HERE.glob("cases/AZ*.yml"))


@pytest.mark.parametrize("file", YAML, ids=lambda file: str(file.name))
def test_the_job_trains_as_on_azure(cluster: Cluster, file: pathlib.Path) -> None:
    status, said = try_text(cluster, file.name, file.read_text())
    assert status == AGREE, said


def test_try_sees_what_differs(cluster: Cluster) -> None:
    head = "#!/bin/bash\n#SBATCH --nodes=2 --gres=gpu:4\n"
    script = head + "srun torchrun --nnodes 2 --nproc_per_node 4 a.py --x 1\n"
    for other in ("4 a.py --x 2", "2 a.py --x 1"):
        assert judge(cluster, script, script.replace("4 a.py --x 1", other))[0] == DIFFER
    assert judge(cluster, head, script)[0] == CANNOT_RUN
    assert try_text(cluster, "a.sbatch", head)[0] == CANNOT_RUN
    assert try_files(["/nonexistent"]) == USAGE
