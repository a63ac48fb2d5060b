/* clang-format off */
/* Stands in for NVIDIA's management library: GPUs do what a script says, SCRIPTS/NODE, whose lines
 * are "TIME KIND ADDRESS VALUE", with TIME in seconds since 1970 and in this order, and KIND:
 *
 *     load    a sample of the utilization, in percent
 *     state   the utilization from then on, of which it takes ten samples a second
 *     energy  the counter, in millijoules
 *     memory  MiB in use
 *     clocks  the reasons why they are slow
 *     lanes   of the PCIe link
 *     xid     an error
 *     lost    the GPU falls off its bus
 *
 * Programs may add lines while it runs. SCRIPTS is defined by who compiles this. */
/* clang-format on */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_lines = 8192, most_gpus = 16 };

static struct line {
    double time;
    char kind[8], address[16];
    unsigned long long value;
    int was_told;
} lines[most_lines];
static FILE* script;
static int line_count;
static char gpus[most_gpus][16];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The lines that the script has now; the last one may not be whole yet. */
static void read_more(void) {
    char text[128];
    long begin = ftell(script);
    while (line_count < most_lines && fgets(text, sizeof text, script) != NULL) {
        struct line* line = &lines[line_count];
        if (strchr(text, '\n') == NULL || sscanf(text, "%lf %7s %15s %llu", &line->time, line->kind,
                                                 line->address, &line->value) != 4)
            break;
        ++line_count;
        begin = ftell(script);
    }
    fseek(script, begin, SEEK_SET);
}

int nvmlInit_v2(void) {
    const char* node = getenv("SLURMD_NODENAME");
    char name[256];
    snprintf(name, sizeof name, "%s/%s", SCRIPTS, node == NULL ? "" : node);
    script = fopen(name, "r");
    return script == NULL ? 9 : 0;
}

int nvmlShutdown(void) {
    return fclose(script);
}

/* The newest line of that kind at this time; NULL if there was none yet. */
static const struct line* last(const char* kind, const char* address, double until) {
    const struct line* found = NULL;
    for (int i = 0; i < line_count && lines[i].time <= until; ++i) {
        if (strcmp(lines[i].kind, kind) == 0 && strcmp(lines[i].address, address) == 0)
            found = &lines[i];
    }
    return found;
}

static unsigned long long value_of(const char* kind, const char* address,
                                   unsigned long long otherwise) {
    const struct line* line = last(kind, address, now());
    return line == NULL ? otherwise : line->value;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
    read_more();
    if (last("lost", address, now()) != NULL) return 15;
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
    percent[0] = (unsigned)value_of("state", device, value_of("load", device, 0));
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

/* Those of "load" lines. */
static unsigned given_samples(const char* device, unsigned long long since, unsigned most,
                              struct sample* samples) {
    const double until = now();
    unsigned found = 0;
    for (int i = 0; i < line_count && lines[i].time <= until && found < most; ++i) {
        const unsigned long long time = (unsigned long long)(lines[i].time * 1e6);
        if (time > since && strcmp(lines[i].kind, "load") == 0 &&
            strcmp(lines[i].address, device) == 0)
            samples[found++] = (struct sample){time, lines[i].value};
    }
    return found;
}

/* Those of "state" lines. A program writes a line when it has begun to do something else: what
 * has just passed is for the next call. */
static unsigned own_samples(const char* device, unsigned long long since, unsigned most,
                            struct sample* samples) {
    const unsigned long long period = 100000, kept = 20000000;
    const unsigned long long until = (unsigned long long)(now() * 1e6) - period;
    unsigned long long time = since > until - kept ? since : until - kept;
    unsigned found = 0;
    for (time += period - time % period; time < until && found < most; time += period) {
        const struct line* state = last("state", device, (double)time / 1e6);
        if (state != NULL) samples[found++] = (struct sample){time, state->value};
    }
    return found;
}

int nvmlDeviceGetSamples(void* device, int kind, unsigned long long since, int* type,
                         unsigned* count, struct sample* samples) {
    const unsigned given = kind == 1 ? given_samples(device, since, *count, samples) : 0;
    const unsigned own =
        kind == 1 ? own_samples(device, since, *count - given, samples + given) : 0;
    *type = 1;
    *count = given + own;
    return *count == 0 ? 6 : 0;
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
