"""What distgpu convert changes in batch scripts, and what it leaves alone. Whole files: expected."""

from typing import List, Tuple

import pytest

from distgpu_convert.script import Conversion, convert_script

LAUNCH = "srun --distgpu=torchrun torchrun a.py"
TORCHRUN = "srun torchrun --nnodes 2 --nproc_per_node 4 a.py\n"
EXPORTED = "export MASTER_PORT=1\n"


def rows(text: str) -> List[str]:
    """Its lines without comments, which begin with ##; \\n stands for the end of a line."""
    return [
        line.replace("\\n", "\n") for line in text.strip().split("\n") if line[:2] not in ("", "##")
    ]


def cases(text: str) -> List[Tuple[str, str, str]]:
    """Of two lines each: the last directives, commands, and what becomes of them."""
    directives, before, found = "", "", []
    for row in rows(text):
        if row.startswith("#SBATCH "):
            directives = row[len("#SBATCH ") :]
        elif before:
            found.append((directives, before, row + "\n"))
            before = ""
        else:
            before = row + "\n"
    return found


def convert(commands: str, directives: str = "-N2 --gres=gpu:4") -> Conversion:
    return convert_script(f"#!/bin/bash\n#SBATCH {directives}\n{commands}")


def converted(commands: str, directives: str = "-N2 --gres=gpu:4") -> str:
    """The script's commands behind a usual head, converted."""
    head = f"#!/bin/bash\n#SBATCH {directives}\n"
    result = convert_script(head + commands).script or head + commands
    assert result.startswith(head)
    again = convert_script(result)
    assert again.script == "", "a second conversion changes something"
    return result[len(head) :]


def first_note(commands: str) -> str:
    notes = convert_script("#!/bin/bash\n" + commands).notes
    return notes[0][1] if notes else ""


@pytest.mark.parametrize(
    "commands",
    [
        "srun hostname\n",
        "python3 train.py\n",
        "srun python3 prepare.py\n",
        "echo torchrun\n",
        "export MASTER_PORT=1\npython3 a.py\n",
        "srun --distgpu=pytorch torchrun train.py\n",
        "cat <<EOF\nsrun torchrun a.py\nEOF\n",
        "# srun torchrun a.py\n",
        "mpirun -N 1 bash -c 'echo $(hostname)'\n",
        "mpirun -np 4 hostname\n",
        "mpirun -N 1 bash -c '\nx=$(curl a)\necho $x'\n",
        "export MASTER_ADDR=$HOSTNAME\nsrun python -c 'import streaming'\n",
    ],
)
def test_what_starts_no_training_stays(commands: str) -> None:
    assert converted(commands) == commands


