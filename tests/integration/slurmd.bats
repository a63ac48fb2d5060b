#!/usr/bin/env bats
# Without a unit of systemd, slurmd itself has the node's topology saved when it starts; and is as it
# would be without the plugin.

load cluster
load jail/jail

setup_file() {
    # A command that writes down how it was started, and is distgpu.
    export NOTES=/tmp/distgpu-notes$$
    mkdir -m 1777 "$NOTES"
    mkdir -p "$NOTES/bin" "$NOTES/libexec/distgpu"
    install -m 755 "$task_parent" "$NOTES/libexec/distgpu"
    cat >"$NOTES/bin/noted" <<END
#!/bin/bash
umask 0
cd $NOTES
echo "\$*" >>"calls.\$(hostname)"
if [[ \$* == *--if-needed ]]; then
    grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status >"state.\$(hostname)"
    ls /proc/\$\$/fd >"files.\$(hostname)"
    ps -o ni= -p \$\$ >"nice.\$(hostname)"
    cat /proc/self/cgroup >"groups.\$(hostname)"
    env >"variables.\$(hostname)"
fi
[ ! -e slow ] || exec sleep 100
exec /tmp/distgpu-$cluster_name/distgpu "\$@"
END
    chmod 755 "$NOTES/bin/noted"
    # shellcheck disable=SC2034 # cluster_up uses them
    saving=() plugin_arguments=("command=$NOTES/bin/noted")
    cluster_up --nodes 2 --proctrack cgroup
}

teardown_file() {
    cluster_down
    rm -r "$NOTES"
}

file=/run/distgpu/topology.json

saved() { on "$1" test -s "$file"; }

calls() { cat "$NOTES/calls.$1" 2>/dev/null || true; }

restart() { # NODE
    rm -f "$NOTES"/calls.*
    "$sandbox" node --name "$CLUSTER" stop "$1"
    "$sandbox" node --name "$CLUSTER" start "$1"
}

step() { submit srun -N2 --ntasks-per-node=1 --distgpu=pytorch true; }

# What a process has open, maps and runs, without what differs from start to start.
shape_of() { # NODE
    local pid
    read -r pid <"/run/distgpu-sandbox/$CLUSTER/$1/slurmd.pid"
    on "$1" bash -c 'ls /proc/$1/task | wc -l; ls -l /proc/$1/fd | sed -E "s/.*-> //; s/:\[.*//; s/$2/NODE/g" | sort
        awk "\$6 ~ /^\// { print \$6 }" /proc/$1/maps | sort -u' shape "$pid" "$1"
}

# bats test_tags=short
@test "slurmd has the topology saved once, as the unit would" {
    until_so 20 saved node01
    until_so 20 saved node02
    [ "$(calls node01)" = "topo --save $file --if-needed" ]
    grep -qx 'CapEff:[[:space:]]*0*' "$NOTES/state.node01"
    grep -qx 'CapBnd:[[:space:]]*0*' "$NOTES/state.node01"
    grep -qx 'NoNewPrivs:[[:space:]]*1' "$NOTES/state.node01"
    [ "$(tr -d ' ' <"$NOTES/nice.node01")" = 19 ]
    # bash's own script is 255.
    [ "$(grep -vx 255 "$NOTES/files.node01" | tr '\n' ' ')" = '0 1 2 ' ]
    run ! grep -E '^(SLURM|LD_)' "$NOTES/variables.node01"
    # No step discovers anything.
    rm "$NOTES"/calls.*
    step
    [ "$(calls node01)$(calls node02)" = '' ]
}

