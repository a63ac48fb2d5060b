# Writes a sandbox's files: name service, Slurm's configuration for each host.
# Needs: state, hosts, cpus, gpus, gres_lines, plugins, confs, cgroup_confs, switches,
# topology_plugin, proctrack. Sourced by ../sandbox.
# shellcheck shell=bash
# The files share variables: "Needs" above lists those that other files set.
# shellcheck disable=SC2034,SC2154

# login is 10.77.0.1, node01 is 10.77.1.1, node02 is 10.77.1.2, ...
address_of() { # HOST -> address
    address=10.77.0.1
    [[ $1 == login ]] || address=10.77.1.$((10#${1#node}))
}

write_config() {
    local host
    mkdir "$state"/{etc,log,munge,pmix}
    write_name_service
    (umask 077 && head -c 1024 /dev/urandom >"$state/munge/key")
    slurm_conf >"$state/etc/slurm.conf"
    for host in "${hosts[@]}"; do
        mkdir -p "$state/$host"/{mnt,slurm,spool}
        cp "$state/etc/slurm.conf" "$state/$host/slurm/"
        plugstack_conf >"$state/$host/slurm/plugstack.conf"
        printf 'PMIxCliTmpDirBase=%s\n' "$state/pmix" >"$state/$host/slurm/mpi.conf"
        gres_conf >"$state/$host/slurm/gres.conf"
        cgroup_conf >"$state/$host/slurm/cgroup.conf"
        [[ -z ${switches[*]} ]] || topology_conf >"$state/$host/slurm/topology.conf"
    done
    mkdir -m 700 "$state/login/controller"
}

# Names come only from the hosts file, so that no lookup waits for a server.
write_name_service() {
    local host
    {
        printf '127.0.0.1\tlocalhost\n'
        for host in "${hosts[@]}"; do
            address_of "$host"
            printf '%s\t%s\n' "$address" "$host"
        done
    } >"$state/etc/hosts"
    : >"$state/etc/resolv.conf"
    { sed '/^hosts:/d' /etc/nsswitch.conf 2>/dev/null; printf 'hosts: files\n'; } \
        >"$state/etc/nsswitch.conf"
}

plugstack_conf() {
    local plugin file
    for plugin in "${plugins[@]}"; do
        file=${plugin%% *}
        printf 'required %s%s\n' "$(realpath -s "$file")" "${plugin#"$file"}"
    done
}

gres_conf() {
    ((${#gres_lines[@]})) && printf '%s\n' AutoDetect=off "${gres_lines[@]}"
    return 0
}

# --gpus is a shorthand for a line of gres.conf. The types in Gres= have the order of the lines, by
# which Slurm numbers the GPUs.
read_gres() { # -> gres_lines, gpu_files, gres: the nodes' Gres= in slurm.conf
    local line type files
    declare -A counts=()
    local types=()
    gpu_files=()
    ((${#gres_lines[@]} || !gpus)) || gres_lines=("Name=gpu File=/dev/nvidia[0-$((gpus - 1))]")
    for line in "${gres_lines[@]}"; do
        type=gpu
        [[ $line =~ \ Type=([^ ]+) ]] && type=gpu:${BASH_REMATCH[1]}
        [[ $line =~ \ File=([^ ]+) ]] && files_of "${BASH_REMATCH[1]}"
        gpu_files+=("${files[@]}")
        [[ ${counts[$type]-} ]] || types+=("$type")
        ((counts[$type] += ${#files[@]}))
    done
    gres=$(for type in "${types[@]}"; do printf ',%s:%d' "$type" "${counts[$type]}"; done)
    gres=${gres#,}
}

files_of() { # /dev/nvidia[0,2-3] -> files
    local prefix=${1%%[*} list=${1#*[} part i
    files=("$1")
    [[ $1 == *[* ]] || return 0
    files=()
    for part in ${list//[],]/ }; do
        for ((i = ${part%-*}; i <= ${part#*-}; i++)); do files+=("$prefix$i"); done
    done
}

# The file may be empty: without one, Slurm 22.05 finds no control groups. Newer releases look for
# them even if nothing uses them, unless they are disabled by a key that 22.05 does not know.
cgroup_conf() {
    ((${#cgroup_confs[@]})) && printf '%s\n' "${cgroup_confs[@]}"
    uses_cgroups || [[ $(slurmd -V) == *' 22.05.'* ]] || printf 'CgroupPlugin=disabled\n'
}

uses_cgroups() {
    local line
    for line in "${confs[@]}"; do
        [[ ${line,,} == *=*/cgroup* ]] && return
    done
    [[ $proctrack != cgroup ]] || return 0
    ((${#cgroup_confs[@]}))
}

# Every Slurm command prints an error if a key is set twice, so a line of --conf
# replaces the line with its key, and the last of several counts.
slurm_conf() {
    local line key
    declare -A given=()
    for line in "${confs[@]}"; do
        key_of "$line"
        given[$key]=$line
    done
    printf '%s\n' "${given[@]}"
    default_conf | while read -r line; do
        key_of "$line"
        [[ ${given[$key]+x} ]] || printf '%s\n' "$line"
    done
}

# The key of lines for nodes and partitions includes their first value.
key_of() { # LINE -> key
    key=${1%%=*}
    key=${key,,}
    [[ $key =~ name$ && $key != clustername ]] && key=${1%% *} && key=${key,,}
    return 0
}

default_conf() {
    local host
    cat <<TEXT
ClusterName=sandbox
SlurmctldHost=login(10.77.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$state/munge/socket,cred_expire=10
StateSaveLocation=$state/login/controller
SlurmctldPidFile=$state/login/slurmctld.pid
SlurmctldLogFile=$state/log/slurmctld.log
SlurmdSpoolDir=$state/%n/spool
SlurmdPidFile=$state/%n/slurmd.pid
SlurmdLogFile=$state/log/slurmd-%n.log
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ProctrackType=proctrack/$proctrack
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
JobRequeue=1
MaxTasksPerNode=65533
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
KillWait=30
SlurmdTimeout=30
TCPTimeout=2
TEXT
    [[ -z ${switches[*]} ]] || printf 'TopologyPlugin=topology/%s\n' "$topology_plugin"
    [[ ! $gres ]] || printf 'GresTypes=gpu\n'
    for host in "${hosts[@]:1}"; do
        address_of "$host"
        printf 'NodeName=%s NodeAddr=%s Sockets=1 CoresPerSocket=%d ThreadsPerCore=1 RealMemory=65536%s\n' \
            "$host" "$address" "$cpus" "${gres:+ Gres=$gres}"
    done
    printf 'PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n'
}
