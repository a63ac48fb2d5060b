# Steps in the background, how long their end takes, and what they leave on their nodes.
# shellcheck shell=bash
# shellcheck disable=SC2034 # the tests use what stands here

load ../frameworks/frameworks

# Nodes with a temp folder each, /mnt.
steps_up() { # SANDBOX_ARGUMENT...
    frameworks_up --cpus 8 "$@"
    # They share the machine's /tmp.
    for node in node01 node02; do on "$node" mount -t tmpfs -o mode=1777 tmpfs /mnt; done
}

# `says`: the pattern of a step's line once it is as the test wants it, after so many seconds at most.
steps_setup() { # SAYS SECONDS
    says=$1 launch_limit=$2
    distgpu=$SCRATCH/distgpu
    user=$(submit id -un)
    steps=()
}

teardown() {
    if ((${#steps[@]})); then
        submit scancel --quiet --user "$user" || true
        wait "${steps[@]}" || true
    fi
    assert_cluster_clean
    assert_nothing_left
}

# Of the users' processes, files and shared memory on a node: a line each.
left_on() { # NODE
    on "$1" sh -c 'ps -o pid=,args= -u "$2" -u daemon; ls -A /mnt; ls -A /dev/shm' sh "$1" "$user" || true
}

# Processes end a little after their step.
assert_nothing_left() {
    local left
    for _ in {1..30}; do
        left=$(left_on node01)$(left_on node02)
        [[ $left ]] || return 0
        sleep 0.1
    done
    echo "left behind: $left" >&2
    return 1
}

# A command of the user's in the background, until it says so. Its output is in $log.
start() { # COMMAND...
    log=$SCRATCH/log.$BATS_TEST_NUMBER.${#steps[@]}
    submit timeout --kill-after=5 "$launch_limit" "$@" >"$log" 2>&1 3>&- &
    step=$!
    steps+=("$step")
    for _ in $(seq $((launch_limit * 5))); do
        ! grep -q "$says" "$log" || return 0
        kill -0 "$step" 2>/dev/null || break
        sleep 0.2
    done
    cat "$log"
    return 1
}

# The processes of that name, or of the user's, on a node.
pids_on() { on "$1" pgrep "${@:2}" || true; } # NODE PGREP_ARGUMENT...

# From now on `ends` counts.
injured() { from=$EPOCHREALTIME; }

since_injury() { awk -v from="$from" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }'; }

# Waits for the step; its status, and how many seconds it took, with tenths. Fails unless they are
# these.
ends() { # [STATUS|- [SECONDS]]
    status=0
    wait "$step" || status=$?
    unset "steps[-1]"
    seconds=$(since_injury)
    output=$(<"$log")
    echo "$output"
    echo "# $BATS_TEST_DESCRIPTION: status $status after $seconds s" >&3
    [[ ${1--} == - || $status == "$1" ]]
    [[ ! ${2-} ]] || within "$2"
}

# Fails unless `ends` took so many seconds at the most.
within() { ((${seconds%.*} < $1)); } # SECONDS