CONVERSIONS = cases(
    r"""
#SBATCH -N2 --gres=gpu:4
## By default torchrun starts one process.
srun torchrun --nnodes=2 a.py
srun --distgpu=torchrun,nproc=1 torchrun a.py
mapfile -t nodes < <(scontrol show hostnames)\nsrun torchrun --nnodes ${#nodes[@]} --nproc_per_node 4 --master_addr ${nodes[0]} a.py
mapfile -t nodes < <(scontrol show hostnames)\nsrun --distgpu=torchrun torchrun a.py
srun torchrun --nnodes=2 --nproc-per-node=4 --max_restarts 3 a.py --nnodes 2
srun --distgpu=torchrun torchrun --max_restarts 3 a.py --nnodes 2
srun -N2 torchrun --nnodes 2 --nproc_per_node=2 -m package.module
srun -N2 --distgpu=torchrun,nproc=2 torchrun -m package.module
srun python3 -u -m torch.distributed.launch --use_env --nnodes 2 --nproc_per_node 4 a.py
srun --distgpu=torchrun python3 -u -m torch.distributed.launch --use_env a.py
## Without --use_env it gives the script --local-rank.
srun python3 -m torch.distributed.launch --nnodes 2 --nproc_per_node 4 a.py
srun --distgpu=torchrun python3 -m torch.distributed.launch a.py
srun torchrun --nnodes 2 --nproc_per_node $N a.py
srun --distgpu=torchrun torchrun --nproc_per_node $N a.py
srun torchrun --nnodes=2 --nproc_per_node=${SLURM_GPUS_ON_NODE} a.py
srun --distgpu=torchrun torchrun a.py
N=2\nsrun torchrun --nnodes 2 --nproc_per_node=$N a.py
srun --distgpu=torchrun,nproc=2 torchrun a.py
srun torchrun --nnodes 2 --nproc_per_node 4 a.py & wait
srun --distgpu=torchrun torchrun a.py & wait
srun \\n  torchrun --nnodes 2 --nproc_per_node 4 a.py \\n  --nnodes
srun \\n  --distgpu=torchrun torchrun a.py \\n  --nnodes
srun torchrun --nproc_per_node 4 \\n  --nnodes 2 \\n  a.py \\n  --b
srun --distgpu=torchrun torchrun \\n  a.py \\n  --b
timeout 60 srun torchrun --nnodes 2 --nproc_per_node 4 a.py
timeout 60 srun --distgpu=torchrun torchrun a.py
nohup srun torchrun --nnodes 2 --nproc_per_node 4 a.py
nohup srun --distgpu=torchrun torchrun a.py
if true; then\n  srun torchrun --nnodes 2 --nproc_per_node 4 a.py\nfi
if true; then\n  srun --distgpu=torchrun torchrun a.py\nfi
ARGS=(--nnodes 2 # nodes\n  --nproc_per_node 4)\nsrun torchrun "${ARGS[@]}" a.py
ARGS=(# nodes\n  )\nsrun --distgpu=torchrun torchrun "${ARGS[@]}" a.py
A="--nnodes 2 --nproc_per_node 4 --max_restarts 3"\nsrun torchrun $A a.py
A="--max_restarts 3"\nsrun --distgpu=torchrun torchrun $A a.py
L=torchrun\nsrun $L --nnodes 2 --nproc_per_node 4 a.py
L=torchrun\nsrun --distgpu=torchrun $L a.py
srun singularity exec --nv -B /a:/b x.sif torchrun --nnodes 2 --nproc_per_node 4 a.py
srun --distgpu=torchrun singularity exec --nv -B /a:/b x.sif torchrun a.py
srun uv run torchrun --nnodes 2 --nproc_per_node 4 a.py
srun --distgpu=torchrun uv run torchrun a.py
srun conda run -n env torchrun --nnodes 2 --nproc_per_node 4 a.py
srun --distgpu=torchrun conda run -n env torchrun a.py
srun --container-image=x.sqsh bash -c "torchrun --nnodes 2 --nproc_per_node 4 a.py"
srun --container-image=x.sqsh --distgpu=torchrun bash -c "torchrun a.py"
f() { srun torchrun --nnodes 2 --nproc_per_node 4 "$1" --x $2; }\nf a.py 2
f() { srun --distgpu=torchrun torchrun "$1" --x $2; }\nf a.py 2
main() {\n  srun torchrun --nnodes $N --nproc_per_node 4 a.py "$@"\n}\nN=2\nmain "$@"
main() {\n  srun --distgpu=torchrun torchrun a.py "$@"\n}\nmain "$@"
f() { srun torchrun --nnodes 2 --nproc_per_node 4 a.py; }\ng() { f; }\nif x; then g; fi > log
f() { srun --distgpu=torchrun torchrun a.py; }\ng() { f; }\nif x; then g; fi > log
f() { export MASTER_PORT=29500; srun torchrun --nnodes 2 --nproc_per_node 4 --master_port $MASTER_PORT a.py; }\nf
f() { export MASTER_PORT=29500; srun --distgpu=torchrun torchrun a.py; }\nf
f() { srun hostname; }\nsrun torchrun --nnodes 2 --nproc_per_node 4 a.py
f() { srun hostname; }\nsrun --distgpu=torchrun torchrun a.py
srun "${ARGS[@]}" -l torchrun --nnodes 2 --nproc_per_node 4 a.py
srun "${ARGS[@]}" -l --distgpu=torchrun torchrun a.py
srun torchrun --nnodes 2 --nproc_per_node 4 --master_addr $(scontrol show hostnames | head -n1)-ib0 a.py
srun --distgpu=torchrun,master=suffix:-ib0 torchrun a.py
A=$(ip -4 addr show ib0 | grep -oP 'inet \K.*')\nsrun torchrun --nnodes 2 --nproc_per_node 4 --rdzv_endpoint $A:29500 a.py
A=$(ip -4 addr show ib0 | grep -oP 'inet \K.*')\nsrun --distgpu=torchrun,master=$A torchrun a.py
srun torchrun --nproc_per_node 4 --master_addr n1 a.py
srun --distgpu=torchrun,master=n1 torchrun a.py
srun torchrun --nnodes 2 --nproc_per_node 4 --master_port $P a.py
srun --distgpu=torchrun,port=$P torchrun a.py

## One launcher on each node.
#SBATCH -N2 --gres=gpu:4 --ntasks-per-node=4 -c 8
torchrun --nnodes 2 --nproc_per_node 4 a.py
srun --ntasks=$SLURM_NNODES --ntasks-per-node=1 --cpus-per-task=32 --distgpu=torchrun torchrun a.py
#SBATCH -N2 --gres=gpu:4 --ntasks-per-node=1
torchrun --nnodes 2 --nproc_per_node 4 a.py
srun --distgpu=torchrun torchrun a.py
#SBATCH -N2 --gres=gpu:4 --ntasks-per-node=4
srun --ntasks-per-node=1 torchrun --nnodes 2 --nproc_per_node 4 a.py
srun --ntasks-per-node=1 --ntasks=$SLURM_NNODES --distgpu=torchrun torchrun a.py

## mpirun becomes srun, with as many tasks as it was told, unless srun starts those.
#SBATCH -N2 --ntasks-per-node=2
mpirun -np 8 -x A=1 python3 a.py
srun --mpi=pmix --ntasks=8 --distgpu=ompi env A=1 python3 a.py
mpirun -np 8 -x A python3 a.py
srun --mpi=pmix --ntasks=8 --distgpu=ompi python3 a.py
mpirun -np 4 ./horovod_a
srun --mpi=pmix --ntasks=4 --distgpu=horovod ./horovod_a
#SBATCH -N2 --gres=gpu:4
mpirun -x A=1 -x B -x C="x y" --mca btl ^openib -mca pml ob1 ./a
srun --mpi=pmix --distgpu=ompi env A=1 C="x y" OMPI_MCA_btl=^openib OMPI_MCA_pml=ob1 ./a
exec mpirun -x A=1 ./a
exec srun --mpi=pmix --distgpu=ompi env A=1 ./a
mpirun -x A=1 -x B=$A ./a
srun --mpi=pmix --distgpu=ompi env A=1 B=$A ./a
X="A=1"\nmpirun -x $X ./a
X="A=1"\nsrun --mpi=pmix --distgpu=ompi env $X ./a
M="mpirun -x A=1"\n$M ./a
M="env A=1"\nsrun --mpi=pmix --distgpu=ompi $M ./a
## Its program is c".
M="mpirun -x A=\"b c\""\n$M ./a
M="env A=\"b c\""\nsrun --mpi=pmix --distgpu=ompi $M ./a
exec mpirun -x A ./a
exec srun --mpi=pmix --distgpu=ompi ./a
#SBATCH -N2 --export=NONE
mpirun -x A=1 ./a
srun --mpi=pmix --distgpu=ompi env A=1 ./a
#SBATCH -N2 --ntasks-per-node=4
mpirun -np $SLURM_NTASKS ./a
srun --mpi=pmix --distgpu=ompi ./a
mpirun -np ${SLURM_NPROCS} ./a
srun --mpi=pmix --distgpu=ompi ./a
mpirun --map-by ppr:4:node ./a
srun --mpi=pmix --distgpu=ompi ./a
## Others that only begin like it.
mpirun -np $SLURM_NTASKS_PER_NODE ./a
srun --mpi=pmix --ntasks=$SLURM_NTASKS_PER_NODE --distgpu=ompi ./a
mpirun -np $((SLURM_NTASKS / 2)) ./a
srun --mpi=pmix --ntasks=$((SLURM_NTASKS / 2)) --distgpu=ompi ./a
#SBATCH -N2 --ntasks-per-node=1
mpirun -npernode 4 ./a
srun --mpi=pmix --ntasks=$((SLURM_NNODES * 4)) --ntasks-per-node=4 --distgpu=ompi ./a
## The CPUs of the job's tasks are shared.
#SBATCH -N2 --ntasks-per-node=1 -c 16
mpirun -np 8 ./a
srun --mpi=pmix --ntasks=8 --cpus-per-task=4 --distgpu=ompi ./a
mpirun -np 8 -N 4 ./a
srun --mpi=pmix --ntasks=8 --ntasks-per-node=4 --cpus-per-task=4 --distgpu=ompi ./a
#SBATCH -N2 --ntasks-per-node=2 -c 16
mpirun --oversubscribe ./a
srun --mpi=pmix --cpus-per-task=$SLURM_CPUS_PER_TASK --distgpu=ompi ./a

## deepspeed starts what its launcher started.
#SBATCH -N2 --ntasks-per-node=4 --gres=gpu:4 -c8
deepspeed --hostfile h a.py
srun --cpus-per-task=$SLURM_CPUS_PER_TASK --distgpu=deepspeed python3 a.py
deepspeed --hostfile h $DIR/a.py $OPTIONS
srun --cpus-per-task=$SLURM_CPUS_PER_TASK --distgpu=deepspeed python3 $DIR/a.py $OPTIONS
#SBATCH -N2 -c2 --gres=gpu:4
N=2\ndeepspeed --hostfile h --num_gpus $N a.py
srun --ntasks=$((SLURM_NNODES * 2)) --ntasks-per-node=2 --cpus-per-task=1 --distgpu=deepspeed python3 a.py

## GPUs that the script chose stay chosen.
#SBATCH -N1 --gres=gpu:4
CUDA_VISIBLE_DEVICES=2,3 torchrun --nproc_per_node=2 a.py
CUDA_VISIBLE_DEVICES=2,3 torchrun --nproc_per_node=2 a.py
export HIP_VISIBLE_DEVICES=2,3\ntorchrun --nproc_per_node gpu a.py
export HIP_VISIBLE_DEVICES=2,3\ntorchrun --nproc_per_node gpu a.py
export HIP_VISIBLE_DEVICES=2,3\nsrun torchrun --nproc_per_node gpu a.py
export HIP_VISIBLE_DEVICES=2,3\nsrun --distgpu=torchrun torchrun --nproc_per_node gpu a.py
CUDA_VISIBLE_DEVICES=2 deepspeed a.py
CUDA_VISIBLE_DEVICES=2 deepspeed a.py
OMP_NUM_THREADS=4 torchrun --nproc_per_node=4 a.py
OMP_NUM_THREADS=4 srun --distgpu=torchrun torchrun a.py
"""
)


