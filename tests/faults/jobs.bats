#!/usr/bin/env bats
# What Slurm does to jobs: suspended, requeued, in an array, with a terminal; and another plugin that
# sets the same variables.
# shellcheck disable=SC2034 # faults.bash reads what the tests set

load faults

setup_file() {
    faults_up
    install -m 755 "$folder/terminal.py" "$SCRATCH"
}

# All four tasks have written what they had to.
all_run() { (($(find "$SCRATCH" -name 'running.*' -size +0 | wc -l) == 4)); }

@test "a job is suspended and goes on" {
    start srun -N2 -n4 -w 'node[01-02]' --distgpu=pytorch sh -c \
        './show; echo $SLURM_JOB_ID >running.$RANK; until [ -e go ]; do sleep 0.1; done'
    until_so 20 all_run
    on login scontrol suspend "$(<"$SCRATCH/running.0")"
    sleep 1
    on login scontrol resume "$(<"$SCRATCH/running.0")"
    injured
    touch "$SCRATCH/go"
    ended 10
    rm "$SCRATCH"/{running.*,go}
    assert_ranks 4
    row 'job suspended for a second, and resumed' 'nothing'
}

# Its second run has another port, so that it does not meet what the first one left in the network.
@test "a job is requeued" {
    local job
    printf '%s\n' '#!/bin/bash' '#SBATCH -N2 -n4 -w node[01-02] --requeue --open-mode=append -o requeued.out' \
        'srun --distgpu=pytorch sh -c "./show; echo port \$MASTER_PORT; echo >running.\$RANK
            until [ -e go ]; do sleep 0.1; done"' \
        >"$SCRATCH/job"
    job=$(submit sbatch --parsable --distgpu=pytorch job 2>/dev/null)
    until_so 20 all_run
    rm "$SCRATCH"/running.*
    on login scontrol requeue "$job"
    from=$EPOCHREALTIME
    until_so 20 all_run
    touch "$SCRATCH/go"
    until_so 20 job_ended "$job"
    seconds=$(since "$from")
    [[ $(submit scontrol --oneliner show job "$job") == *' JobState=COMPLETED '*' Restarts=1 '* ]]
    output=$(<"$SCRATCH/requeued.out")
    rm "$SCRATCH"/{running.*,go,requeued.out}
    [ "$(grep -cE '^[0-3]/4 ' <<<"$output")" -eq 8 ]
    # Four tasks each.
    [ "$(grep '^port ' <<<"$output" | sort | uniq -c | awk '{ print $1 }')" = "$(printf '%s\n' 4 4)" ]
    row 'job requeued' 'nothing; the second run has another port'
}

job_ended() { [[ ! $(submit squeue --noheader --jobs="$1") ]]; }

@test "a job array" {
    local job
    printf '%s\n' '#!/bin/bash' '#SBATCH -N2 -n2 -w node[01-02] --array=1-8 -o array.%a' \
        'srun sh -c "./show; echo port \$MASTER_PORT"' >"$SCRATCH/job"
    from=$EPOCHREALTIME
    job=$(submit sbatch --parsable --distgpu=pytorch job 2>/dev/null)
    until_so 20 job_ended "$job"
    seconds=$(since "$from")
    for i in {1..8}; do
        status=0 output=$(<"$SCRATCH/array.$i")
        assert_ranks 2
    done
    # All different, since they share nodes.
    [ "$(grep -h '^port ' "$SCRATCH"/array.* | sort -u | wc -l)" -eq 8 ]
    rm "$SCRATCH"/array.*
    row 'array of 8 jobs on the same nodes' 'nothing; each has a port of its own'
}

# bats test_tags=short
@test "--pty with a real terminal" {
    launch 10 /usr/bin/python3 "$SCRATCH/terminal.py" srun -N1 -n2 -w node01 --pty --distgpu=pytorch \
        sh -c 'tty; stty size; ./show; read answer; echo "said $answer"'
    [ "$status" -eq 0 ]
    [[ $output == *'/dev/pts/'*'24 80'*'0/2 10.77.1.1'*'said yes'* ]]
    row '`--pty` with a real terminal' 'nothing'
}

rivals() { # plugstack.conf's order of it: before|after
    for node in node01 node02; do
        on "$node" sh -c 'sed -i /spank_faults/d /etc/slurm/plugstack.conf
            sed -i "$2 required $1/spank_faults.so" /etc/slurm/plugstack.conf' sh "$SCRATCH" \
            "$([[ $1 == before ]] && echo 1i || echo '$a')"
    done
}

@test "another plugin sets the same variables" {
    rivals before
    launch 10 env FAULTS_RIVAL=1 srun -N2 -n4 -w 'node[01-02]' --distgpu=pytorch ./show
    assert_ranks 4
    row 'another plugin sets `RANK` before distgpu' 'nothing: distgpu overrides it'
}

@test "another plugin sets the same variables afterwards" {
    rivals after
    launch 10 env FAULTS_RIVAL=1 srun -N2 -n4 -w 'node[01-02]' --distgpu=pytorch ./show
    [ "$status" -eq 0 ]
    [ "$(sort -u <<<"$output")" = '99/4 192.0.2.1' ]
    row 'another plugin sets `RANK` after distgpu' "the other's values: put distgpu's line last"
}
