// A mock of libnvidia-ml.so.1 for the GPUs of fake_cuda.c, which it knows by their UUIDs.
//
// FAKE_NVML_SICK=RANK  to this rank its GPU is in a bad state: a narrow and slow link, hot, with
//                      ECC errors, and Xids 79, 31 and 79 once somebody listens
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// nvmlReturn_t
enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_FOUND = 6, TIMEOUT = 10 };

struct event {
    void* device;
    unsigned long long type;
    unsigned long long data;
    unsigned gpu_instance;
    unsigned compute_instance;
};

static int initialized;
static int gpus[256];
static int listened_to;
static unsigned told;

static int is_sick(void* device) {
    const char* rank = getenv("RANK");
    const char* sick = getenv("FAKE_NVML_SICK");
    return device != NULL && rank != NULL && sick != NULL && strcmp(rank, sick) == 0;
}

// What is asked of a GPU that nobody has looked up is an error.
static int answer(void* device, unsigned* value, unsigned healthy, unsigned sick) {
    if ((int*)device < gpus || (int*)device >= gpus + 256) return INVALID_ARGUMENT;
    *value = is_sick(device) ? sick : healthy;
    return SUCCESS;
}

int nvmlInit_v2(void) {
    initialized = 1;
    return SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
    if (!initialized) return UNINITIALIZED;
    unsigned gpu = 0;
    if (sscanf(uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e%2x", &gpu) != 1) return NOT_FOUND;
    *device = &gpus[gpu];
    return SUCCESS;
}

int nvmlEventSetCreate(void** set) {
    *set = &listened_to;
    return initialized ? SUCCESS : UNINITIALIZED;
}

int nvmlDeviceRegisterEvents(void* device, unsigned long long types, void* set) {
    if (device == NULL || types != 8 || set != &listened_to) return INVALID_ARGUMENT;
    listened_to = 1;
    return SUCCESS;
}

int nvmlEventSetWait_v2(void* set, struct event* event, unsigned milliseconds) {
    static const unsigned long long xids[] = {79, 31, 79};
    if (set != &listened_to || !listened_to || milliseconds != 0) return INVALID_ARGUMENT;
    if (!is_sick(gpus) || told == sizeof xids / sizeof xids[0]) return TIMEOUT;
    *event = (struct event){.device = gpus, .type = 8, .data = xids[told++]};
    return SUCCESS;
}

// Idle, as a GPU is between two collectives; or hot, which also means the hardware's slowdown.
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
    unsigned bits = 0;
    const int status = answer(device, &bits, 0x1, 0x48);
    *reasons = bits;
    return status;
}

int nvmlDeviceGetTotalEccErrors(void* device, int type, int counter, unsigned long long* count) {
    if (type != 1 || counter != 0) return INVALID_ARGUMENT;
    unsigned errors = 0;
    const int status = answer(device, &errors, 0, 2);
    *count = errors;
    return status;
}

int nvmlDeviceGetCurrPcieLinkGeneration(void* device, unsigned* generation) {
    return answer(device, generation, 5, 3);
}

int nvmlDeviceGetMaxPcieLinkGeneration(void* device, unsigned* generation) {
    return answer(device, generation, 5, 5);
}

int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* lanes) {
    return answer(device, lanes, 16, 8);
}

int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* lanes) {
    return answer(device, lanes, 16, 16);
}
