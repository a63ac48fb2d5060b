#!/bin/bash
# The first process of a host: makes the host's mounts and then waits, so that
# the host's namespaces live as long as it does. Started by up.sh inside fresh
# namespaces; exits if a step fails.
# usage: keeper.sh STATE HOST 'GPU_FILE...' CGROUPS
set -eu

state=$1 host=$2 gpu_files=$3 cgroups=$4
here=$state/$host

# /proc is still the machine's: it has the process id that others see. If `up`
# was interrupted meanwhile, the write fails, and this host ends.
read -r line </proc/self/stat
read -ra fields <<<"${line##*) }"
printf '%s %s\n' "$(readlink /proc/self/ns/net)" "$(readlink /proc/self/ns/mnt)" \
    >"$here/namespaces"
printf '%s %s\n' "${line%% *}" "${fields[19]}" >"$here/keeper.new"
mv "$here/keeper.new" "$here/keeper"

hostname "$host"

# A dangling symbolic link cannot be a mount point, and need not be covered.
cover() {
    local target
    target=$(readlink -e "$2") && mount --bind "$1" "$target"
    return 0
}
cover "$state/etc/hosts" /etc/hosts
cover "$state/etc/resolv.conf" /etc/resolv.conf
cover "$state/etc/nsswitch.conf" /etc/nsswitch.conf
mount --bind "$here/slurm" /etc/slurm

# A new sysfs shows the interfaces of this host; the control groups are kept.
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
# sandboxes do not share them and `down` can remove them.
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

# A copy of /dev with device files of GPUs that have no driver (120 is a major
# number for local use), and with its own shared memory.
make_dev() {
    local file
    mount -t tmpfs -o mode=755 tmpfs "$here/mnt"
    # From within: with the full path, mkdir -p would recreate a state folder that `down` moved away.
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

# Mounts below /dev, above all pts, stay the machine's. The current folder is the copy.
keep_dev_mounts() {
    local target place
    while read -r _ _ _ _ target _; do
        [[ $target =~ ^/dev/[^/]+$ && ! $target =~ ^/dev/(shm|nvidia) ]] || continue
        place=./${target#/dev/}
        [[ -d $target ]] || { rm -f "$place" && : >"$place"; }
        mount --rbind "$target" "$place"
    done </proc/self/mountinfo
}

# Each host has its own /run/distgpu, where its plugin keeps files.
mkdir -p /run/distgpu
mount -t tmpfs -o mode=755 tmpfs /run/distgpu

make_sys
if [[ $host != login ]]; then
    make_dev
    mount -t tmpfs -o mode=1777 tmpfs "$state/pmix"
    mount -t proc proc /proc
fi
touch "$here/ready"

# Waits without a child, on a pipe to which nothing is written. As process 1 of
# a node, bash reaps orphaned processes.
exec {pipe}<> <(:)
while :; do
    read -r -u "$pipe" || true
done
