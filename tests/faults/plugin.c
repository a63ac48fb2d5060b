// A SPANK plugin that stands beside distgpu in plugstack.conf. In srun it waits between the step's
// creation and its launch for the file that FAULTS_PAUSE names; on nodes it sets variables of
// distgpu's own where FAULTS_RIVAL is set, as another site's plugin might, and logs the mount
// namespace in which Slurm calls it for a task.
#include <slurm/spank.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"  // Slurm's signatures

SPANK_PLUGIN(faults, 1)

int slurm_spank_local_user_init(spank_t spank, int ac, char** av) {
    const char* const name = getenv("FAULTS_PAUSE");
    if (name == NULL) return 0;
    char paused[256];
    snprintf(paused, sizeof paused, "%s.paused", name);
    close(open(paused, O_WRONLY | O_CREAT, 0644));
    for (int i = 0; i < 300 && access(name, F_OK) != 0; ++i) usleep(100000);
    return 0;
}

int slurm_spank_task_post_fork(spank_t spank, int ac, char** av) {
    char target[64] = "";
    if (readlink("/proc/self/ns/mnt", target, sizeof target - 1) > 0) {
        slurm_info("faults: called in %s", target);
    }
    return 0;
}

int slurm_spank_task_init(spank_t spank, int ac, char** av) {
    char value[8];
    if (spank_getenv(spank, "FAULTS_RIVAL", value, sizeof value) != ESPANK_SUCCESS) return 0;
    spank_setenv(spank, "RANK", "99", 1);
    spank_setenv(spank, "MASTER_ADDR", "192.0.2.1", 1);
    return 0;
}
