"""Whole files: each of scripts and azure becomes what stands beside it in expected, with its notes.

DISTGPU_UPDATE_GOLDEN=1 rewrites expected. That the results train is shown by
tests/frameworks/convert.bats and test_try.py.
"""

import os
import pathlib
import random
import re
import resource
import subprocess
import sys
from typing import List, Tuple

import pytest

from distgpu_convert import main
from distgpu_convert.slurm import Problem

HERE = pathlib.Path(__file__).parent
FILES = sorted((HERE / "scripts").iterdir()) + sorted((HERE / "azure").iterdir())


def expect(name: str, text: str) -> None:
    file = HERE / "expected" / f"{name}.txt"
    if os.environ.get("DISTGPU_UPDATE_GOLDEN"):
        file.write_text(text)
    assert text == file.read_text()


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.name))
def test_is_as_expected(file: pathlib.Path) -> None:
    conversion = main.convert(file.name, file.read_text())
    notes = "".join(f"{file.name}:{line}: {note}\n" for line, note in conversion.notes)
    expect(file.name, notes + "\n" + conversion.script)
    # What is converted once has nothing more to convert.
    if conversion.script:
        assert main.convert("again.sbatch", conversion.script).script == ""


def test_the_script_that_readme_shows_first() -> None:
    page = (HERE.parents[1] / "README.md").read_text()
    script = page.split("```\n")[1]
    expect("readme.sbatch", main.convert("readme.sbatch", script).script)


def test_the_package_has_the_projects_version() -> None:
    root = HERE.parents[1]
    cmake = re.search(r"project\(distgpu VERSION (\S+)", (root / "CMakeLists.txt").read_text())
    package = re.search(r'version = "(.*)"', (root / "tools/convert/pyproject.toml").read_text())
    assert cmake is not None and package is not None and cmake[1] == package[1]


# The command


