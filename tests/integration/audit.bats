#!/usr/bin/env bats
# What slurmstepd does with root's rights and on the network for a step that uses distgpu,
# by strace, beside the same step without the plugin.

load cluster

# The plugin's folder is root's alone, as the one where it is installed.
setup_file() {
    cluster_up --nodes 2
    AUDIT=$(mktemp -d /run/distgpu-audit.XXXXXX)
    export AUDIT
    chmod 755 "$AUDIT"
    cp "$SCRATCH"/{"$(basename "$plugin" .so)"{,_step}.so,distgpu} "$AUDIT"
    cc -std=gnu11 -Wall -Wextra -Werror -shared -fPIC -o "$AUDIT/careless.so" \
        "$BATS_TEST_DIRNAME/audit/careless_plugin.c"
    USER_ID=$(submit id -u)
    export USER_ID
}
teardown_file() {
    rm -rf "$AUDIT"
    cluster_down
}

load_plugin() { # LINE OF plugstack.conf
    on_all sh -c 'printf "%s\n" "$1" >/etc/slurm/plugstack.conf' sh "$1"
}

# Runs a step on both nodes; what slurmd and its children called is then in $AUDIT/NODE.
traced() { # SRUN_ARGUMENT...
    for node in node01 node02; do
        on "$node" strace --follow-forks --decode-fds=all --output="$AUDIT/$node.trace" \
            --trace='/^(open(at)?|creat|execve|connect|bind|send(to|m?msg)|setres?uid|setreuid|v?fork|clone3?)$' \
            --attach="$(slurmd_of "$node")" 2>"$AUDIT/$node.strace" 3>&- &
        until grep -qs attached "$AUDIT/$node.strace"; do sleep 0.1; done
    done
    run submit srun -N2 -n2 "$@"
    # Then slurmstepd has ended as well.
    assert_cluster_clean
    for node in node01 node02; do
        tracer=$(on "$node" sed -n 's/^TracerPid:\t//p' "/proc/$(slurmd_of "$node")/status")
        on "$node" kill "$tracer"
    done
    wait
    for node in node01 node02; do
        "$BATS_TEST_DIRNAME/audit/calls.py" <"$AUDIT/$node.trace" >"$AUDIT/$node"
        rm "$AUDIT/$node.strace"
    done
    echo "$output"
    [ "$status" -eq 0 ]
}

slurmd_of() { cat "/run/distgpu-sandbox/$CLUSTER/$1/slurmd.pid"; }

# What slurmstepd, or a program that it started, opened as root on NODE below a folder in which
# the user can make files. A file of /proc/self/fd is open already: libudev 257 opens it again.
opened_unsafely() { # NODE
    awk -F '\t' '$1 == 0 && $2 != "slurmd" && $3 ~ /^(open|creat|execve)/ { print $4 }' "$AUDIT/$1" |
        grep -v '^/proc/self/fd/[0-9]*$' | sort -u | on "$1" setpriv --reuid "$USER_ID" --clear-groups bash -c '
            while read -r path; do
                folder=$path
                while [[ $folder == */* ]]; do
                    folder=${folder%/*}
                    [[ -w ${folder:-/} ]] && echo "$path" && break
                done
            done
            true'
}

# Whom slurmstepd addressed on NODE, and how often it asked slurmctld; not the kernel, nor tasks.
# Sends over connections are left out, because Slurm 24.11 writes there by another call than the
# plugin. srun's ports and the step's number differ between any two steps.
addressed() { # NODE
    awk -F '\t' '$2 == "slurmstepd" && $3 ~ /^(connect|send)/ { print $3, $4 }' "$AUDIT/$1" |
        grep -v -e NETLINK -e '^send.*->' | sed -E 's/:[0-9]{5}\b/:N/; s/_[0-9.]+$/_N/' | sort | uniq -c |
        sed -E '/connect .*:6817$/! s/^ *[0-9]+//'
}

# The ports that slurmstepd bound on NODE, and as whom. A bind without a port asks whether the node has
# the address.
bound() { # NODE
    awk -F '\t' '$2 == "slurmstepd" && $3 == "bind" && $4 ~ /^\[.*\]:[1-9]/ { print $1, $4 }' "$AUDIT/$1"
}

@test "as root, slurmstepd opens nothing where the user can make files" {
    skip_if_sanitized "write reports"
    load_plugin "required $AUDIT/${plugin##*/} command=$AUDIT/distgpu"
    traced --distgpu=pytorch true
    for node in node01 node02; do
        # The trace is whole: the plugin was loaded as root, and its command run as the user.
        grep -q "^0	slurmstepd	openat	$AUDIT/${plugin##*/}$" "$AUDIT/$node"
        grep -q "^$USER_ID	slurmstepd	execve	$AUDIT/distgpu$" "$AUDIT/$node"
        run -0 opened_unsafely "$node"
        [ "$output" = "" ]
    done
}

@test "slurmstepd addresses whom it does without the plugin, slurmctld as often" {
    load_plugin ""
    traced true
    for node in node01 node02; do addressed "$node" >"$AUDIT/$node.without"; done
    # slurmctld hears of the step's end.
    grep -q ' connect .*:6817$' "$AUDIT/node01.without"
    load_plugin "required $AUDIT/${plugin##*/} command=$AUDIT/distgpu"
    traced --distgpu=pytorch true
    for node in node01 node02; do
        diff "$AUDIT/$node.without" <(addressed "$node")
    done
}

# bats test_tags=short
@test "rank 0's node binds MASTER_PORT, as the user; no other port is bound" {
    load_plugin "required $AUDIT/${plugin##*/} command=$AUDIT/distgpu"
    traced --distgpu=pytorch printenv MASTER_PORT
    [ "$(bound node01)" = "$USER_ID [::]:${lines[0]}" ]
    [ "$(bound node02)" = "" ]
}

@test "a plugin that does otherwise is found out" {
    skip_if_sanitized "write reports"
    load_plugin "required $AUDIT/careless.so"
    traced --export="ALL,CARELESS_FILE=$SCRATCH/named" true
    [ "$(opened_unsafely node02)" = "$SCRATCH/named" ]
    addressed node02 | grep -qx ' connect \[127.0.0.1\]:9'
    [ "$(bound node02)" = "0 [127.0.0.1]:20000" ]
}
