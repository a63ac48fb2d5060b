#!/usr/bin/env bats
# Which step `distgpu why` and `distgpu explain` mean by the name of a job or step, and what they say
# of a job that does not run. Without Slurm's accounting, as the cluster has none; what sacct lists
# is in tests/unit/slurm/job_state_test.cpp.

load cluster

setup_file() {
    cluster_up --conf LaunchParameters=use_interactive_step
    cp "$root/tests/integration/why/ranks.py" "$SCRATCH"
}

setup() {
    assert_cluster_clean
    rank=(/usr/bin/python3 ranks.py wait)
    plain='exec /usr/bin/python3 ranks.py wait'
}

teardown() { finish_step; }

why() { # [-STATUS] ARGUMENT...
    local expected=()
    [[ $1 != -[0-9]* ]] || { expected=("$1") && shift; }
    run "${expected[@]}" submit ./distgpu why "$@" --repeat 1
    echo "$output"
}

explain() { # [-STATUS] ARGUMENT...
    local expected=()
    [[ $1 != -[0-9]* ]] || { expected=("$1") && shift; }
    run "${expected[@]}" submit ./distgpu explain "$@"
    echo "$output"
}

script() { # NAME LINE...
    printf '%s\n' '#!/bin/bash' "${@:2}" >"$SCRATCH/$1"
}

# Submits a script as $job, which writes to the log that ranks_wait reads, and which the user owns.
begin_batch() { # SBATCH_ARGUMENT...
    rm -f "$SCRATCH/log"
    job=$(submit sbatch --parsable --output=log --open-mode=append "$@")
}

state() { submit scontrol --oneliner show job "$1" | grep -o 'JobState=[A-Z]*'; }

is_in_state() { [[ $(state "$1") == *"JobState=$2"* ]]; } # JOB STATE

# bats test_tags=short
@test "without a name it is the user's only job, or the job around it" {
    begin_step 2 -N2 -n2 "${rank[@]}"
    why -0
    [[ ${lines[0]} == "step $job.0: 2 ranks on 2 nodes, sampled for "* ]]
    explain -0
    [[ ${lines[0]} == "step $job.0: 2 ranks on 2 nodes, which distgpu did not prepare" ]]
    finish_step
    script around.sh "srun -n2 --overcommit ${rank[*]} &" 'sleep 3' './distgpu why --repeat 1' 'scancel -s KILL "$SLURM_JOB_ID.0"'
    script other.sh 'sleep 60'
    submit sbatch --parsable --output=other.log other.sh
    other=$(submit squeue --noheader --format=%i)
    job=$(submit sbatch --parsable --output=batch.log around.sh)
    until_so 30 grep -q '^step' "$SCRATCH/batch.log"
    grep -q "^step $job.0: 2 ranks on 1 node" "$SCRATCH/batch.log"
    submit scancel "$other"
}

@test "of several jobs it lists which there are" {
    script sleep.sh 'sleep 60'
    why -3
    [ "$output" = 'distgpu: your jobs: none is running or pending; name one that has ended' ]
    for _ in 1 2; do job=$(submit sbatch --parsable --output=/dev/null sleep.sh); done
    until_so 20 is_in_state "$job" RUNNING
    until_so 20 is_in_state "$((job - 1))" RUNNING
    why -3
    [[ $output == 'distgpu: your jobs: there are 2; name one of them: '* ]]
    [[ $output == *"$((job - 1)) (sleep.sh)"* && $output == *"$job (sleep.sh)"* ]]
}

@test "all components of a heterogeneous job are one step, and each can be named" {
    script het.sh '#SBATCH -N1 -n1' '#SBATCH hetjob' '#SBATCH -N1 -n3 --overcommit' \
        "exec srun --het-group=0,1 --overcommit --unbuffered ${rank[*]}"
    begin_batch het.sh
    ranks_wait 4
    for name in "$job" "$job.0"; do
        why -0 "$name"
        [[ ${lines[0]} == "step $job.0: 4 ranks on 2 nodes, sampled for "* ]]
        [[ $output == *'all 4 ranks'* || $output == *'4 ranks'* ]]
    done
    why -0 "$job" --format json
    [ "$(jq -c '[.ranks, .missing, ([.groups[].ranks[]] | sort), .silent]' <<<"$output")" = '[4,[],[0,1,2,3],[]]' ]
    for name in "$job+1" "$job.0+1" "$job+1.0" "$((job + 1))" "$((job + 1)).0"; do
        why -0 "$name"
        [[ ${lines[0]} == "step $job+1.0: 3 ranks on 1 node, sampled for "* ]]
    done
    explain -0 "$job+1" --format json
    [ "$(jq -c '[.ranks[].facts.rank]' <<<"$output")" = '[1,2,3]' ]
    why -3 "$job+2"
    [ "$output" = "distgpu: $job+2: job $job has no component 2; squeue --jobs=$job lists them" ]
}