@test "a node that boots its slurmd again saves nothing again, until a driver is loaded" {
    restart node01
    until_so 20 eval '[[ $(calls node01) ]]'
    sleep 1
    [ "$(calls node01)" = "topo --save $file --if-needed" ]
    on node01 sh -c "jq '.machine.drivers = []' $file >$file.new && mv $file.new $file"
    rm "$NOTES"/calls.*
    step
    until_so 20 eval '[[ $(calls node01 | wc -l) == 2 ]]'
    until_so 20 on node01 jq -e '.machine.drivers != []' "$file"
    [ "$(calls node01)" = "topo --format json
topo --save $file --if-needed" ]
    rm "$NOTES"/calls.*
    step
    [ "$(calls node01)" = '' ]
}

@test "a device that is gone is no reason to save: distgpu check --node would no longer miss it" {
    on node01 sh -c "jq '.machine.pci += [\"zzzz:00:00.0\"]' $file >$file.new && mv $file.new $file"
    rm -f "$NOTES"/calls.*
    step
    until_so 20 eval '[[ $(calls node01 | wc -l) == 2 ]]'
    sleep 1
    on node01 jq -e '.machine.pci | index("zzzz:00:00.0")' "$file"
    on node01 rm "$file"
}

@test "a site that adds the line without a restart: the second step finds the file" {
    on node01 rm -f "$file"
    rm -f "$NOTES"/calls.*
    step
    until_so 20 saved node01
    [ "$(calls node01)" = "topo --format json
topo --save $file --if-needed" ]
    # Not in the step's control group, whose end would kill it.
    [ -s "$NOTES/groups.node01" ]
    run ! grep -E 'slurm|job_' "$NOTES/groups.node01"
    rm "$NOTES"/calls.*
    step
    [ "$(calls node01)" = '' ]
}

@test "slurmd is the same without the plugin, but for the plugin itself" {
    local with
    restart node01
    sleep 1
    with=$(shape_of node01)
    on node01 mv /etc/slurm/plugstack.conf /etc/slurm/plugstack.kept
    restart node01
    sleep 1
    run diff <(echo "$with") <(shape_of node01)
    on node01 mv /etc/slurm/plugstack.kept /etc/slurm/plugstack.conf
    restart node01
    echo "$output"
    [ "$(sed -n 's/^[<>] /&/p' <<<"$output")" = "$(printf '< %s\n' "$SCRATCH/$(basename "$plugin" .so)"{,_step}.so)" ]
}

@test "a command that hangs or is missing, a folder that cannot be written: slurmd starts, and steps run" {
    on node01 rm -f "$file"
    touch "$NOTES/slow"
    SECONDS=0
    restart node01
    ((SECONDS < 5))
    until_so 10 on node01 pkill -f '^sleep 100$'
    rm "$NOTES/slow"
    mv "$NOTES/bin/noted" "$NOTES/moved"
    restart node01
    mv "$NOTES/moved" "$NOTES/bin/noted"
    step
    until_so 20 saved node01
    on node01 rm -f "$file"
    on node01 mount -o remount,ro /run/distgpu
    restart node01
    step
    on node01 mount -o remount,rw /run/distgpu
}

@test "save=off, and a file of the administrator's own: nothing is started" {
    local argument
    for argument in save=off topology=/run/distgpu/own.json off; do
        on node01 rm -f "$file"
        on node01 sed -i "s|command=|$argument command=|" /etc/slurm/plugstack.conf
        restart node01
        sleep 1
        run calls node01
        on node01 sed -i "s|$argument ||" /etc/slurm/plugstack.conf
        [ "$output" = '' ]
    done
}

@test "in a jail, a step has the node's topology saved outside it" {
    restart node01
    until_so 20 saved node01
    on node01 rm -f "$file"
    rm -f "$NOTES"/calls.*
    make_jail /run/distgpu "$NOTES"
    run submit srun -N1 -w node01 -n2 --distgpu=pytorch sh -c 'echo "rank $RANK"'
    until_so 20 saved node01 || true
    on node01 test ! -e "$SCRATCH/jail/$file"
    remove_jail
    [ "$(grep -c '^rank [01]$' <<<"$output")" -eq 2 ]
    [ "$(calls node01)" = "topo --save $file --if-needed" ]
    saved node01
}
