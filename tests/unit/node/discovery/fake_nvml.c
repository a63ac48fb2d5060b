/* Stands in for NVIDIA's management library: a GPU at 0000:06:00.0 with three places for MIG
 * instances, of which the middle one is free, one at 0000:07:00.0, and one at 0000:09:00.0. NVLink
 * connects the first to its own node alone, the second to other nodes, and the third is about to.
 * The one at 0000:0a:00.0 has fallen off its bus. Only the second keeps samples of its load, counts
 * energy, and has had an error. Anything else fails, as the library does. */
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
    if (strcmp(address, "0000:0a:00.0") == 0) return 15;
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

struct sample {
    unsigned long long time;
    union {
        unsigned integer;
        unsigned long long wide;
    } value;
};

int nvmlDeviceGetSamples(void* device, int kind, unsigned long long since, int* type,
                         unsigned* count, struct sample* samples) {
    static const unsigned percents[] = {10, 50, 100};
    unsigned found = 0;
    if (device != &second || kind != 1) return 3;
    for (unsigned i = 0; i < 3 && found < *count; ++i) {
        const unsigned long long time = 1000000ULL * (i + 1);
        if (time <= since) continue;
        samples[found].time = time;
        samples[found++].value.integer = percents[i];
    }
    *type = 1;
    *count = found;
    return found == 0 ? 6 : 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
    *millijoules = 5000;
    return device == &second ? 0 : 3;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
    *reasons = device == &second ? 0x1 | 0x4 | 0x40 : 0; /* idle, power cap, hardware thermal */
    return 0;
}

int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* lanes) {
    *lanes = device == &second ? 8 : 16;
    return 0;
}

int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* lanes) {
    *lanes = 16;
    return device == NULL;
}

static int events, open_sets;

int nvmlEventSetCreate(void** set) {
    *set = &events;
    ++open_sets;
    return 0;
}

int nvmlDeviceRegisterEvents(void* device, unsigned long long kinds, void* set) {
    if (device == &second && kinds == 8 && set == &events) events = 1;
    return 0;
}

struct event {
    void* device;
    unsigned long long type, data;
    unsigned instance, compute_instance;
};

int nvmlEventSetWait_v2(void* set, struct event* event, unsigned milliseconds) {
    if (set != &events || events == 0 || milliseconds != 0) return 10;
    events = 0;
    event->device = &second;
    event->type = 8;
    event->data = 79;
    return 0;
}

int nvmlEventSetFree(void* set) {
    --open_sets;
    return set != &events;
}

int fake_nvml_event_sets(void) {
    return open_sets;
}
