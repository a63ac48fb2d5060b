#!/usr/bin/env bats
# slurmctld does not answer: while srun asks for the layout, for a minute, and while a step is refused.
# shellcheck disable=SC2034 # faults.bash reads what the tests set

load faults

# The pause is after distgpu's own question, or before it.
setup_file() {
    faults_up --conf MessageTimeout=5
    # Before distgpu in srun, so that slurmctld is stopped when distgpu asks.
    on login sh -c "sed -i '1i required $SCRATCH/spank_faults.so' /etc/slurm/plugstack.conf"
}

slurmctld() { on login sh -c "kill -$1 \$(cat $(state)/login/slurmctld.pid)"; }

# Starts a step, and stops slurmctld between its creation and distgpu's question.
stopped_in_question() { # SRUN_ARGUMENT...
    rm -f "$SCRATCH"/pause*
    FAULTS_PAUSE=$SCRATCH/pause SLURM_DISTGPU_ASK=1 start srun "$@"
    appears "$SCRATCH/pause.paused"
    slurmctld STOP
    touch "$SCRATCH/pause"
    injured
}

# bats test_tags=short
@test "slurmctld stopped for 2 s, in srun's question for the layout" {
    stopped_in_question -N2 -n4 -w 'node[01-02]' --distgpu=pytorch ./show
    sleep 2
    slurmctld CONT
    ended 10
    assert_ranks 4
    row 'slurmctld stopped for 2 s while srun asks for the layout' 'the launch waits for it'
}

# MessageTimeout is 5 s here: srun asks twice.
@test "slurmctld stopped for a minute, in srun's question for the layout" {
    stopped_in_question -N2 -n4 -w 'node[01-02]' --distgpu=pytorch ./show
    resume 60 slurmctld CONT
    ended 30
    assert_ranks 4
    again
    row 'slurmctld stopped for a minute while srun asks for the layout' \
        'the launch goes on without an answer, after 2 x MessageTimeout (5 s here)'
}

@test "slurmctld stopped for a minute, under a step" {
    start srun -N2 -n4 -w 'node[01-02]' --distgpu=pytorch sh -c \
        'echo "$RANK/$WORLD_SIZE"; touch running; sleep 20; echo trained'
    appears "$SCRATCH/running"
    slurmctld STOP
    injured
    resume 60 slurmctld CONT
    ended 90
    [ "$status" -eq 0 ]
    [ "$(grep -c trained <<<"$output")" -eq 4 ]
    again
    row 'slurmctld stopped for a minute under a step' 'nothing'
}

@test "slurmctld stopped for a minute, while a node refuses a step" {
    listen node01 29700
    launched+=("$listener")
    stopped_in_question -N2 -n4 -w 'node[01-02]' --distgpu=pytorch,port=29700 "${waiting[@]}"
    resume 60 slurmctld CONT
    # Only slurmctld can end a step on its other nodes.
    ended 75
    [ "$status" -ne 0 ]
    [[ $output == *'distgpu: port 29700 (from port=29700) on node01: already in use; choose another with the key port=N'* ]]
    stop_listening
    again
    row 'slurmctld stopped for a minute while a node refuses the step' \
        'the reason at once, the end of the step when slurmctld answers again'
}
