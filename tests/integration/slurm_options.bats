#!/usr/bin/env bats
# The options that distgpu reads on a line of srun or sbatch are those that the running release has,
# each with the next word for its value where Slurm takes it so.

load cluster

setup_file() { cluster_up; }

# names_of COMMAND: its options, as its help shows them and, from 23.02 on, as it completes them.
names_of() {
    {
        submit "$1" --help | sed -nE 's/^ +(-[A-Za-z], )?(--[a-z][a-z0-9_-]*).*/\2/p'
        submit "$1" --help | sed -nE 's/^ +(-[A-Za-z]), --.*/\1/p'
        submit "$1" --autocomplete=-- 2>/dev/null | grep -oE '^--[a-z0-9_-]+'
    } | sort -u
}

# options_of COMMAND: with a value where it asks for one; without those that only its help still has
# (--power, 24.11). It starts nothing, having no program, but for sbatch's --external (26.05).
options_of() {
    local name
    for name in $(names_of "$1"); do
        case $(submit "$1" "$name" 2>&1 </dev/null) in
            *'requires an argument'*) echo "$name 1" ;;
            *'unrecognized option'*) ;;
            *) echo "$name" ;;
        esac
    done
    finish_step >&2
}

# is_read OPTION: the last answer says nothing that a wrong reading of the option would bring about.
is_read() {
    echo "$1: $output"
    [[ $output != *'has no such option'* ]] && [[ $output != *'needs a value'* ]] &&
        [[ $output != *'has no --distgpu'* ]] && [[ $output != *'behind the program'* ]]
}

@test "every option of srun" {
    options_of srun >"$SCRATCH/options"
    [ "$(grep -c ' 1' "$SCRATCH/options")" -gt 80 ]
    while read -r option; do
        # shellcheck disable=SC2086 # the option and its value
        run "$command" plan -- srun $option --distgpu=pytorch a
        is_read "$option"
    done <"$SCRATCH/options"
}

@test "every option of sbatch" {
    options_of sbatch >"$SCRATCH/options"
    [ "$(grep -c ' 1' "$SCRATCH/options")" -gt 60 ]
    while read -r option; do
        printf '#!/bin/sh\n#SBATCH %s --distgpu=pytorch\nsrun a\n' "$option" >"$SCRATCH/job.sbatch"
        run "$command" plan "$SCRATCH/job.sbatch"
        is_read "$option"
    done <"$SCRATCH/options"
}