@pytest.mark.parametrize("directives, before, after", CONVERSIONS)
def test_commands_are_converted(directives: str, before: str, after: str) -> None:
    assert converted(before, directives) == after


def test_cpus_that_srun_does_not_inherit() -> None:
    told = (
        "srun does not inherit --cpus-per-task on every release; add "
        "--cpus-per-task=$SLURM_CPUS_PER_TASK"
    )

    def note(before: str, srun: str = "srun") -> str:
        return first_note(
            f"#SBATCH --cpus-per-task=10\n{before}{srun} torchrun --nproc_per_node 4 a.py\n"
        )

    assert note("") == told
    for gives in (
        "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\n",
        "export OMP_NUM_THREADS=1 SRUN_CPUS_PER_TASK=4\n",
        "SRUN_CPUS_PER_TASK=4\nexport SRUN_CPUS_PER_TASK\n",
        "declare -x SRUN_CPUS_PER_TASK=4\n",
        "if true; then export SRUN_CPUS_PER_TASK=4; fi\n",
    ):
        assert note(gives) == "", gives
    assert note("", "SRUN_CPUS_PER_TASK=4 srun") == ""
    for gives_not in (
        "SRUN_CPUS_PER_TASK=4\n",
        "SRUN_CPUS_PER_TASK=4 ./prepare\n",
        "export SRUN_CPUS_PER_TASK=4\nunset SRUN_CPUS_PER_TASK\n",
        "export SLURM_CPUS_PER_TASK=4\n",
    ):
        assert note(gives_not) == told, gives_not