def command(*arguments: str) -> Tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "distgpu_convert", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(HERE.parents[1] / "tools/convert")},
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def cpu_seconds() -> float:
    """Of programs that have ended: what else this machine does changes it little."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_exit_status(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "job.sbatch"
    script.write_text(
        "#!/bin/bash\n#SBATCH -N 2 --gres=gpu:4\nsrun torchrun --nnodes 2 --nproc_per_node 4 a.py\n"
    )
    begin = cpu_seconds()
    status, out, err = command(str(script))
    assert (status, err) == (0, "") and cpu_seconds() - begin < 0.5
    assert "+srun --distgpu=torchrun torchrun a.py\n" in out
    new = tmp_path / "new.sbatch"
    assert command(str(script), "-o", str(new)) == (0, "", "")
    assert new.read_text().endswith("\nsrun --distgpu=torchrun torchrun a.py\n")
    status, _, err = command(str(script), "-o", str(new))
    assert (status, err) == (
        2,
        f"distgpu: {new}: is there already; name another file with --output\n",
    )
    # The training is left: a helper that is converted changes nothing in that.
    script.write_text("#!/bin/bash\n#SBATCH -N 2\nsrun python3 a.py\n")
    status, out, err = command(str(script))
    assert (status, out) == (1, "") and "no training in it was converted" in err
    assert command(str(tmp_path / "none"))[0] == 2
    assert command()[0] == 2
    os.mkfifo(tmp_path / "fifo")
    for other in (tmp_path, tmp_path / "fifo"):
        refused = (2, "", f"distgpu: {other}: not a regular file; name a file\n")
        assert command(str(other)) == refused


def test_what_sbatch_refuses_is_refused() -> None:
    with pytest.raises(Problem) as problem:
        main.convert("a.sbatch", "#!/bin/bash\r\nsrun python3 a.py\r\n")
    assert str(problem.value) == (
        "a.sbatch:1: the line ends in \\r\\n, which sbatch refuses; remove each \\r: "
        "sed -i 's/\\r$//' a.sbatch"
    )


# Scripts that nobody writes

PARTS = r"""
srun torchrun --nnodes 2 --nproc_per_node 4 a.py|torchrun --nproc_per_node 4|bash -c "|'|"|`|$(|)|${|}|((|))|<<EOF|EOF
|\|
|export MASTER_ADDR=|MASTER_PORT=1|if|then|fi|for|do|done|;|&&|&||case x in|esac|f() {|é|$X|"${A[@]}"
|A=(|--rdzv_endpoint $A:1|mpirun -np 2|deepspeed --hostfile h|accelerate launch --machine_rank 0 x.py
|#SBATCH --nodes=2|# a|eval|source x|\$SLURM_PROCID|singularity exec x.sif|:|=|[[|]]|$'\x'|<(
""".strip().split(
    "|"
)


def is_bash(script: str) -> bool:
    done = subprocess.run(["bash", "-n"], input=script.encode(), capture_output=True, check=False)
    return done.returncode == 0


def test_hostile_scripts_are_converted_well_or_not_at_all(
    pytestconfig: pytest.Config,
) -> None:
    dice = random.Random(41)
    originals = [file.read_text() for file in FILES if file.suffix == ".sbatch"]
    count = pytestconfig.getoption("hostile")
    for turn in range(count):
        if turn % 2:
            parts: List[str] = [dice.choice(PARTS) for _ in range(dice.randrange(1, 40))]
            script = "#!/bin/bash\n#SBATCH -N2\n" + " ".join(parts)
        else:  # one that somebody wrote, with a piece elsewhere
            script = dice.choice(originals)
            at, to = sorted(dice.randrange(len(script)) for _ in range(2))
            script = script[:at] + dice.choice(PARTS) + script[min(to, at + 20) :]
        try:
            conversion = main.convert("a.sbatch", script)
        except Problem:
            continue
        if not conversion.script:
            continue
        assert main.convert("b.sbatch", conversion.script).script == "", script
        assert not is_bash(script) or is_bash(conversion.script), script


# Azure ML


def script_of(file: str, text: str) -> str:
    try:
        return main.convert(file, text).script
    except Problem as problem:
        return f"distgpu: {problem}"


def line_of(file: str, text: str, beginning: str = "srun") -> str:
    lines = [line for line in script_of(file, text).split("\n") if line.startswith(beginning)]
    return lines[0] if lines else script_of(file, text)


def test_yaml_that_is_no_job_is_refused() -> None:
    assert script_of("j.yml", "a: [1").startswith("distgpu: j.yml:1: not YAML: expected")
    assert script_of("j.yml", "- a\n").startswith(
        "distgpu: j.yml: not a job: it has no fields; give"
    )
    assert script_of("j.yml", "").startswith("distgpu: j.yml: not a job: it has no fields; ")
    # Nine aliases of nine aliases: 9^9 values.
    laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
    for i in range(1, 9):
        laughs += f"a{i}: &a{i} [" + ",".join([f"*a{i - 1}"] * 9) + "]\n"
    assert script_of("j.yml", laughs).startswith("distgpu: j.yml: no job with a command")
    assert script_of("j.yml", "[" * 5000).startswith("distgpu: j.yml")


def test_python_ends_whatever_comes() -> None:
    for text in ("f(", "'''", "f(a=" + "[" * 5000 + ")", "x = 1\n" * 9 + "\\"):
        assert script_of("j.py", text).startswith("distgpu: j.py")
    doubled = "a0 = ['x']\n" + "".join(f"a{i + 1} = [a{i}, a{i}]\n" for i in range(60))
    assert script_of("j.py", doubled).startswith("distgpu: j.py: no job with a command")


def test_texts_are_quoted() -> None:
    script = script_of(
        "j.yml",
        'command: python a.py --x ${{inputs.x}}\ninputs: {x: "a\'b; rm -rf $HOME"}\n'
        'display_name: "a\\n#SBATCH -A b"\nenvironment_variables: {A: $(b)}\n',
    )
    assert "\nsrun --distgpu=pytorch python a.py --x 'a'\"'\"'b; rm -rf $HOME'\n" in script
    assert "\n#SBATCH --job-name='a?#SBATCH -A b'\n" in script
    assert "\nexport A='$(b)'\n" in script


def test_inputs_within_quotes() -> None:
    line = line_of(
        "j.yml",
        'command: python a.py "${{inputs.x}}" \'${{inputs.x}}\' "${{inputs.d}}"\n'
        'inputs: {x: "it\'s $1", d: {path: p}}\n',
    )
    value = "'it'\"'\"'s $1'"
    assert line == f'srun --distgpu=pytorch python a.py ""{value}"" \'\'{value}\'\' """$d"""'


JOBS = [
    ("python -m pip install x && python a.py | tee log; ls", "",
     "python -m pip install x && srun --distgpu=pytorch python a.py | tee log; ls"),
    ("python a.py", "distribution: {type: pytorch}\nenvironment: tensorflow-2.16\n",
     "srun --distgpu=pytorch python a.py"),
    ("python a.py", "distribution: {type: mpi}\nenvironment: horovod\n",
     "srun --mpi=pmix --distgpu=horovod python a.py"),
    ("python a.py", "distribution: {type: mpi}\nenvironment: lightning\n",
     "srun --distgpu=ompi,per-node python a.py"),
    ("python a.py", "distribution: {type: pytorch}\nenvironment: lightning\n",
     "srun --distgpu=lightning,per-node python a.py"),
    ("python a.py", "distribution: {type: ray}\n",
     "srun --distgpu=ray distgpu exec -- python a.py"),
    ("python a.py --r $LOCAL_RANK 'x'", "distribution: {type: pytorch}\n",
     "srun --distgpu=pytorch bash -c 'python a.py --r $LOCAL_RANK '\"'\"'x'\"'\"''"),
    # What is not a literal in the file; installing is no training.
    ("python a.py --d ${{inputs.d}}", "inputs: {d: '${{parent.inputs.d}}'}\n",
     'srun --distgpu=pytorch python a.py --d "$d"'),
    ("python setup.py install && ./a ; ls", "distribution: {type: mpi}\n",
     "python setup.py install && srun --mpi=pmix --distgpu=ompi ./a ; ls"),
    ("python a.py; python -m pip list", "",
     "srun --distgpu=pytorch python a.py; python -m pip list"),
    ("python a.py --m module . set", "", "srun --distgpu=pytorch python a.py --m module . set"),
    ("echo $RANK", "distribution: {type: pytorch}\n",
     "srun --distgpu=pytorch bash -c 'echo $RANK'"),
    ("python a.py $[[--lr ${{inputs.lr}}]] $[[--b ${{inputs.b}}]]",
     "inputs: {lr: 0.1, b: {type: number, optional: true}}\n",
     "srun --distgpu=pytorch python a.py --lr 0.1 "),
]  # fmt: skip


@pytest.mark.parametrize("text, rest, expected", JOBS)
def test_the_program_and_its_mode(text: str, rest: str, expected: str) -> None:
    begin = expected.split()[0]
    assert line_of("j.yml", f"command: >-\n  {text}\n{rest}", begin) == expected


def test_what_is_not_taken_is_said() -> None:
    conversion = main.convert(
        "j.yml",
        "command: python a.py --n $AZUREML_RUN_ID\nresources: {instance_count: two, shm_size: 2g}\n"
        "environment_variables: {A B: x}\nservices: {a: b}\nqueue_settings: {c: d}\n",
    )
    assert conversion.notes == [
        (2, "instance_count: two is no number, so it is not known"),
        (3, "environment variable A B: not known"),
        (4, "services is left out: start it in a step of its own, srun --overlap"),
        (5, "queue_settings is left out: choose a quality of service with #SBATCH --qos or --priority"),
        (2, "shm_size is left out: /dev/shm is the node's; in a container, see its own options"),
        (0, "how many GPUs a node has is not in the file; --gres=gpu:1 is what its processes need"),
        (0, "AZUREML_RUN_ID: only Azure ML sets it; set it before srun"),
    ]  # fmt: skip
    assert (
        script_of("j.yml", "command: echo a\n") == "distgpu: j.yml: its command starts no training"
    )
    for command in ("A=1", "pip install x"):
        text = f"command: {command}\ndistribution: {{type: pytorch}}\n"
        assert script_of("j.yml", text) == "distgpu: j.yml: its command starts no training"
    two = main.convert("j.yml", "command: ./prepare && python a.py\n")
    assert (0, "in one process, not in each: ./prepare") in two.notes
    left = main.convert("j.yml", "command: torchrun --nnodes 1:4 a.py\n")
    assert left.script == ""
    assert left.notes[-1][1] == ("how many nodes 1:4 are is not known; the command stays as it is")


def test_a_pipeline_says_which_job_it_takes() -> None:
    conversion = main.convert(
        "j.yml",
        "jobs:\n  prepare: {command: python p.py}\n  train:\n    command: python a.py\n"
        "    distribution: {type: pytorch, process_count_per_instance: 4}\n",
    )
    assert "srun --distgpu=pytorch python a.py" in conversion.script
    assert (4, "of 2 jobs, train is taken; left out: prepare") in conversion.notes


def test_what_is_set_elsewhere_is_said() -> None:
    sweep = main.convert("j.yml", "type: sweep\ntrial:\n  command: python a.py\n")
    assert (3, "of the sweep one trial is taken") in sweep.notes
    job = "job = ScriptRunConfig(script='a.py')\njob.run_config.node_count = 2\n"
    assert (2, "job.run_config.node_count is not taken") in main.convert("j.py", job).notes
    two = "command(command='python a.py', instance_count=2)\ncommand(command='python b.py')\n"
    assert (1, "of 2 jobs, line 1 is taken; left out: line 2") in main.convert("j.py", two).notes


def v1(configuration: str) -> str:
    return f"ScriptRunConfig(script='a.py', distributed_job_config={configuration})"


PYTHON = [
    ("how = PyTorchConfiguration()\nhow.node_count = 2\nhow.process_count = 8\n"
     "ScriptRunConfig(command=['python', 'a.py', '--x', 'a b'], distributed_job_config=how)",
     "srun --distgpu=pytorch python a.py --x a b"),
    (v1("PyTorchConfiguration(process_count=8, node_count=2)"), "#SBATCH --ntasks-per-node=4"),
    (v1("PyTorchConfiguration(node_count=2)"), "#SBATCH --ntasks-per-node=1"),
    (v1("MpiConfiguration(process_count_per_node=4, node_count=2)"),
     "srun --mpi=pmix --distgpu=ompi python a.py"),
    (v1("TensorflowConfiguration(worker_count=2, parameter_server_count=1)"),
     "srun --distgpu=tensorflow,ps=1 python a.py"),
    (v1("TensorflowConfiguration(worker_count=2, parameter_server_count=1)"), "#SBATCH --ntasks=3"),
    ("command(command='a' 'b c'.split(\n)[0], x=1)\ncommand(command='python ' 'a.py')",
     "srun --distgpu=pytorch python a.py"),
    ("n = 2\nif x:\n  n = 4\njob = command(command='python a.py', instance_count=n)",
     "#SBATCH --nodes=1"),
    ("def main():\n  job = command(command=c, instance_count=3)\nc = 'python a.py'\nmain()",
     "#SBATCH --nodes=3"),
]  # fmt: skip


@pytest.mark.parametrize("text, expected", PYTHON)
def test_jobs_made_by_python(text: str, expected: str) -> None:
    assert f"\n{expected}\n" in script_of("j.py", text)


def test_what_has_no_mode_is_refused() -> None:
    assert script_of("j.yml", "command: a\ndistribution: {type: dask}\n") == (
        "distgpu: j.yml: distribution dask has no mode; distgpu vars help lists the modes"
    )
    assert script_of("j.yml", "code: a\n").startswith("distgpu: j.yml: no job with a command")
    assert script_of("j.py", "print(1)\n").startswith("distgpu: j.py: no job with a command")
