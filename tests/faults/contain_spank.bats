#!/usr/bin/env bats
# Jobs with mounts of their own (job_container/tmpfs) and contain_spank, with which Slurm calls
# plugins inside: user_init and the tasks' callbacks each in a process of its own.
# shellcheck disable=SC2034 # faults.bash reads what the tests set

load faults

setup_file() {
    # All on one CPU: where there are several, Linux 6.18 often refuses what job_container/tmpfs needs,
    # to bind a new mount namespace to a file (EINVAL). It seems to number namespaces by CPU.
    taskset --pid --cpu-list "$(taskset --pid --cpu-list "$BASHPID" | grep -oE '[0-9]+' | tail -n 1)" "$BASHPID"
    faults_up --conf PrologFlags=contain
    has_release 24.05 || return 0 # the tests are skipped
    local host
    for host in login $(nodes); do
        on "$host" sh -c 'cd /etc/slurm
            sed -i "s/^SlurmdParameters=.*/&,contain_spank/" slurm.conf
            echo JobContainerType=job_container/tmpfs >>slurm.conf
            printf "AutoBasePath=true\nBasePath=%s Dirs=/var/tmp\n" "$0" >job_container.conf
            echo "required $1/spank_faults.so" >>plugstack.conf' \
            "$(state)/$host/containers" "$SCRATCH"
    done
    for host in $(nodes); do
        "$sandbox" node --name "$CLUSTER" stop "$host"
        "$sandbox" node --name "$CLUSTER" start "$host"
    done
}

namespaces() { # of the calls for tasks on node01
    sed -n 's/.*faults: called in //p' "$(state)/log/slurmd-node01.log" | tail -n 2 | sort -u
}

@test "callbacks inside the job's mounts" {
    has_release 24.05 || skip 'contain_spank needs Slurm 24.05'
    launch 10 srun -N2 -n4 -w 'node[01-02]' --distgpu=pytorch \
        sh -c './show; [ "$SLURM_NODEID" = 1 ] || readlink /proc/self/ns/mnt'
    local inside
    inside=$(grep ^mnt: <<<"$output" | sort -u)
    [[ $inside != "$(on node01 readlink /proc/self/ns/mnt)" && $inside == "$(namespaces)" ]]
    assert_ranks 4
    row '`contain_spank`' 'nothing'
}

# What user_init claims there ends with its process, and a task claims it again.
@test "a port belongs to one step there too" {
    has_release 24.05 || skip 'contain_spank needs Slurm 24.05'
    run submit salloc --quiet -N1 -n2 -w node01 sh -c '
        srun --overlap -n1 --distgpu=pytorch,port=29610 sh -c "touch first; sleep 60" &
        until [ -e first ]; do sleep 0.1; done
        srun --overlap -n1 --kill-on-bad-exit=0 --distgpu=pytorch,port=29610 true
        echo "ended $?"
        scancel "$SLURM_JOB_ID.0"
        wait'
    rm -f "$SCRATCH/first"
    [[ $output == *"distgpu: port 29610 (from port=29610) on node01: in use by step "*".0; "* ]]
    [[ $output != *'ended 0'* ]]
}