@test "all components of a heterogeneous step inside a job are one step" {
    submit salloc --quiet -N2 --overcommit srun --unbuffered -N1 -n1 "${rank[@]}" : \
        -N1 -n3 --overcommit "${rank[@]}" >"$SCRATCH/log" 2>&1 3>&- &
    step=$!
    ranks_wait 4
    job=$(submit squeue --noheader --format=%i)
    why -0 "$job" --format json
    [ "$(jq -c '[.step, .ranks, .missing, ([.groups[].ranks[]] | sort)]' <<<"$output")" = "[\"$job.0\",4,[],[0,1,2,3]]" ]
    why -0 "$job.0+1"
    [[ ${lines[0]} == "step $job.0+1: 3 ranks on 1 node, sampled for "* ]]
}

@test "an element of an array by its index, its number, or as the only one that runs" {
    script array.sh "exec srun --unbuffered -n1 ${rank[*]}"
    begin_batch --array=3-4 array.sh
    ranks_wait 2
    number=$(submit squeue --noheader --format='%i %A' | sed -n "s/^ *${job}_3 //p")
    for name in "${job}_3" "${job}_3.0" "$number" "$number.0"; do
        # The last element has the array's own number.
        [ "${name%.0}" != "$job" ] || continue
        explain -0 "$name"
        [[ ${lines[0]} == "step ${job}_3.0: 1 rank on 1 node"* ]]
    done
    why -3 "$job"
    [[ $output == "distgpu: $job: an array, and 2 of its jobs run; name one of them: "* ]]
    [[ $output == *"${job}_3 (array.sh)"* && $output == *"${job}_4 (array.sh)"* ]]
    submit scancel "${job}_3"
    until_so 20 is_in_state "${job}_3" CANCELLED
    explain -0 "$job"
    [[ ${lines[0]} == "step ${job}_4.0: 1 rank on 1 node"* ]]
}

@test "of several steps the one that runs a program, else the batch script or salloc's shell" {
    script steps.sh 'srun --overlap -n1 --unbuffered bash -c "'"$plain"' & wait" &' \
        "srun --overlap -n2 --overcommit --unbuffered ${rank[*]} &" wait
    begin_batch -n1 steps.sh
    ranks_wait 3
    why -0 "$job"
    [[ ${lines[0]} =~ ^"step $job."[01]": 2 ranks" ]]
    finish_step
    script steps.sh "srun --overlap -n1 --unbuffered --job-name=train ${rank[*]} &" \
        "srun --overlap -n1 --unbuffered --job-name=eval ${rank[*]} &" wait
    begin_batch -n1 steps.sh
    ranks_wait 2
    why -3 "$job"
    [[ $output =~ ^"distgpu: $job: it has 2 running steps; name one of them: $job.0 ("(train|eval)"), $job.1 ("(train|eval)')'$ ]]
    finish_step
    script alone.sh "$plain"
    begin_batch alone.sh
    ranks_wait 1
    explain -0 "$job"
    [[ ${lines[0]} == "step $job.batch: 1 rank on 1 node"* ]]
    why -3 "$job.7"
    [ "$output" = "distgpu: $job.7: no such step is running; squeue --steps --jobs=$job lists those that are" ]
    finish_step
    submit script -qec "salloc --quiet -N1" /dev/null < <(echo "$plain"; sleep 60) >"$SCRATCH/log" 2>&1 3>&- &
    step=$!
    ranks_wait 1
    job=$(submit squeue --noheader --format=%i)
    explain -0 "$job"
    [[ ${lines[0]} == "step $job.interactive: 1 rank on 1 node"* ]]
    finish_step
    submit script -qec "srun --pty -n1 ${rank[*]}" /dev/null </dev/null >"$SCRATCH/log" 2>&1 3>&- &
    # shellcheck disable=SC2034 # finish_step waits for it
    step=$!
    ranks_wait 1
    job=$(submit squeue --noheader --format=%i)
    explain -0 "$job"
    [[ ${lines[0]} == "step $job.0: 1 rank on 1 node"* ]]
}

