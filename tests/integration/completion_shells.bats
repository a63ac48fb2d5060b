#!/usr/bin/env bats
# What zsh and fish offer behind `distgpu`, in the shells themselves, which ask bash's completion
# (completion.bats). Needs no cluster.
# shellcheck disable=SC2016 # zsh and fish expand them
# shellcheck disable=SC2154 # set by cluster.bash and bats

load cluster

# As an installation has them, with the command.
setup() {
    share=$BATS_TEST_TMPDIR/share
    install -D -m 644 "$root/packaging/completion/distgpu" "$share/bash-completion/completions/distgpu"
    install -D -m 644 "$root/packaging/completion/_distgpu" "$share/zsh/site-functions/_distgpu"
    install -D -m 644 "$root/packaging/completion/distgpu.fish" \
        "$share/fish/vendor_completions.d/distgpu.fish"
    install -D "$command" "$BATS_TEST_TMPDIR/bin/distgpu"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH
    cd "$BATS_TEST_TMPDIR" || return
}

in_fish() { # LINE
    run -0 fish --no-config --command "source $share/fish/vendor_completions.d/distgpu.fish; complete --do-complete '$1'"
}

# The line after Tab was pressed behind it, in a zsh of its own with a terminal.
in_zsh() { # LINE
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
}

@test "fish offers subcommands, options, modes, keys and values" {
    in_fish 'distgpu sel'
    [ "$output" = self-test ]
    in_fish 'distgpu topo --f'
    [ "$output" = --format ]
    in_fish 'distgpu plan pytorch,gpus='
    [ "$(sort <<<"$output")" = "pytorch,gpus=isolate
pytorch,gpus=keep
pytorch,gpus=near" ]
}

@test "zsh completes subcommands, options, modes, keys and values" {
    export SHOWN=$BATS_TEST_TMPDIR/shown
    in_zsh 'distgpu sel'
    [ "${lines[-1]}" = '<distgpu self-test >' ]
    : >"$SHOWN"
    in_zsh 'distgpu topo --fo'
    [ "${lines[-1]}" = '<distgpu topo --format >' ]
    : >"$SHOWN"
    in_zsh 'distgpu plan torchrun,rd'
    [ "${lines[-1]}" = '<distgpu plan torchrun,rdzv=>' ]
    : >"$SHOWN"
    in_zsh 'distgpu plan torchrun,rdzv=c'
    [ "${lines[-1]}" = '<distgpu plan torchrun,rdzv=c10d >' ]
}
