#!/usr/bin/env bats
# What bash offers behind `distgpu`, and zsh and fish, which ask bash's completion, in the shells
# themselves. Needs no cluster.

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

# Each line of standard input: a line to complete, and the words that are offered, exactly and in any
# order; behind |+ some of them.
all_offered() {
    local line words word
    while IFS='|' read -r line words; do
        tab "$line"
        echo "$line: ${COMPREPLY[*]}"
        if [[ $words == +* ]]; then
            for word in ${words#+}; do printf '%s\n' "${COMPREPLY[@]}" | grep -qxF -e "$word"; done
        else
            [ "$(printf '%s\n' "${COMPREPLY[@]}" | sort | xargs)" = "$words" ]
        fi
    done
}

# bats test_tags=short
@test "subcommands, their options and values, and checks, each once" {
    all_offered <<'LINES'
distgpu v|vars
distgpu check|check check-config
distgpu ex|exec explain
distgpu |+exec plan topo vars --help --version
distgpu --ver|--verbose --version
distgpu vars --f|--format
distgpu vars -|--format --help
distgpu plan pytorch --n|+--nodelist --ntasks-per-node
distgpu topo --format |json table
distgpu topo --format=j|json
distgpu plan pytorch --gpus |
distgpu explain 4711 --format |json table
distgpu check --only |cpus fabric gpus interfaces limits memory names network nodes nvlink ports variables
distgpu check --skip=n|names network nodes nvlink
distgpu check --only gpus,g|
distgpu check --only gpus,f|gpus,fabric
LINES
    tab "distgpu "
    [ -z "$compopts" ]
}

@test "files, and a program and its files behind --" {
    touch node.xml train.py job.sbatch
    mkdir nodes
    all_offered <<'LINES'
distgpu check-config no|node.xml nodes/
distgpu check-config node.xml no|
distgpu topo --topology no|node.xml nodes/
distgpu topo --topology=node.|node.xml
distgpu plan pytorch --topology n1=node.|node.xml
distgpu why 4711 --html no|node.xml nodes/
distgpu exec pytorch -- mkdi|+mkdir
distgpu exec pytorch -- python3 tr|train.py
distgpu exec pytorch -- python3 --|
distgpu plan -- srun --ntasks 4 tr|train.py
distgpu plan job|job.sbatch
distgpu plan ./job|./job.sbatch
distgpu vars job|
distgpu topo --save nodes|nodes/
LINES
    [ "$compopts" = " -o nospace" ]
}

# bash replaces what stands behind the last `=`.
@test "modes and aliases, no second SPEC, keys of the mode, and values that stand for themselves" {
    all_offered <<'LINES'
distgpu vars t|tensorflow tf torchrun transformers
distgpu plan --gpus 0 torch|torchrun
distgpu plan |+pytorch jax mpi off
distgpu exec |+pytorch jax mpi off
distgpu plan pytorch t|
distgpu plan --gpus 0 pytorch t|
distgpu exec pytorch -- tensorf|
distgpu topo t|
distgpu vars pytorch,gpus=keep,po|keep,port=
distgpu vars tensorflow,chief=1,p|1,port= 1,ps=
distgpu vars tf,p|tf,port= tf,ps=
distgpu vars jax,p|jax,port=
distgpu vars pytorch,port=1234,p|1234,per-node
distgpu vars pytorch,gpus=|isolate keep near
distgpu vars torchrun,rdzv=c|c10d
distgpu vars pytorch,master=|addr name
distgpu vars pytorch,order=|slurm switch
distgpu vars pytorch,port=|
distgpu vars pytorch,v|pytorch,verbose
LINES
    [ -z "$compopts" ]
    all_offered <<<"distgpu vars pytorch,po|pytorch,port="
    [ "$compopts" = " -o nospace" ]
    # A shell that does not break words at = gets whole words.
    COMP_WORDBREAKS=$' \t\n'
    all_offered <<<$'distgpu vars pytorch,gpus=n|pytorch,gpus=near\ndistgpu topo --format=j|--format=json'
}

@test "a command that is not there offers nothing and says nothing" {
    command=/nonexistent/distgpu
    run --separate-stderr -0 tab "distgpu "
    [ -z "$output$stderr" ]
}

# As an installation has them, with the command.
install_completions() {
    share=$BATS_TEST_TMPDIR/share
    install -D -m 644 "$root/packaging/completion/distgpu" "$share/bash-completion/completions/distgpu"
    install -D -m 644 "$root/packaging/completion/_distgpu" "$share/zsh/site-functions/_distgpu"
    install -D -m 644 "$root/packaging/completion/distgpu.fish" -t "$share/fish/vendor_completions.d"
    install -D "$command" "$BATS_TEST_TMPDIR/bin/distgpu"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

fish_offers() { # LINE WORDS
    run -0 fish --no-config --command \
        "source $share/fish/vendor_completions.d/distgpu.fish; complete --do-complete '$1'"
    [ "$(sort <<<"$output" | xargs)" = "$2" ]
}

@test "fish offers subcommands, options, modes, keys and values" {
    install_completions
    fish_offers 'distgpu conv' convert
    fish_offers 'distgpu topo --f' --format
    fish_offers 'distgpu plan pytorch,gpus=' 'pytorch,gpus=isolate pytorch,gpus=keep pytorch,gpus=near'
}

# The line after Tab was pressed behind it, in a zsh of its own with a terminal.
zsh_makes_of() { # LINE WHOLE_LINE
    : >"$SHOWN"
    run -0 timeout 30 zsh -f -c '
        zmodload zsh/zpty
        zpty shell zsh -f -i
        zpty -w shell "unsetopt prompt_cr prompt_sp; PS1=; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D"
        zpty -w shell "show() { print -r -- \"<\$BUFFER>\" >\$SHOWN }; zle -N show; bindkey \"^Y\" show; print ready"
        zpty -r shell text "*ready*ready*"
        zpty -w -n shell "$2"$'"'\\t\\C-y'"'
        for i in {1..100}; do [[ -s $SHOWN ]] && break; sleep 0.1; done
        zpty -d shell
        cat $SHOWN' zsh "$share/zsh/site-functions" "$1"
    [ "${lines[-1]}" = "<$2>" ]
}

@test "zsh completes subcommands, options, modes, keys and values" {
    install_completions
    export SHOWN=$BATS_TEST_TMPDIR/shown
    zsh_makes_of 'distgpu conv' 'distgpu convert '
    zsh_makes_of 'distgpu topo --fo' 'distgpu topo --format '
    zsh_makes_of 'distgpu plan torchrun,rd' 'distgpu plan torchrun,rdzv='
    zsh_makes_of 'distgpu plan torchrun,rdzv=c' 'distgpu plan torchrun,rdzv=c10d '
}
