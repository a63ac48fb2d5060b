# The cluster of the pages' command lines, and how one of them is run. pages.py writes the tests.
# shellcheck shell=bash

here=$(readlink -f "${BASH_SOURCE[0]%/*}")
# shellcheck source=tests/integration/cluster.bash
source "$here/../integration/cluster.bash"
teardown() { :; } # a page's job may go on
scaling=${DISTGPU_SCALING:-$root/build/dev/nccl_scaling/nccl-scaling}

# Four nodes with 32 CPUs and four GPUs, all made up, and what the pages' lines name: a training
# script, launchers, topologies, results of nccl-scaling.
docs_up() {
    plugin_arguments+=("topology=/tmp/distgpu-$cluster_name/topology.xml")
    cluster_up --cpus 32
    python3 -B "$root/tests/topologies/machines.py" here >"$SCRATCH/topology.xml"
    local node
    for node in node01 node02 node03 node04; do
        # So that a driver seems to answer.
        on "$node" bash -c 'for gpu in /dev/nvidia[0-3]; do rm $gpu; mknod -m 666 $gpu c 1 3; done'
    done
    programs
    mkdir -p "$SCRATCH/tests"
    cp -r "$root/tests/convert" "$SCRATCH/tests"
    cp "$machines"/*.xml "$SCRATCH"
    cp "$machines/power9-4v100.xml" "$SCRATCH/node.xml"
    printf '%s\n' "required $SCRATCH/spank_distgpu.so ports=10-20" requiered >"$SCRATCH/zz-distgpu.conf"
    chmod -R go+rX "$SCRATCH"
    export PATH=$SCRATCH/programs:$PATH PYTHONPATH=$SCRATCH/modules
    # The nodes are one machine with few CPUs: ranks of MPI that wait must not spin there.
    export OMPI_MCA_mpi_yield_when_idle=1
    submit mpirun -np 2 nccl-scaling --backend mpi -b 1K -e 1K --iterations 1 --json before.json
    submit cp before.json after.json
}

# Stand-ins by all names that the pages call them, beside the commands themselves.
programs() {
    local name
    mkdir -p "$SCRATCH"/{programs,examples,modules/torch/distributed}
    cp "$SCRATCH/distgpu" "$scaling" "${scaling%/*}/libnccl_scaling_mpi.so" "$SCRATCH/programs"
    for name in torchrun accelerate composer deepspeed horovod-rendezvous; do
        cp "$here/stand_ins/launcher.py" "$SCRATCH/programs/$name"
    done
    cp "$here/stand_ins/launcher.py" "$SCRATCH/modules/torch/distributed/launch.py"
    touch "$SCRATCH"/modules/torch/{,distributed/}__init__.py # else an installed torch goes first
    cp "$here/stand_ins/start.sh" "$SCRATCH"
    cp "$here/stand_ins/script.py" "$SCRATCH/train.py"
    for name in "$root"/examples/*.py; do
        cp "$here/stand_ins/script.py" "$SCRATCH/examples/${name##*/}"
    done
    cp "$root"/examples/*.sbatch "$SCRATCH/examples"
    convert_program "$SCRATCH/programs"
}

# Runs a line of the pages, and judges it.
runs() { # NUMBER
    local file=${BATS_TEST_FILENAME%/*}/$1
    if [[ $(head -c 2 "$file") == '#!' ]]; then
        install -m 644 "$file" "$SCRATCH/page.sbatch"
        rm -f "$SCRATCH/batch.log"
        batch page.sbatch
    else
        run submit timeout --kill-after=5 60 bash -c "$(cat "$file")"
    fi
    echo "$output"
    python3 "$here/pages.py" judge "$file" "$status" <<<"$output"
}