@pytest.mark.parametrize(
    "commands",
    [
        "srun -w $node torchrun --nnodes 2 --nproc_per_node 4 a.py\n",
        "srun -N1 -r 1 torchrun a.py\n",
        "srun -N2 torchrun --nnodes=2 --nproc_per_node 4 --node_rank=$i a.py\n",
        "for i in 0 1; do srun torchrun --nnodes=2 --nproc_per_node 4 --node_rank=$i a.py & done\n",
        "torchrun --nnodes=2 --nproc_per_node 4 --node_rank 0 a.py\n",
        "srun accelerate launch --num_machines 2 --machine_rank 0 a.py\n",
        "torchrun --nnodes=2 --nproc_per_node 4 --node_rank=$SLURM_PROCID a.py\n",
        "torchrun a.py &\ntorchrun b.py &\nwait\n",
        "srun torchrun --nnodes=1:4 a.py\n",
        "srun torchrun --nproc_per_node 4 a.py\n",
        "torchrun --nproc_per_node 4 a.py\n",
        "torchrun --standalone --nproc_per_node 4 a.py\n",
        "accelerate launch a.py\n",
        'eval "srun torchrun --nnodes 2 --nproc_per_node 4 a.py"\n',
        "CUDA_VISIBLE_DEVICES=2,3 torchrun --nnodes 2 --nproc_per_node 4 a.py\n",
        "mpirun -np 8 -x $A python3 a.py\n",
        "mpirun -x SLURM_NTASKS=4 ./a\n",
        "mpirun --mca $A ./a\n",
        "mpiexec -genv A 1 -genv B 2 ./a\n",
        "mpirun -npernode $N ./a\n",
        "#SBATCH --export=NONE\nmpirun -x A ./a\n",
        "srun accelerate launch --num_machines 2 --machine_rank $SLURM_NODEID a.py\n",
        "srun torchrun --nnodes 3 a.py\n",
        "srun torchrun --nnodes 2 --nproc_per_node 4 --rdzv_backend etcd a.py\n",
        "srun torchrun --nnodes 2 --nproc_per_node 4 --master_addr localhost a.py\n",
        "srun --foo torchrun --nnodes 2 --nproc_per_node 4 a.py\n",
        'for n in $H; do ssh $n "torchrun a.py"; done\n',
        "if x; then N=2; else N=4; fi\nsrun torchrun --nnodes $N --nproc_per_node 4 a.py\n",
        "N=2\nf() { N=4; }\nf\nsrun torchrun --nnodes $N --nproc_per_node 4 a.py\n",
        'N=2\neval "N=4"\nsrun torchrun --nnodes $N --nproc_per_node 4 a.py\n',
        "N=2\nsource ./x.sh\nsrun torchrun --nnodes $N --nproc_per_node 4 a.py\n",
        "N=4\nif x; then unset N; fi\nsrun torchrun --nnodes 2 --nproc_per_node 4 --master_addr $N a.py\n",
        'A="--nnodes 2"\n./x $A\nsrun torchrun $A a.py\n',
        "srun bash -c './x; torchrun --nnodes 2 --nproc_per_node 4 a.py'\n",
        "mpirun -np 2 -N 1 torchrun --nnodes 2 --nproc_per_node 4 a.py\n",
        'srun bash -c "torchrun --nnodes 2 --nproc_per_node 4\n',
        "deepspeed --hostfile h --include localhost:0,1 a.py\n",
        "deepspeed a.py\n",
        "deepspeed --hostfile h --num_gpus $N a.py\n",
        "deepspeed --hostfile h $OPTIONS a.py\n",
        "mpirun -np 4 $FLAGS --mca pml ucx ./a -n 100\n",
        'if x; then M="-x A"; else M=; fi\nmpirun -np 4 $M ./a\n',
        "srun bash -c 'A=$(ip addr); torchrun --nnodes 2 --nproc_per_node 4 --master_addr $A a.py'\n",
        "export WORLD_SIZE=16\nsrun -n2 --ntasks-per-node=1 python3 a.py\n",
        "A=$B/c/<D>\nsrun torchrun --nnodes 2 --nproc_per_node 4 a.py\n",
        "srun accelerate launch --num_machines 2 --rdzv_backend static --main_process_port 1 a.py\n",
    ],
)
def test_what_is_not_sure_stays_with_a_reason(commands: str) -> None:
    assert converted(commands) == commands
    assert convert(commands).notes


