# What the tests of faults share: a neighbour whose step nothing may hurt, a launch that has to end
# in time, what is left behind, and the row of the table of docs/reliability.md.
# shellcheck shell=bash
# shellcheck disable=SC2034 # the tests use what stands here
#
# A test says
#
#     start srun -N2 --distgpu=pytorch PROGRAM    # in the background
#     ...                                         # and injures something
#     ended 20                                    # within 20 s: sets status, output, seconds
#     row 'node lost ...' 'what the user saw'     # nothing is left behind, nobody else is hurt

load ../integration/cluster

folder=$root/tests/faults

# A cluster of 3 nodes. Steps of the user's run on all; the neighbour's on the last.
faults_up() { # SANDBOX_ARGUMENT...
    cluster_up --nodes 3 --conf KillOnBadExit=0 "$@"
    local node
    for node in $(nodes); do own_runtime_folder "$node"; done
    cc -std=gnu11 -Wall -Wextra -Werror -shared -fPIC -o "$SCRATCH/spank_faults.so" "$folder/plugin.c"
    printf '%s\n' '#!/bin/sh' 'echo "$RANK/$WORLD_SIZE $MASTER_ADDR"' >"$SCRATCH/show"
    chmod 755 "$SCRATCH/show"
    cp /bin/sleep "$SCRATCH/doze"
}

state() { echo "/run/distgpu-sandbox/$CLUSTER"; }

nodes() { printf 'node%02d\n' {1..3}; }

# A program that waits for others for ever, and that no other test runs.
waiting=(sleep "100000${cluster_name#test}")

setup() {
    assert_cluster_clean
    rm -f "$SCRATCH/neighbour.end"
    launched=() # processes of this test's own
    # Waits by a program that `things` does not look for, since it is there only now and then.
    submit srun --quiet -n1 -w node03 --distgpu=pytorch,gpus=keep sh -c \
        'touch neighbour; until [ -e neighbour.end ]; do ./doze 0.1; done
            rm neighbour; echo "unhurt $RANK/$WORLD_SIZE"' \
        >"$SCRATCH/neighbour.out" 2>&1 </dev/null 3>&- &
    neighbour=$!
    appears "$SCRATCH/neighbour"
    before=$(things)
}

teardown() {
    touch "$SCRATCH/neighbour.end"
    wait "${launched[@]}" "$neighbour" || true
    # A test that failed may have left a step behind.
    submit scancel --quiet --user sandbox || true
    assert_cluster_clean
}

appears() { until_so 20 test -e "$1"; } # FILE

# Starts a command on the submit host; `ended` waits for it.
start() { # COMMAND...
    submit "$@" >"$SCRATCH/output" 2>&1 </dev/null 3>&- &
    started=$!
    launched+=("$started")
    from=$EPOCHREALTIME
}

# From now on counts what `ended` says.
injured() { from=$EPOCHREALTIME; }

since() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }'; }

# Fails unless what was started ends within so many seconds of the injury, or of its start.
ended() { # SECONDS
    while kill -0 "$started" 2>/dev/null; do
        seconds=$(since "$from")
        if ((${seconds%.*} >= $1)); then
            cat "$SCRATCH/output"
            echo "has not ended after $1 s" >&2
            kill -KILL "$started"
            return 1
        fi
        sleep 0.05
    done
    status=0
    wait "$started" || status=$?
    seconds=$(since "$from")
    output=$(<"$SCRATCH/output")
    echo "$seconds s, status $status: $output"
}

# Goes on, after some seconds, with a daemon that was stopped; `again` waits for that.
resume() { # SECONDS COMMAND...
    (sleep "$1" && "${@:2}") 3>&- &
    resuming=$!
    launched+=("$resuming")
}

again() { wait "$resuming"; }

# The same at once, without an injury in between.
launch() { # SECONDS COMMAND...
    start "${@:2}"
    ended "$1"
}

# What exists on the cluster that a step could leave: a line each.
things() {
    local node
    for node in $(nodes); do
        # A process by its program: what waits, daemons of steps, discoveries.
        on "$node" sh -c 'for file in /proc/[0-9]*/comm; do
                read -r name <$file && echo "$1 process $name"
            done 2>/dev/null | grep -E "sleep|slurmstepd|distgpu|python"
            ls -A /dev/shm /run/distgpu 2>/dev/null | sed "s/^/$1 file /"
            ipcs -m | grep "^0x" | sed "s/^/$1 shared memory /"' sh "$node" || true
    done | sort
    submit squeue --noheader --steps --format='step %i' | sort
}

drained() {
    local answer
    answer=$(submit sinfo --noheader --states=drain,fail --format='%N %E')
    [[ ! $answer ]] || printf 'drained: %s\n' "$answer"
}

# What is there now and was not before; slurmstepd ends a little after its step, and after
# slurmctld's answer.
left_behind() {
    local try
    for ((try = 0; try < 300; try++)); do
        left=$(comm -13 <(echo "$before") <(things | LC_ALL=C sort -k1,9))
        left+=$(drained)
        [[ $left ]] || break
        sleep 0.1
    done
}

# Judges what stays, and adds a row to the table that tests/run prints.
row() { # INJURED SAW
    kill -0 "$neighbour" || {
        cat "$SCRATCH/neighbour.out" >&2
        return 1
    }
    left_behind
    [ "$left" = "" ] || {
        printf 'left behind:\n%s\n' "$left" >&2
        return 1
    }
    touch "$SCRATCH/neighbour.end"
    wait "$neighbour"
    diff "$SCRATCH/neighbour.out" - <<<'unhurt 0/1' >&2
    assert_cluster_clean
    echo "# $seconds s: $1: $2" >&3
    [[ -z ${DISTGPU_RESULTS-} ]] ||
        printf '%s\t%s\t%s\t%s\tnothing\n' "${BATS_TEST_FILENAME##*/}" "$1" "$2" "$seconds" >>"$DISTGPU_RESULTS"
}

# Kills slurmd of a node, and with it the daemons of steps there, as a power cut would.
lose() { # NODE
    on "$1" sh -c 'read -r slurmd <"$1"
        kill -KILL "$slurmd" $(for file in /proc/[0-9]*/comm; do
            read -r name <$file
            [ "$name" != slurmstepd ] || { file=${file#/proc/}; echo "${file%/comm}"; }
        done)
        for file in /proc/[0-9]*/comm; do
            read -r name <$file
            case $name in sleep | python3) file=${file#/proc/}; kill -KILL "${file%/comm}" ;; esac
        done 2>/dev/null' sh "$(state)/$1/slurmd.pid" 2>/dev/null || true
    injured
}

# As a node that boots again.
bring_back() { # NODE
    "$sandbox" node --name "$CLUSTER" start "$1"
}

# SHOW's lines of so many tasks, each rank once.
assert_ranks() { # TASKS
    [ "$status" -eq 0 ]
    [ "$(grep -E '^[0-9]+/[0-9]+ ' <<<"$output" | cut -d ' ' -f 1 | sort -n)" = \
        "$(for ((i = 0; i < $1; i++)); do echo "$i/$1"; done)" ]
}
