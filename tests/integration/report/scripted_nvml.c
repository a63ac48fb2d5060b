/* Stands in for NVIDIA's management library: GPUs do what a script says, SCRIPTS/NODE, whose lines
 * are "TIME KIND ADDRESS VALUE", with TIME in seconds since 1970 and in this order: load      a
 * sample of the utilization, in percent      energy  the counter, in millijoules memory    MiB in
 * use                                   clocks  the reasons why they are slow lanes     of the PCIe
 * link                             xid     an error lost      the GPU falls off its bus SCRIPTS is
 * defined by who compiles this. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_lines = 4096, most_gpus = 16 };

static struct line {
    double time;
    char kind[8], address[16];
    unsigned long long value;
    int was_told;
} lines[most_lines];
static int line_count;
static char gpus[most_gpus][16];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int nvmlInit_v2(void) {
    const char* node = getenv("SLURMD_NODENAME");
    char name[256];
    snprintf(name, sizeof name, "%s/%s", SCRIPTS, node == NULL ? "" : node);
    FILE* file = fopen(name, "r");
    if (file == NULL) return 9;
    for (line_count = 0; line_count < most_lines; ++line_count) {
        struct line* line = &lines[line_count];
        if (fscanf(file, "%lf %7s %15s %llu", &line->time, line->kind, line->address,
                   &line->value) != 4)
            break;
        line->was_told = 0;
    }
    fclose(file);
    return 0;
}

int nvmlShutdown(void) {
    return 0;
}

/* The newest line of that kind; NULL if there is none yet. */
static const struct line* last(const char* kind, const char* address) {
    const struct line* found = NULL;
    const double until = now();
    for (int i = 0; i < line_count && lines[i].time <= until; ++i) {
        if (strcmp(lines[i].kind, kind) == 0 && strcmp(lines[i].address, address) == 0)
            found = &lines[i];
    }
    return found;
}

static unsigned long long value_of(const char* kind, const char* address,
                                   unsigned long long otherwise) {
    const struct line* line = last(kind, address);
    return line == NULL ? otherwise : line->value;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
    if (last("lost", address) != NULL) return 15;
    for (int i = 0; i < most_gpus; ++i) {
        if (gpus[i][0] == '\0') snprintf(gpus[i], sizeof gpus[i], "%s", address);
        if (strcmp(gpus[i], address) != 0) continue;
        *device = gpus[i];
        return 0;
    }
    return 6;
}

int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
    return snprintf(text, size, "GPU-%s", (const char*)device) < 0;
}

int nvmlDeviceGetName(void* device, char* text, unsigned size) {
    return snprintf(text, size, "Scripted") < 0 || device == NULL;
}

int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* memory) {
    memory[0] = 80ULL << 30;
    memory[2] = value_of("memory", device, 0) << 20;
    memory[1] = memory[0] - memory[2];
    return 0;
}

int nvmlDeviceGetUtilizationRates(void* device, unsigned* percent) {
    percent[0] = (unsigned)value_of("load", device, 0);
    percent[1] = 0;
    return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(void* device, unsigned* count) {
    *count = 0;
    return device == NULL;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned index, void** instance) {
    *instance = NULL;
    return device != NULL || index == 0 ? 6 : 2;
}

struct sample {
    unsigned long long time, value;
};

int nvmlDeviceGetSamples(void* device, int kind, unsigned long long since, int* type,
                         unsigned* count, struct sample* samples) {
    const double until = now();
    unsigned found = 0;
    for (int i = 0; i < line_count && lines[i].time <= until && found < *count; ++i) {
        const unsigned long long time = (unsigned long long)(lines[i].time * 1e6);
        if (kind != 1 || time <= since || strcmp(lines[i].kind, "load") != 0 ||
            strcmp(lines[i].address, device) != 0) {
            continue;
        }
        samples[found++] = (struct sample){time, lines[i].value};
    }
    *type = 1;
    *count = found;
    return found == 0 ? 6 : 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
    *millijoules = value_of("energy", device, 0);
    return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
    *reasons = value_of("clocks", device, 0);
    return 0;
}

int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* lanes) {
    *lanes = (unsigned)value_of("lanes", device, 16);
    return 0;
}

int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* lanes) {
    *lanes = 16;
    return device == NULL;
}

int nvmlEventSetCreate(void** set) {
    *set = lines;
    return 0;
}

int nvmlEventSetFree(void* set) {
    return set != lines;
}

int nvmlDeviceRegisterEvents(void* device, unsigned long long kinds, void* set) {
    return device == NULL || kinds != 8 || set != lines;
}

struct event {
    void* device;
    unsigned long long type, data;
    unsigned instance, compute_instance;
};

int nvmlEventSetWait_v2(void* set, struct event* event, unsigned milliseconds) {
    const double until = now();
    if (set != lines || milliseconds != 0) return 2;
    for (int i = 0; i < line_count && lines[i].time <= until; ++i) {
        if (strcmp(lines[i].kind, "xid") != 0 || lines[i].was_told++ != 0) continue;
        for (int gpu = 0; gpu < most_gpus; ++gpu) {
            if (strcmp(gpus[gpu], lines[i].address) == 0) event->device = gpus[gpu];
        }
        event->type = 8;
        event->data = lines[i].value;
        return 0;
    }
    return 10;
}