# The arguments of a call may differ from those of another, which need not be seen here.
CALLS = rows(
    r"""
f() { srun torchrun --nnodes $1 --nproc_per_node 4 "$2"; }\nf 2 a.py
f() { srun torchrun --nnodes ${1} --nproc_per_node 4 $2; }\nf 2 a.py && f 2 b.py > log &
f() { local N=$1; shift; srun torchrun --nnodes $N --nproc_per_node 4 a.py "$@"; }\nf 2 --x 1
f() { srun torchrun --nnodes 2 --nproc_per_node 4 --master_addr $1 a.py; }\nf $(scontrol show hostnames | head -n1)
f() { torchrun --nnodes 2 --nproc_per_node 4 $1; }\nf a.py\nf b.py
f() { torchrun --nnodes 2 --nproc_per_node 4 $1; }\nf a.py &\nf b.py
f() { torchrun --nnodes 2 --nproc_per_node 4 a.py; }\ntrap f EXIT
f() { torchrun --nnodes 2 --nproc_per_node 4 a.py; }\nX=$(f)
f() { torchrun --nnodes 2 --nproc_per_node 4 a.py; }\n${X:-f}
f() { torchrun --nnodes 2 --nproc_per_node 4 a.py; }\nf() { f; }
f() { torchrun --nnodes 2 --nproc_per_node 4 a.py; }\nexport -f f\nsrun bash -c f
f() { torchrun --nnodes 2 --nproc_per_node 4 a.py; }\nsrun bash -c "f"
f() { torchrun --nnodes 2 --nproc_per_node 4 a.py; }\ng() { f; }\ng && g
f() { torchrun --nnodes 2 --nproc_per_node 4 a.py; }
f() { srun torchrun --nnodes 2 --nproc_per_node 4 a.py; g; }\ng() { f; }
for N in 2 3; do f $N; done\nf() { srun torchrun --nnodes $1 --nproc_per_node 4 a.py; }
f() { srun torchrun --nnodes $1 --nproc_per_node 4 a.py; }\nfor N in 2 3; do f $N; done
f() { srun torchrun --nnodes $N --nproc_per_node 4 a.py; }\nfor N in 2 3; do f; done
"""
)


@pytest.mark.parametrize("commands", CALLS)
def test_what_a_function_starts_stays_if_its_calls_may_differ(commands: str) -> None:
    assert converted(commands + "\n") == commands + "\n"
    assert convert(commands).notes[0][1].endswith("; the command stays as it is")


SET_BY_FUNCTIONS = ["N=4", "source ./x.sh", "g", "if x; then read N; fi", "unset N"]


@pytest.mark.parametrize("command", SET_BY_FUNCTIONS)
def test_what_a_function_sets_is_not_known_after_its_calls(command: str) -> None:
    functions = "g() { N=4; }\n" * (command == "g") + f"f() {{ {command}; }}\nN=2\n"
    launch = "srun torchrun --nnodes $N --nproc_per_node 4 a.py\n"
    assert "--distgpu" in converted(functions + launch)
    for call in ("f\n", "if x; then f; fi\n", "x && f\n"):
        commands = functions + call + launch
        assert converted(commands) == commands


@pytest.mark.parametrize("nodes", ["-N 2-4", "-w node[1-2]", "-N $N"])
def test_a_launcher_of_one_node_stays_where_there_may_be_several(nodes: str) -> None:
    commands = "torchrun --nproc_per_node 4 a.py\n"
    assert converted(commands, nodes + " --gres=gpu:4") == commands


def test_the_reason_is_told() -> None:
    stays = "; the command stays as it is"
    assert first_note(
        "if x; then N=2; else N=4; fi\nsrun torchrun --nnodes $N --nproc_per_node 4 a.py\n"
    ) == (f"N has several values, or may have, from line 2 on{stays}")
    assert first_note("mpirun --rankfile r python3 a.py\n") == (
        f"--rankfile of mpirun is not understood{stays}"
    )
    assert first_note("deepspeed --hostfile h a.py\n") == (
        f"how many GPUs a node has is not known{stays}"
    )


VARIABLES = [
    ("MASTER_ADDR=x\nsrun torchrun --nnodes 2 --nproc_per_node 4 --master_addr=$MASTER_ADDR a.py\n",
     "srun --distgpu=torchrun,master=x torchrun a.py\n"),
    ("MASTER_ADDR=x\nsrun torchrun --nnodes 2 --nproc_per_node 4 a.py --address ${MASTER_ADDR}\n",
     "MASTER_ADDR=x\n" + LAUNCH + " --address ${MASTER_ADDR}\n"),
    # Its program may read it.
    ("export GPUS=4\nsrun torchrun --nnodes 2 --nproc_per_node=$GPUS a.py\n",
     "export GPUS=4\n" + LAUNCH + "\n"),
    # In arithmetic; by a step that stays; by a name of its own.
    ("A=2\nB=$((A * 4))\nsrun torchrun --nnodes $A --nproc_per_node 4 a.py $B\n",
     "A=2\nB=$((A * 4))\n" + LAUNCH + " $B\n"),
    (EXPORTED + TORCHRUN + "srun ./b.sh x\n", EXPORTED + LAUNCH + "\nsrun ./b.sh x\n"),
    ("MASTER_PORT=1\nexport MASTER_PORT\n" + TORCHRUN, LAUNCH + "\n"),
    # What the mode does not set.
    ("export MASTER_ADDR=x\nhorovodrun -np 2 python3 a.py\n",
     "export MASTER_ADDR=x\nsrun --mpi=pmix --ntasks=2 --distgpu=horovod python3 a.py\n"),
    # A comment needs nothing.
    ("# MASTER_PORT is any\nMASTER_PORT=1\n" + TORCHRUN, "# MASTER_PORT is any\n" + LAUNCH + "\n"),
    # Nothing shows what B is for.
    ("A=1 B=2\nsrun torchrun --nnodes 2 --nproc_per_node 4 --rdzv_id=$A a.py\n", "A=1 B=2\n" + LAUNCH + "\n"),
    ("A=1; B=2\nsrun torchrun --nnodes 2 --nproc_per_node 4 --rdzv_id=$A a.py $B\n",
     "A=1; B=2\n" + LAUNCH + " $B\n"),
    ("# see \\\nexport MASTER_PORT=1\n\n" + TORCHRUN, "# see \\\n\n" + LAUNCH + "\n"),
    ("nodes=4\nexport MASTER_PORT=$nodes\ncd x  # of the nodes\n" + TORCHRUN,
     "cd x  # of the nodes\n" + LAUNCH + "\n"),
    ("nodes=4\nexport MASTER_PORT=$nodes\necho \"a # $nodes\"\n" + TORCHRUN,
     "nodes=4\necho \"a # $nodes\"\n" + LAUNCH + "\n"),
    # The author's own choice.
    ("export MASTER_PORT=$1\n" + TORCHRUN, "export MASTER_PORT=$1\n" + LAUNCH + "\n"),
    ("export MASTER_ADDR=$(ip addr show ib0)\nsrun python3 a.py\n",
     "export MASTER_ADDR=$(ip addr show ib0)\nsrun --distgpu=pytorch python3 a.py\n"),
    ("export MASTER_ADDR=$(scontrol show hostnames | head -1)-ib0\nsrun python3 a.py\n",
     "export MASTER_ADDR=$(scontrol show hostnames | head -1)-ib0\nsrun --distgpu=pytorch python3 a.py\n"),
]  # fmt: skip


