// Preloaded into slurmctld by `sandbox up --slurmctld-delay`: a busy slurmctld. Each message that
// it gets waits DISTGPU_SANDBOX_DELAY milliseconds, in its own thread, before its sender is
// checked.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

typedef int Decode(const char*, void*, void**, int*, unsigned*, unsigned*);

// libmunge's, which auth/munge calls for each message (Slurm 22.05 to 26.05).
int munge_decode(const char* credential, void* context, void** data, int* length, unsigned* user,
                 unsigned* group) {
    static Decode* decode;
    if (decode == NULL) decode = (Decode*)dlsym(dlopen("libmunge.so.2", RTLD_LAZY), "munge_decode");
    usleep(1000 * (unsigned)atoi(getenv("DISTGPU_SANDBOX_DELAY")));
    return decode(credential, context, data, length, user, group);
}
