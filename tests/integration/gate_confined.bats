#!/usr/bin/env bats
# The programs that check and watch start, where control groups confine a step: they are a task's
# own by what they may use, and none outlives the step.

load cluster

setup_file() {
    cluster_up --nodes 1 --gpus 4 --conf TaskPlugin=task/cgroup \
        --cgroup ConstrainCores=yes --cgroup ConstrainDevices=yes
    cat >"$SCRATCH/self" <<'END'
grep -E '^(Uid|Gid|Groups|CapEff|Cpus_allowed_list)' /proc/self/status
cat /proc/self/cgroup
for device in /dev/nvidia[0-9]*; do
    { : <"$device"; } 2>&1 | sed 's/.*: //'
done
END
    # Notes what it is. It comes late where a test says so.
    cat >"$SCRATCH/noted" <<END
#!/bin/bash
bash $SCRATCH/self >$SCRATCH/\$1.\$BASHPID.is
[[ ! -e $SCRATCH/late ]] || exec sleep 60
exec $SCRATCH/distgpu "\$@"
END
    chmod 755 "$SCRATCH/noted"
    on node01 sed -i "s|command=.*|command=$SCRATCH/noted|" /etc/slurm/plugstack.conf
}

setup() { assert_cluster_clean; }

teardown() {
    rm -f "$SCRATCH"/{late,*.is}
    assert_cluster_clean
}

# bats test_tags=short
@test "check and watch have the control group, GPUs and CPUs of their task" {
    run -0 submit srun -n2 --gres=gpu:2 --distgpu=pytorch,check=warn,watch=30 bash -c '
        bash "$1/self" >"$1/task.$SLURM_PROCID.is"; sleep 1' - "$SCRATCH"
    grep -c 'Operation not permitted' "$SCRATCH/task.0.is" | grep -qx 2
    diff "$SCRATCH/task.0.is" "$SCRATCH"/why.*.is
    diff <(sort "$SCRATCH"/task.*.is) <(sort "$SCRATCH"/check.*.is)
}

none_is_left() {
    until_so 5 eval '! on node01 pgrep -af "$SCRATCH/(noted|distgpu)|^sleep 60"'
    run -1 on node01 pgrep -ax distgpu
}

@test "a step that is cancelled in its check leaves nothing, nor does one that is killed" {
    local way
    for way in scancel kill; do
        rm -f "$SCRATCH"/*.is
        touch "$SCRATCH/late"
        submit srun -n2 --distgpu=pytorch,check,watch=30 true >"$SCRATCH/said" 2>&1 3>&- &
        # Not while the step is still being started, where Slurm 24.11 may wait a minute with its SIGKILL.
        until compgen -G "$SCRATCH/check.*.is" >/dev/null && on node01 pgrep -f '^sleep 60' >/dev/null; do sleep 0.1; done
        if [[ $way == scancel ]]; then
            submit scancel --user="$(submit id -un)"
        else
            on node01 pkill -KILL -f '^slurmstepd: \[[0-9]+\.0\]'
            submit scancel --user="$(submit id -un)"
        fi
        wait $! || true
        none_is_left
    done
}

@test "the watch ends with its step, whose end it does not hold up" {
    SECONDS=0
    run -0 submit srun -n2 --distgpu=pytorch,watch=30 true
    ((SECONDS < 10))
    none_is_left
    run ! submit srun -n2 --time=0:10 --distgpu=pytorch,watch=30 bash -c 'kill -9 $$'
    none_is_left
}
