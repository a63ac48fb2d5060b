/* Stands in for NVIDIA's management library: a GPU at 0000:06:00.0 with three places for MIG
 * instances, of which the middle one is free, one at 0000:07:00.0, and one at 0000:09:00.0. NVLink
 * connects the first to its own node alone, the second to other nodes, and the third is about to.
 * Anything else fails, as the library does. */
#include <stdio.h>
#include <string.h>

static int gpu, second, third, instances[3];
static int sessions;

int nvmlInit_v2(void) {
    ++sessions;
    return 0;
}

int nvmlShutdown(void) {
    --sessions;
    return 0;
}

int fake_nvml_sessions(void) {
    return sessions;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
    *device = strcmp(address, "0000:07:00.0") == 0   ? &second
              : strcmp(address, "0000:09:00.0") == 0 ? &third
                                                     : &gpu;
    return strcmp(address, "0000:06:00.0") == 0 || *device != &gpu ? 0 : 6;
}

int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* memory) {
    const unsigned long long gib = 1ULL << 30;
    memory[0] = 80 * gib;                            /* total */
    memory[1] = (device == &second ? 79 : 60) * gib; /* free */
    memory[2] = memory[0] - memory[1];               /* used */
    return 0;
}

int nvmlDeviceGetUtilizationRates(void* device, unsigned* percent) {
    percent[0] = 97;                  /* GPU */
    percent[1] = 12;                  /* memory */
    return device == &second ? 0 : 3; /* of one with MIG there is none */
}

struct fabric {
    unsigned char uuid[16];
    int status;
    unsigned clique;
    unsigned char state;
};

int nvmlDeviceGetGpuFabricInfo(void* device, struct fabric* fabric) {
    memset(fabric, 0, sizeof *fabric);
    fabric->uuid[15] = device == &gpu ? 0 : 7;
    fabric->state = device == &third ? 2 : 3; /* in progress, completed */
    return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(void* device, unsigned* count) {
    *count = 3;
    return device == &gpu ? 0 : 2;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned index, void** instance) {
    if (device != &gpu || index == 1) return 6;
    *instance = &instances[index];
    return 0;
}

int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
    return snprintf(text, size, "MIG-%d", (int)((int*)device - instances)) < 0;
}

int nvmlDeviceGetName(void* device, char* text, unsigned size) {
    const char* name = device == &instances[0] ? "NVIDIA H200 MIG 1g.18gb" : "MIG 3g.71gb+me";
    return snprintf(text, size, "%s", name) < 0;
}
