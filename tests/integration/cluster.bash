# A sandbox cluster of its own for each bats file, with the plugin loaded.
# shellcheck shell=bash
#
# A file's setup_file calls cluster_up; tests say
# `run submit srun ...`. The plugin is $DISTGPU_PLUGIN, the command by which nodes
# discover their topology $DISTGPU_COMMAND, else the dev preset's. Where DISTGPU_SANITIZED names a
# build with sanitizers, slurmstepd has its plugin: ./sanitized.
bats_require_minimum_version 1.5.0

root=$(readlink -f "${BASH_SOURCE[0]%/*}/../..")
sandbox=$root/tools/sandbox/sandbox
plugin=${DISTGPU_PLUGIN:-$root/build/dev/spank_plugin/spank_distgpu.so}
command=${DISTGPU_COMMAND:-$root/build/dev/tools/distgpu/distgpu}
task_parent=$(compgen -G "${command%/*}/distgpu-task") ||
    task_parent=${command%/*}/../libexec/distgpu/distgpu-task
# shellcheck disable=SC2034 # bats files read it
machines=${DISTGPU_MACHINES:-$root/build/dev/tests/topologies} # made-up ones, as hwloc XML
plugin_arguments=() # of the plugin's line in plugstack.conf, besides the command
saving=(save=off)   # no file of a node's topology appears but those that a test writes
plugins_before=()   # arguments of `sandbox up` for the plugins before it
cluster_name=test$$ # a file that raises several gives each its own

# Raises the file's cluster of 4 nodes; further arguments go to `sandbox up`.
cluster_up() {
    ((EUID == 0)) || {
        echo "cluster: user $(id -un): the tests need root; run them with sudo" >&2
        return 1
    }
    export CLUSTER=$cluster_name
    # Open to the user whose jobs run there, which bats's own folders are not.
    export SCRATCH=/tmp/distgpu-$CLUSTER
    mkdir -m 1777 "$SCRATCH"
    # Copies: the user may be unable to enter the checkout, and srun loads the plugin too.
    install -m 644 "${plugin%.so}"*.so "$SCRATCH"
    install -m 755 "$command" "$SCRATCH/distgpu"
    # As installed: bin/distgpu, and in libexec/distgpu what the plugin starts.
    mkdir -p "$SCRATCH/bin" "$SCRATCH/libexec/distgpu"
    ln -s ../distgpu "$SCRATCH/bin"
    install -m 755 -t "$SCRATCH/libexec/distgpu" "$task_parent" "${task_parent%-task}-sampler"
    local line=("$SCRATCH/${plugin##*/}" "command=$SCRATCH/bin/distgpu" "${saving[@]}"
        "${plugin_arguments[@]}")
    "$sandbox" up --name "$CLUSTER" "${plugins_before[@]}" --plugin "${line[*]}" "$@"
    [[ ! ${DISTGPU_SANITIZED-} ]] || sanitize_nodes
}

# srun keeps its plugin: what is preloaded there, the user's tasks would inherit.
sanitize_nodes() {
    local node sanitized=$SCRATCH/sanitized
    mkdir "$sanitized"
    find "$DISTGPU_SANITIZED" -name "$(basename "$plugin" .so)*.so" -exec install -m 644 -t "$sanitized" {} +
    for node in "/run/distgpu-sandbox/$CLUSTER"/node*/; do
        node=$(basename "$node")
        on "$node" sed -i "s|$SCRATCH/${plugin##*/}|$sanitized/${plugin##*/}|" /etc/slurm/plugstack.conf
        "$sandbox" node --name "$CLUSTER" stop "$node"
        on "$node" env LD_PRELOAD="$DISTGPU_PRELOADED" slurmd 3>&-
    done
    assert_cluster_clean
}

# For a test of what the sanitizers change: memory, files that slurmstepd opens.
skip_if_sanitized() { # WHY
    [[ ! ${DISTGPU_SANITIZED-} ]] || skip "the sanitizers $1"
}

cluster_down() {
    [[ ${CLUSTER-} ]] || return 0
    "$sandbox" down --name "$CLUSTER"
    rm -rf "$SCRATCH"
    # The last of those that run side by side: what others have mounted there goes with the folder.
    compgen -G '/run/distgpu-sandbox/*' >/dev/null || rmdir /run/distgpu 2>/dev/null || true
}

# A file may have others; its teardown_file then calls cluster_down.
teardown_file() { cluster_down; }
teardown() { [[ ! ${CLUSTER-} ]] || assert_cluster_clean; }

# Runs a command on the submit host as an ordinary user, in $SCRATCH.
submit() {
    (cd "$SCRATCH" && exec "$sandbox" run --name "$CLUSTER" -- "$@")
}

# Submits a batch script and waits for it; then as after `run`, with the job's output and
# a status that is not 0 unless it completed. Debian's `sbatch --wait` would look at the
# job every ten seconds only.
batch() { # SBATCH_ARGUMENT...
    local job
    job=$(submit sbatch --parsable --output=batch.log --time=4 "$@")
    while [[ $(submit squeue --noheader) ]]; do sleep 0.2; done
    run cat "$SCRATCH/batch.log"
    # shellcheck disable=SC2034 # as run does
    [[ $(submit scontrol --oneliner show job "$job") == *" JobState=COMPLETED "* ]] || status=1
}

