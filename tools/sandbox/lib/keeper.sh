#!/bin/bash
# The first process of a host: makes the host's mounts and then only stays, so
# that the host's namespaces live as long as it does. Started by up.sh inside
# fresh namespaces; ends where a step fails.
# usage: keeper.sh STATE HOST 'GPU_FILE...' CGROUPS
set -eu

state=$1 host=$2 gpu_files=$3 cgroups=$4
here=$state/$host

# /proc is still the machine's: it tells the process id that others see. The
# write fails, and this host ends, where `up` was interrupted meanwhile.
read -r line </proc/self/stat
read -ra fields <<<"${line##*) }"
printf '%s %s\n' "$(readlink /proc/self/ns/net)" "$(readlink /proc/self/ns/mnt)" \
    >"$here/namespaces"
printf '%s %s\n' "${line%% *}" "${fields[19]}" >"$here/keeper.new"
mv "$here/keeper.new" "$here/keeper"

hostname "$host"

# A symbolic link that points nowhere is no mount point, and needs no cover.
cover() {
    local target
    target=$(readlink -e "$2") && mount --bind "$1" "$target"
    return 0
}
cover "$state/etc/hosts" /etc/hosts
cover "$state/etc/resolv.conf" /etc/resolv.conf
cover "$state/etc/nsswitch.conf" /etc/nsswitch.conf
mount --bind "$here/slurm" /etc/slurm

# A new sysfs shows the interfaces of this host; the control groups stay.
make_sys() {
    mount -t tmpfs -o mode=755 tmpfs "$here/mnt"
    mkdir "$here/mnt/cgroup"
    mount --rbind /sys/fs/cgroup "$here/mnt/cgroup"
    mount -t sysfs sysfs /sys
    mount --rbind "$here/mnt/cgroup" /sys/fs/cgroup
    umount -R "$here/mnt"
    [[ -z $cgroups ]] || own_cgroups
}

# Slurm's control groups (version 1) go into a folder of this sandbox, so that
# two sandboxes do not meet there and `down` can remove them.
own_cgroups() {
    local controller file
    for controller in /sys/fs/cgroup/{devices,freezer,memory,cpuset,cpuacct,cpu}; do
        [[ -e $controller/cgroup.procs && ! -L $controller ]] || continue
        mkdir -p "$controller/$cgroups"
        for file in "$controller"/cpuset.{mems,cpus}; do
            [[ ! -e $file ]] || cat "$file" >"$controller/$cgroups/${file##*/}"
        done
        mount --bind "$controller/$cgroups" "$controller"
    done
}

# A copy of /dev with GPUs that no driver answers for (120 is a major number
# for local use) and with shared memory of its own.
make_dev() {
    local file
    mount -t tmpfs -o mode=755 tmpfs "$here/mnt"
    # From within: by its path mkdir -p would make the folders of a state that `down` moved away.
    cd "$here/mnt"
    cp -ax /dev/. .
    rm -rf ./nvidia*
    keep_dev_mounts
    for file in $gpu_files; do
        file=./${file#/dev/}
        mkdir -p "${file%/*}"
        rm -f "$file"
        mknod -m 666 "$file" c 120 "${file##*[!0-9]}"
    done
    mkdir -p shm
    mount -t tmpfs -o mode=1777 tmpfs shm
    cd /
    mount --move "$here/mnt" /dev
}

# What is mounted below /dev, pts above all, stays the machine's; here is the copy.
keep_dev_mounts() {
    local target place
    while read -r _ _ _ _ target _; do
        [[ $target =~ ^/dev/[^/]+$ && ! $target =~ ^/dev/(shm|nvidia) ]] || continue
        place=./${target#/dev/}
        [[ -d $target ]] || { rm -f "$place" && : >"$place"; }
        mount --rbind "$target" "$place"
    done </proc/self/mountinfo
}

# What a plugin of this host keeps in /run/distgpu is neither the machine's nor another host's.
mkdir -p /run/distgpu
mount -t tmpfs -o mode=755 tmpfs /run/distgpu

make_sys
if [[ $host != login ]]; then
    make_dev
    mount -t tmpfs -o mode=1777 tmpfs "$state/pmix"
    mount -t proc proc /proc
fi
touch "$here/ready"

# Waits without a child, on a pipe into which nothing is written. As process 1
# of a node, bash reaps the processes that lost their parent.
exec {pipe}<> <(:)
while :; do
    read -r -u "$pipe" || true
done