@test "a suspended job is reported at once, and a pending one with the reason" {
    begin_step 1 -n1 "${rank[@]}"
    on login scontrol suspend "$job"
    since=$(submit scontrol --oneliner show job "$job" | sed -n 's/.* SuspendTime=\([^ ]*\) .*/\1/p')
    for name in "$job" "$job.0"; do
        why -0 "$name"
        [ "$output" = "job $job is suspended since $since; its processes cannot move until \`scontrol resume $job\`" ]
    done
    explain -0 "$job" --format json
    [ "$(jq -c '[.state, .step, .job, .user, .ranks, (.notes | length)]' <<<"$output")" = \
        "[\"suspended\",null,\"$job\",\"$(submit id -un)\",[],1]" ]
    on login scontrol resume "$job"
    finish_step
    script later.sh 'sleep 1'
    begin_batch --begin=now+1hour later.sh
    why -0 "$job"
    [ "$output" = "job $job has not started: it is pending (BeginTime)" ]
    why -0 "$job" --html page.html
    grep -q "<p class=\"finding\">job $job has not started: it is pending (BeginTime)</p>" "$SCRATCH/page.html"
}

@test "of a job that has ended it says how, as long as slurmctld knows it" {
    script fail.sh 'exit 7'
    begin_batch fail.sh
    until_so 20 is_in_state "$job" FAILED
    why -0 "$job"
    [[ $output =~ ^"job $job failed with exit status 7, at "[-0-9T:]+' after 00:00:0'[0-9]$ ]]
    why -0 "$job" --format json
    [ "$(jq -c '[.schema, .state, .step, .kind, .ranks, .missing, (.findings | length)]' <<<"$output")" = \
        '["distgpu.why/1","failed",null,"unknown",0,[],1]' ]
    explain -0 "$job"
    [[ $output == "job $job failed with exit status 7, at "* ]]
    run submit srun -n1 sh -c 'kill -9 $$'
    why -0 "$((job + 1))"
    [[ $output == "job $((job + 1)) was killed by signal 9, at "* ]]
    script sleep.sh 'sleep 60'
    begin_batch sleep.sh
    until_so 20 is_in_state "$job" RUNNING
    submit scancel "$job"
    until_so 20 is_in_state "$job" CANCELLED
    why -0 "$job"
    [[ $output == "job $job was cancelled (signal 15), at "* ]]
    why -3 99999
    [ "$output" = 'distgpu: 99999: no job 99999 is known to Slurm; squeue --me lists yours' ]
}

@test "JSON and page say of which job, user and cluster, and when" {
    begin_step 1 -n1 "${rank[@]}"
    user=$(submit id -un)
    for subcommand in why explain; do
        "$subcommand" -0 "$job" --format json
        [ "$(jq -c '[.cluster, .user, .job, .state, .step]' <<<"$output")" = \
            "[\"sandbox\",\"$user\",\"$job\",\"running\",\"$job.0\"]" ]
        (($(date +%s) - $(date +%s -d "$(jq -r .date <<<"$output")") < 60))
    done
    why -0 "$job" --html page.html
    grep -qE "<p class=\"faint\">job $job of $user on cluster sandbox, [-0-9T:]+Z</p>" "$SCRATCH/page.html"
}

@test "asks slurmctld twice" {
    begin_step 1 -n1 "${rank[@]}"
    mkdir -p "$SCRATCH/bin"
    for name in scontrol squeue sacct; do
        printf '#!/bin/sh\necho "%s $*" >>%s/asked\nexec %s "$@"\n' "$name" "$SCRATCH" "$(command -v "$name")" >"$SCRATCH/bin/$name"
        chmod 755 "$SCRATCH/bin/$name"
    done
    : >"$SCRATCH/asked" && chmod 666 "$SCRATCH/asked"
    submit env PATH="$SCRATCH/bin:$PATH" ./distgpu explain "$job"
    [ "$(grep -v listpids "$SCRATCH/asked")" = "scontrol --oneliner show job $job
scontrol --oneliner show step $job" ]
}