@pytest.mark.parametrize("before, after", VARIABLES)
def test_variables_stay_where_something_needs_them(before: str, after: str) -> None:
    assert converted(before) == after


READERS = rows(
    r"""
( python3 b.py )
coproc srun python3 b.py
while srun ./b; do true; done
parallel srun python3 ::: b.py
trap "srun python3 b.py" EXIT
A=$(srun python3 b.py)
A=`srun python3 b.py`
cat <(srun python3 b.py)
echo "$(srun python3 b.py)"
$SRUN python3 b.py
source ./common.sh
. ./common.sh
./submit_step
ssh node02 python3 b.py
python3 monitor.py &
srun ./b echo
srun ./echo a
srun --task-prolog=./b hostname
./echo a
export -p > variables
set > variables
echo "$(echo ")"; ./b)"
awk 'BEGIN { print ENVIRON["MASTER_PORT"] }'
scontrol update JobId=1 Comment=a
sed 's/a/b/e' a.txt
echo $(( $(./b) + 1 ))
cat <<EOF\n$(./b)\nEOF
cat <<-EOF | tr a b\n\t`./b`\n\tEOF
A=$(cat <<EOF\n$(./b)\nEOF\n)
cat <<EOF; date\n$(./b)\nEOF
cat <<EOF\nIt's $(./b)\nEOF
cat > a <<\EOF\n`./b`\nEOF
echo $((b) )
echo $(echo `echo \`./b\` \``)
cat /proc/self/environ
tr a b </proc/$$/environ
srun cp /proc/1/environ a
cd /proc/self\ncat environ
cd /\ncat proc/self/environ
cat //proc/self/*
A=/proc/self/environ\ncat $A
A=$(cat /proc/self/environ)
env
printenv
export
export -p
declare -x
set
compgen -e
echo ${!MASTER_@}
A=MASTER_$B\necho "${!A}"
A=MASTER_$B\n[[ -v $A ]]
hostname () { ./b; }
hostname ( ) {\n  date\n}
srun -n1 hostname : -n2 ./b
srun --prol=./b hostname
srun --multi hostname
export SLURM_TASK_PROLOG=./b\nsrun hostname
tar --to-command=./b -xf a
tar --use-comp=./b -xf a
tar xIf ./b a
tar -x -I ./b -f a
TAR_OPTIONS=--to-command=./b tar xf a
rsync --rsh=./b a c:
rsync -ae ./b a c:
srun rsync -e ./b a c:
sort --compress-prog=./b a
A='BEGIN { system("./b") }'\nawk "$A"
awk -i ./b 1
awk -E ./b
cat <<EOF\n# port $MASTER_PORT\nEOF
echo "\n#define PORT $MASTER_PORT\n"
echo $[1<<2]
set -a
set -o allexport\n./b
"""
)


@pytest.mark.parametrize("other", READERS)
def test_exports_stay_for_whatever_may_read_them(other: str) -> None:
    other = other.replace("\\t", "\t") + "\n"
    result = converted(EXPORTED + other + TORCHRUN)
    if other == "set -a\n":
        assert result == "set -a\n" + LAUNCH + "\n"
        return
    assert result.startswith(EXPORTED + other)
    whole = convert(EXPORTED + other + TORCHRUN)
    assert result.endswith(LAUNCH + "\n") or "not understood" in str(whole.notes)


HARMLESS = rows(
    r"""
mapfile -t n < <(scontrol show hostnames)
cd x
module load cuda
mkdir -p "$(dirname $A)"
date
source venv/bin/activate
conda activate a
srun hostname
srun -N1 -n1 mkdir -p x
scontrol show hostnames | sed 's/$/ slots=2/' > hostfile
awk '{ print $1 }' hosts > first
if [ -d x ]; then\n  cd x\nfi
nvidia-smi
set -euo pipefail
export LOGLEVEL=INFO
cat > a <<'EOF'\n$(./b)\nEOF
cat > a <<EOF\n$(hostname) $((1 + 2))\nEOF
echo $(( (1 + 2) * (3 + 4) ))
cat /proc/cpuinfo
A=$(grep -c ^processor /proc/cpuinfo)
cp -r /data/proc/a b
tar -xzf a.tgz -C IF
tar --strip-components=1 -xf a
rsync -a --exclude=e a b
awk -F: '{ print $NF }' a
sort -n a
[ -d a ]
"""
)


