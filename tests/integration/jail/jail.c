// A plugin that puts every slurmstepd into a jail, as Soperator's chroot plugin does: another root,
// in mounts of its own, out of which the old one is gone. Its argument is the folder of the jail.
#define _GNU_SOURCE
#include <slurm/spank.h>

#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

SPANK_PLUGIN(jail, 1);

int slurm_spank_init_post_opt(spank_t spank, int count, char** arguments) {
    char old[4096];
    (void)spank, (void)count;
    if (spank_context() != S_CTX_REMOTE) return 0;
    snprintf(old, sizeof old, "%s/mnt", arguments[0]);
    return unshare(CLONE_NEWNS) || mount(0, "/", 0, MS_SLAVE | MS_REC, 0) ||
           syscall(SYS_pivot_root, arguments[0], old) || umount2("/mnt", MNT_DETACH) || chdir("/");
}