# Puts distgpu-convert, from this checkout, into a folder of PATH.
convert_program() { # FOLDER
    local python
    python=$("$root/tests/frameworks/environment" convert 3>&-) || return
    cp -r "$root/tools/convert" "$SCRATCH/convert"
    printf '#!/bin/sh\nPYTHONPATH=%q exec %q -B -m distgpu_convert "$@"\n' "$SCRATCH/convert" \
        "$python" >"$1/distgpu-convert"
    chmod +x "$1/distgpu-convert"
    chmod -R go+rX "$SCRATCH/convert"
}

# Runs a command as root on one host: on node01 COMMAND...
on() {
    "$sandbox" on --name "$CLUSTER" "$1" -- "${@:2}"
}

# The same on every node, and on the host of srun before.
on_nodes() {
    local node
    for node in "/run/distgpu-sandbox/$CLUSTER"/node*/; do on "$(basename "$node")" "$@"; done
}
on_all() { on login "$@" && on_nodes "$@"; }

# The null device stands in for the driver that no machine here has: it can be opened.
null_gpus() { # COUNT, on every node
    on_nodes bash -c 'for ((i = 0; i < $1; ++i)); do
        rm /dev/nvidia$i && mknod -m 666 /dev/nvidia$i c 1 3; done' null "$1"
}

# Takes the plugin from the host of srun, and gives it back.
without_plugin_on_login() {
    on login sh -c 'mv /etc/slurm/plugstack.conf /etc/slurm/plugstack.conf.away; : >/etc/slurm/plugstack.conf'
}

with_plugin_on_login() {
    on login mv /etc/slurm/plugstack.conf.away /etc/slurm/plugstack.conf
}

# Whether Slurm is of this release, as in 26.05, or newer.
has_release() { # RELEASE
    local version
    version=$(submit srun --version)
    printf '%s\n' "$1" "${version##* }" | sort --check=quiet --version-sort
}

# An MPI type that starts ranks: Debian's Slurm 26.05 comes without PMIx.
mpi_type() {
    [[ $(submit srun --mpi=list 2>&1) == *pmix* ]] && echo pmix || echo pmi2
}

# Waits until a command succeeds, for so many seconds at most.
until_so() { # SECONDS COMMAND...
    local try
    for ((try = 0; try < 20 * $1; try++)); do
        ! "${@:2}" || return 0
        sleep 0.05
    done
    echo "not within $1 s: ${*:2}" >&2
    return 1
}

# Waits until so many ranks of the step that writes to $SCRATCH/log have said that they wait.
ranks_wait() { # COUNT
    until_so 30 eval '(($(grep -os waits "$SCRATCH/log" | wc -l) >= '"$1"'))' || { cat "$SCRATCH/log" && return 1; }
}

# Fails with the output unless every node is idle again and no job is left.
assert_cluster_clean() {
    local state
    for _ in {1..100}; do
        state=$(submit bash -c 'squeue --noheader; sinfo --noheader --format=%T')
        [ "$state" != idle ] || return 0
        sleep 0.1
    done
    echo "cluster is not idle: $state" >&2
    return 1
}

# A step in the background as $step, until so many of its ranks wait; $job is its job.
begin_step() { # COUNT SRUN_ARGUMENT...
    submit srun --unbuffered "${@:2}" >"$SCRATCH/log" 2>&1 3>&- &
    step=$!
    ranks_wait "$1"
    job=$(submit squeue --noheader --format=%i)
}

# Ends the step that the test has in the background as $step, if any, and empties its log, from which
# ranks_wait would take the next step's ranks for waiting.
finish_step() {
    submit scancel --quiet --user "$(submit id -un)" || true
    [[ ! ${step-} ]] || wait "$step" || true
    : >"$SCRATCH/log"
    assert_cluster_clean
}

# The output of the last `run`, without what Slurm itself says.
distgpu_lines() {
    grep -o 'distgpu: .*' <<<"$output"
}

# What refusals.txt has under a name; of a name that it lacks, a line that nothing else says.
said() { # NAME
    sed -n "s/^$1: //p" "$root/tests/integration/refusals.txt" | grep . || echo "refusals.txt has no $1"
}

# What srun says when a job or a step had to wait, as may be where the one before has just ended.
waited='^srun: (job [0-9]+ (queued|has been allocated)|Job [0-9]+ step creation|Step created for)'

# The output of the last `run`, without distgpu's own lines and those of a job or step that waited.
distgpu_free_lines() {
    grep -vE -e 'distgpu: ' -e "$waited" <<<"$output"
}

# Takes a port of a host until stop_listening.
listen() { # HOST PORT [ADDRESS]
    # Not by `on`: the process in the background would be a shell around it.
    "$sandbox" on --name "$CLUSTER" "$1" -- python3 -c "import socket, time
s = socket.create_server(('${3-}', $2))
open('$SCRATCH/listening', 'w')
time.sleep(100)" 3>&- &
    listener=$!
    until [ -e "$SCRATCH/listening" ]; do
        kill -0 "$listener" || return
        sleep 0.1
    done
}

stop_listening() {
    rm "$SCRATCH/listening"
    kill "$listener"
    wait "$listener" || true
}

# Gives a node a /run/distgpu of its own, where the others share the machine's.
own_runtime_folder() { # NODE
    mkdir -p /run/distgpu
    on "$1" mount -t tmpfs -o mode=755 tmpfs /run/distgpu
}