@pytest.mark.parametrize("other", HARMLESS)
def test_exports_go_where_all_else_reads_nothing(other: str) -> None:
    other += "\n"
    assert converted(EXPORTED + other + TORCHRUN) == other + LAUNCH + "\n"


def test_the_note_names_the_line_that_may_read() -> None:
    assert first_note(EXPORTED + "timeout 60 ./b\nsrun torchrun --nproc_per_node 4 a.py\n") == (
        "MASTER_PORT stays, because what line 3 starts may read it"
    )
    set_rank = "export RANK=0\nsrun --distgpu=jax ./b\n"
    assert converted(set_rank + TORCHRUN) == set_rank + LAUNCH + "\n"
    assert first_note(set_rank + "srun torchrun --nproc_per_node 4 a.py\n") == (
        "RANK stays; --distgpu=jax does not set it"
    )


@pytest.mark.parametrize(
    "value",
    [
        "$(hostname | tee head.txt)",
        "$(./reserve_port.sh)",
        "$(./hostname)",
        "$(echo ')'; ./b)",
        "$(srun -o a hostname)",
        "$(srun mkdir a)",
        "`./reserve_port.sh`",
        "$(hostname > head.txt)",
        "$(echo $(./reserve_port.sh))",
    ],
)
def test_a_value_that_does_more_than_print_stays(value: str) -> None:
    assignment = f"MASTER_PORT={value}\n"
    commands = (
        assignment + "srun torchrun --nnodes 2 --nproc_per_node 4 --master_port=$MASTER_PORT a.py\n"
    )
    assert converted(commands) == assignment + LAUNCH + "\n"


@pytest.mark.parametrize(
    "block",
    [
        "if true; then\n  MASTER_PORT=1\nfi\n",
        "f() {\n  MASTER_PORT=1\n}\n",
        "function f {\n  MASTER_PORT=1\n}\n",
        "(\n  MASTER_PORT=1\n)\n",
        "case $1 in\n  a)\n    MASTER_PORT=1\n    ;;\nesac\n",
        "true &&\n  MASTER_PORT=1\n",
        "true || # no\n  MASTER_PORT=1\n",
    ],
)
def test_no_command_is_taken_out_of_a_block(block: str) -> None:
    assert converted(block + TORCHRUN) == block + LAUNCH + "\n"


TEXTS = [
    ("srun bash -c 'torchrun --nnodes 2 --nproc_per_node 4 --node_rank $SLURM_NODEID a.py --dir $DIR'\n",
     "srun --distgpu=torchrun bash -c 'torchrun a.py --dir $DIR'\n"),
    ("srun sh -c \"torchrun --nnodes 2 --nproc_per_node 4 --node_rank \\$SLURM_NODEID a.py \\$A $B\"\n",
     "srun --distgpu=torchrun sh -c \"torchrun a.py \\$A $B\"\n"),
    ("srun bash -lc 'cd x && torchrun --nnodes 2 --nproc_per_node 4 a.py' >log 2>&1\n",
     "srun --distgpu=torchrun bash -lc 'cd x && torchrun a.py' >log 2>&1\n"),
    ("srun bash -c \"export RANK=\\$SLURM_PROCID; export LOCAL_RANK=\\$SLURM_LOCALID; python3 a.py\"\n",
     "srun --distgpu=pytorch bash -c \"python3 a.py\"\n"),
    ("srun bash -c 'torchrun --nnodes 2 --nproc_per_node 4 --rdzv_id '$M' a.py'\n",
     "srun --distgpu=torchrun bash -c 'torchrun '' a.py'\n"),
    ("srun bash -c \"torchrun --nnodes 2 --nproc_per_node 4 --rdzv_id \\\"a b\\\" a.py\"\n",
     "srun --distgpu=torchrun bash -c \"torchrun a.py\"\n"),
    ("srun singularity exec x.sif bash -c \"export RANK=\\$SLURM_PROCID; python3 a.py\"\n",
     "srun --distgpu=pytorch singularity exec x.sif bash -c \"python3 a.py\"\n"),
    ("bash -c \"torchrun --nnodes 2 --nproc_per_node 4 a.py\"\n",
     "srun --distgpu=torchrun bash -c \"torchrun a.py\"\n"),
    ("srun singularity run $SIF bash -c 'python -m torch.distributed.run --nnodes=$SLURM_NNODES --nproc_per_node 4 "
     "--rdzv_id=\\$SLURM_JOB_ID --rdzv_endpoint=\"$MASTER_ADDR:$MASTER_PORT\" a.py'\n",
     "srun --distgpu=torchrun singularity run $SIF bash -c 'python -m torch.distributed.run a.py'\n"),
    ("srun --cpu-bind=v,mask_cpu=$M singularity run $SIF bash -c \"export RANK=\\$SLURM_PROCID && "
     "python a.py\"\n",
     "srun --cpu-bind=v,mask_cpu=$M --distgpu=pytorch singularity run $SIF bash -c \"export "
     "RANK=\\$SLURM_PROCID && python a.py\"\n"),
    ("srun $A -l \"${B[@]}\" ${T:-torchrun} --nnodes=2 a.py\n",
     "srun $A -l \"${B[@]}\" ${T:-torchrun} --nnodes=2 a.py\n"),
]  # fmt: skip


@pytest.mark.parametrize("before, after", TEXTS)
def test_the_text_behind_shells_keeps_its_quotes(before: str, after: str) -> None:
    assert converted(before) == after


