#!/usr/bin/env bats
# What bash offers behind `distgpu`. Needs no cluster.
# shellcheck disable=SC2154 # set by cluster.bash and bats

load cluster

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    # shellcheck source=packaging/completion/distgpu
    source "$root/packaging/completion/distgpu"
    COMP_WORDBREAKS=$' \t\n"\'><=;|&(:' # bash's own
}

compopt() { compopts+=" $*"; }

# Presses the Tab key at the end of a line. The options that were set are in compopts.
tab() { # LINE
    compopts=''
    # shellcheck disable=SC2034 # the completion reads them
    COMP_LINE=$1 COMP_POINT=${#1}
    _distgpu "$command"
}

# offered LINE WORD...: exactly these words, in any order.
offered() {
    tab "$1"
    shift
    diff <(printf '%s\n' "${COMPREPLY[@]}" | sort) <(printf '%s\n' "$@" | sort)
}

# offers LINE WORD...: these words among others.
offers() {
    tab "$1"
    shift
    for word; do
        printf '%s\n' "${COMPREPLY[@]}" | grep -qxF -e "$word"
    done
}

@test "subcommands" {
    offered "distgpu v" vars
    offered "distgpu check" check check-config
    offered "distgpu ex" exec explain
    offers "distgpu " exec plan self-test topo vars --help --version
    [ -z "$compopts" ]
}

@test "options of a subcommand" {
    offered "distgpu vars --f" --format
    offered "distgpu vars -" --format --help
    offers "distgpu plan pytorch --n" --nodelist --ntasks-per-node
}

@test "values of an option" {
    offered "distgpu topo --format " json table
    offered "distgpu topo --format=j" json
    offered "distgpu plan pytorch --gpus " ""
    offered "distgpu explain 4711 --format " json table
}

@test "checks, each once" {
    offered "distgpu check --only " variables ports cpus gpus memory fabric interfaces names nodes network
    offered "distgpu check --skip=n" names nodes network
    offered "distgpu check --only gpus,g" ""
    offered "distgpu check --only gpus,f" gpus,fabric
}

@test "files for --topology, and for check-config" {
    touch node.xml
    mkdir nodes
    offered "distgpu check-config no" node.xml nodes/
    offered "distgpu check-config node.xml no" ""
    offered "distgpu topo --topology no" node.xml nodes/
    offered "distgpu topo --topology=node." node.xml
    offered "distgpu plan pytorch --topology n1=node." node.xml
    offered "distgpu why 4711 --html no" node.xml nodes/
    offered "distgpu topo --save nodes" nodes/
    [ "$compopts" = " -o nospace" ]
}

@test "a program and its files behind --, and a script for plan" {
    touch train.py job.sbatch
    offers "distgpu exec pytorch -- mkdi" mkdir
    offered "distgpu exec pytorch -- python3 tr" train.py
    offered "distgpu exec pytorch -- python3 --" ""
    offered "distgpu plan -- srun --ntasks 4 tr" train.py
    offered "distgpu plan job" job.sbatch
    offered "distgpu plan ./job" ./job.sbatch
    offered "distgpu vars job" ""
}

@test "modes and aliases" {
    offered "distgpu vars t" tensorflow tf torchrun transformers
    offered "distgpu plan --gpus 0 torch" torchrun
    offers "distgpu plan " pytorch jax mpi off
    offers "distgpu exec " pytorch jax mpi off
}

@test "no second SPEC" {
    offered "distgpu plan pytorch t" ""
    offered "distgpu plan --gpus 0 pytorch t" ""
    offered "distgpu exec pytorch -- tensorf" ""
    offered "distgpu topo t" ""
}

@test "keys with what they want" {
    offered "distgpu vars pytorch,v" pytorch,verbose
    [ -z "$compopts" ]
    offered "distgpu vars pytorch,po" pytorch,port=
    [ "$compopts" = " -o nospace" ]
    # bash replaces what stands behind the last `=`.
    offered "distgpu vars pytorch,gpus=keep,po" keep,port=
}

@test "keys of the mode alone, also by its alias, and each once" {
    offered "distgpu vars tensorflow,chief=1,p" 1,port= 1,ps=
    offered "distgpu vars tf,p" tf,port= tf,ps=
    offered "distgpu vars jax,p" jax,port=
    offered "distgpu vars pytorch,port=1234,p" 1234,per-node
}

@test "values of a key that stand for themselves" {
    offered "distgpu vars pytorch,gpus=" isolate keep near
    offered "distgpu vars torchrun,rdzv=c" c10d
    offered "distgpu vars pytorch,master=" addr name
    offered "distgpu vars pytorch,order=" slurm switch
    offered "distgpu vars pytorch,port=" ""
}

@test "a shell that does not break words at = gets whole words" {
    COMP_WORDBREAKS=$' \t\n'
    offered "distgpu vars pytorch,gpus=n" pytorch,gpus=near
    offered "distgpu topo --format=j" --format=json
}

@test "a command that is not there offers nothing and says nothing" {
    command=/nonexistent/distgpu
    run --separate-stderr -0 tab "distgpu "
    [ -z "$output$stderr" ]
}
