# A jail on node01, and the plugin that puts steps there, before distgpu's. Loaded after ../cluster.bash.
# shellcheck shell=bash

# The jail is the node's tree, with these folders empty.
make_jail() { # FOLDER...
    cc -std=gnu11 -Wall -Wextra -Werror -shared -fPIC -o "$SCRATCH/jail.so" \
        "$root/tests/integration/jail/jail.c"
    on node01 bash -c 'mkdir "$1" && mount -t tmpfs tmpfs "$1" && cd "$1" || exit
        for name in /*; do
            if [[ -L $name ]]; then cp -d "$name" .; elif [[ -d $name ]]; then
                mkdir "${name#/}"; [[ $name == /mnt ]] || mount --rbind "$name" "${name#/}"; fi
        done
        mount --make-rslave . || exit
        for name in "${@:2}"; do mount -t tmpfs tmpfs ".$name" || exit; done' jail "$SCRATCH/jail" "$@"
    on node01 sed -i "1i required $SCRATCH/jail.so $SCRATCH/jail" /etc/slurm/plugstack.conf
}

remove_jail() {
    on node01 sed -i 1d /etc/slurm/plugstack.conf
    on node01 umount -R "$SCRATCH/jail"
    on node01 rmdir "$SCRATCH/jail"
}