COMPUTED = [
    # What moves to srun is written so that it means the same there.
    ("A=$(ip addr)\nexport L=\"torchrun --nnodes 2 --nproc_per_node 4 --master_addr $A\"\nsrun bash -c '$L a.py'\n",
     "A=$(ip addr)\nexport L=\"torchrun\"\nsrun --distgpu=torchrun,master=$A bash -c '$L a.py'\n"),
    ("N=$(cat n)\nM=\"mpirun -np $N\"\n$M ./a\n",
     "N=$(cat n)\nM=\"\"\nsrun --mpi=pmix --ntasks=$N --distgpu=ompi $M ./a\n"),
    ("N=$(cat n)\nM=\"-np $N\"\nmpirun $M ./a\n",
     "N=$(cat n)\nM=\"\"\nsrun --mpi=pmix --ntasks=$N --distgpu=ompi $M ./a\n"),
    # Values without quotes, which the parser alone would end too early.
    ("N=4\nA=$D/$N/b-$N.c\nC=\"a.py --h \"x=$N,y=$N\" --d $A\"\n"
     "srun bash -c \"torchrun --nnodes 2 --nproc_per_node $N $C\"\n",
     "N=4\nA=$D/$N/b-$N.c\nC=\"a.py --h \"x=$N,y=$N\" --d $A\"\n"
     "srun --distgpu=torchrun bash -c \"torchrun $C\"\n"),
    # The launcher in a variable, with a rendezvous that numbers the machines.
    ("L=\"accelerate launch --num_machines 2 --rdzv_backend c10d --main_process_port 29500\"\n"
     "export C=\"$L a.py --x 1\"\nsrun $C\n",
     "L=\"accelerate launch --num_machines 2 --rdzv_backend c10d --main_process_port 29500\"\n"
     "export C=\"$L a.py --x 1\"\nsrun --distgpu=accelerate,per-node $C\n"),
    ("srun bash -c '$PKILL; torchrun --nnodes 2 --nproc_per_node 4 a.py'\n",
     "srun bash -c '$PKILL; torchrun --nnodes 2 --nproc_per_node 4 a.py'\n"),
    ("PKILL='pkill python'\nsrun bash -c \"$PKILL; torchrun --nnodes 2 --nproc_per_node 4 a.py\"\n",
     "PKILL='pkill python'\nsrun --distgpu=torchrun bash -c \"$PKILL; torchrun a.py\"\n"),
]  # fmt: skip


@pytest.mark.parametrize("before, after", COMPUTED)
def test_what_variables_hold_is_moved_with_its_meaning(before: str, after: str) -> None:
    assert converted(before) == after


def test_the_number_of_ranks_is_that_of_the_tasks() -> None:
    def is_converted(value: str) -> bool:
        commands = f"export WORLD_SIZE={value}\nsrun python3 a.py\n"
        return "--distgpu" in converted(commands)

    for known in ("2", "$SLURM_NTASKS", "$(( SLURM_NNODES * SLURM_NTASKS_PER_NODE ))"):
        assert is_converted(known), known
    for other in ("16", "$N", "$((SLURM_NNODES * GPUS))"):
        assert not is_converted(other), other


def test_accelerate_keeps_its_options() -> None:
    launch = "accelerate launch --num_machines 2 --machine_rank $SLURM_NODEID a.py 'x y'"
    assert converted(f'srun bash -c "{launch}" > log 2>&1\n'.replace("$", "\\$")) == (
        f'srun --distgpu=accelerate,per-node bash -c "{launch}" > log 2>&1\n'.replace("$", "\\$")
    )
    assert first_note(f"srun {launch}\n").startswith("each node gets the same --machine_rank: ")


def test_the_mode_is_of_the_framework_named() -> None:
    def mode(commands: str) -> str:
        text = converted("export MASTER_ADDR=$HOSTNAME\n" + commands + "srun python3 a.py\n")
        return text[text.index("--distgpu") :]

    assert mode("# with jax 0.4\n") == "--distgpu=jax python3 a.py\n"
    assert mode("cd train_jax2\n") == "--distgpu=jax python3 a.py\n"
    assert mode("cd /home/ajax/accelerated\n") == "--distgpu=pytorch python3 a.py\n"
    piped = first_note("srun bash -c 'pip install x; python3 jax_train.py | tee log'\n")
    assert piped.startswith("one key is missing: srun --distgpu=jax, ")
    hint = first_note("srun python3 train_with_lightning.py\n")
    assert hint.startswith("one key is missing: srun --distgpu=lightning, ")


def test_an_export_that_the_mode_removes_is_told() -> None:
    export = "export TORCHELASTIC_ERROR_FILE=a LOGLEVEL=INFO\n"
    notes = [(3, "TORCHELASTIC_ERROR_FILE is removed in each task by --distgpu=torchrun")]
    assert [(line - 1, note) for line, note in convert(export + TORCHRUN).notes] == notes


def test_what_has_distgpu_is_done() -> None:
    assert converted(TORCHRUN, "-N2 --distgpu=torchrun") == TORCHRUN
    assert first_note("#SBATCH --distgpu=torchrun\n" + TORCHRUN) == (
        "it has #SBATCH --distgpu already"
    )
    assert first_note(LAUNCH + "\n") == ""


def test_ends_soon_with_substitutions_in_substitutions() -> None:
    deep = "A=" + "$(echo " * 20000 + ")" * 20000 + "\n"
    try:
        assert convert(EXPORTED + deep + TORCHRUN).notes
    except RecursionError:
        pass  # told by main
