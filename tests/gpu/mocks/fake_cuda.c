// A mock of libcuda.so.1, because no GPU is here: GPU memory is host memory, copies and kernels are
// done at once, and time on a stream is made up. What a program may not rely on is an error: work
// whose end nobody has waited for, events and contexts that do not exist.
//
// FAKE_CUDA_DEVICES=N       how many GPUs there are (8)
// FAKE_CUDA_NO_KERNEL=RANK  on this rank kernels cannot be loaded
#include "fake.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// CUresult
enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_BINARY = 209, NOT_READY = 600 };

// A kernel alone takes 1 ms. Beside work on another stream kernels take a quarter longer and
// collectives half as long again.
static const double kernel_milliseconds = 1;
static const double kernel_slowdown = 1.25;
static const double collective_slowdown = 1.5;

struct stream {
    double work;      // milliseconds so far, alone
    double slowdown;  // of this work beside that of others
    int busy;
    int hangs;
};

struct event {
    struct stream* stream;
    double work;    // of its stream
    double others;  // of the other streams
};

static struct stream streams[64];
static int stream_count;
static int device = -1;

static int number(const char* variable, int otherwise) {
    const char* text = getenv(variable);
    return text != NULL ? atoi(text) : otherwise;
}

int fake_cuda_device(void) {
    return device;
}

static void put(struct stream* stream, double milliseconds, double slowdown) {
    stream->work += milliseconds;
    stream->slowdown = slowdown;
    stream->busy = 1;
}

void fake_cuda_collective(void* stream, double milliseconds) {
    put(stream, milliseconds, collective_slowdown);
}

void fake_cuda_hang(void* stream) {
    ((struct stream*)stream)->hangs = 1;
}

int fake_cuda_is_busy(void) {
    for (int i = 0; i < stream_count; ++i) {
        if (streams[i].busy) return 1;
    }
    return 0;
}

int cuInit(unsigned flags) {
    return flags == 0 ? SUCCESS : INVALID_VALUE;
}

int cuDriverGetVersion(int* version) {
    *version = 13000;
    return SUCCESS;
}

int cuGetErrorString(int status, const char** text) {
    switch (status) {
        case OUT_OF_MEMORY:
            *text = "out of memory";
            break;
        case NO_BINARY:
            *text = "no kernel image is available for execution on the device";
            break;
        default:
            *text = "fake CUDA error";
    }
    return SUCCESS;
}

int cuDeviceGetCount(int* count) {
    *count = number("FAKE_CUDA_DEVICES", 8);
    return SUCCESS;
}

int cuDeviceGet(int* got, int ordinal) {
    *got = ordinal;
    return ordinal < number("FAKE_CUDA_DEVICES", 8) ? SUCCESS : INVALID_VALUE;
}

int cuDeviceGetName(char* name, int length, int of) {
    (void)of;
    strncpy(name, "Fake GPU", (size_t)length);
    return SUCCESS;
}

// 00010203-0405-... with the device in the last byte.
int cuDeviceGetUuid(unsigned char uuid[16], int of) {
    for (int i = 0; i < 15; ++i) uuid[i] = (unsigned char)i;
    uuid[15] = (unsigned char)of;
    return SUCCESS;
}

int cuDeviceGetAttribute(int* value, int attribute, int of) {
    (void)of;
    *value = 1980000;
    return attribute == 13 ? SUCCESS : INVALID_VALUE;
}

int cuDevicePrimaryCtxRetain(void** context, int of) {
    static int devices[64];
    devices[of] = of;
    *context = &devices[of];
    return SUCCESS;
}

int cuCtxSetCurrent(void* context) {
    device = *(int*)context;
    return SUCCESS;
}

int cuStreamCreate(void** stream, unsigned flags) {
    if (device < 0 || flags != 1 || stream_count == 64) return INVALID_VALUE;
    *stream = &streams[stream_count++];
    return SUCCESS;
}

int cuStreamQuery(void* stream) {
    struct stream* queried = stream;
    if (queried->hangs) return NOT_READY;
    if (!queried->busy) return SUCCESS;
    queried->busy = 0;
    return NOT_READY;  // the first time, so that a caller must ask again
}

int cuStreamSynchronize(void* stream) {
    while (((struct stream*)stream)->hangs) {
    }
    ((struct stream*)stream)->busy = 0;
    return SUCCESS;
}

// With something in it, as memory of a GPU has.
int cuMemAlloc_v2(unsigned long long* address, size_t bytes) {
    void* memory = malloc(bytes);
    if (memory == NULL) return OUT_OF_MEMORY;
    memset(memory, 0x55, bytes);
    *address = (unsigned long long)(uintptr_t)memory;
    return SUCCESS;
}

int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void* stream) {
    memcpy((void*)(uintptr_t)to, from, bytes);
    ((struct stream*)stream)->busy = 1;
    return SUCCESS;
}

int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
    if (fake_cuda_is_busy()) return INVALID_VALUE;
    memcpy(to, (const void*)(uintptr_t)from, bytes);
    return SUCCESS;
}

int cuEventCreate(void** event, unsigned flags) {
    *event = calloc(1, sizeof(struct event));
    return flags == 0 ? SUCCESS : INVALID_VALUE;
}

static double work_of_others(const struct stream* stream) {
    double work = 0;
    for (int i = 0; i < stream_count; ++i) {
        if (&streams[i] != stream) work += streams[i].work;
    }
    return work;
}

int cuEventRecord(void* event, void* stream) {
    struct event* recorded = event;
    recorded->stream = stream;
    recorded->work = recorded->stream->work;
    recorded->others = work_of_others(recorded->stream);
    return SUCCESS;
}

// Longer where another stream has got work since the first event.
int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
    const struct event* first = begin;
    const struct event* last = end;
    if (first->stream == NULL || first->stream != last->stream) return INVALID_VALUE;
    if (fake_cuda_is_busy()) return NOT_READY;
    const int beside = work_of_others(first->stream) > first->others;
    *milliseconds = (float)((last->work - first->work) * (beside ? first->stream->slowdown : 1));
    return SUCCESS;
}

// The image begins with a fatbin's magic number.
int cuModuleLoadData(void** module, const void* image) {
    uint32_t magic = 0;
    memcpy(&magic, image, sizeof magic);
    if (magic != 0xBA55ED50U) return INVALID_VALUE;
    const char* rank = getenv("RANK");
    if (rank != NULL && atoi(rank) == number("FAKE_CUDA_NO_KERNEL", -1)) return NO_BINARY;
    *module = &streams;
    return SUCCESS;
}

// Stands in for the only kernel that is known: what its 64 steps make of the first and of the last
// element.
static void compute(float* data, unsigned long long elements) {
    for (int step = 0; step < 64; ++step) {
        data[0] = data[0] * 0.5F + 0.5F;
        data[elements - 1] = data[elements - 1] * 0.5F + 0.5F;
    }
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
    *function = &stream_count;  // any address
    return module == &streams && strcmp(name, "distgpu_compute") == 0 ? SUCCESS : INVALID_VALUE;
}

int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void* stream, void** parameters, void** extra) {
    if (function != &stream_count || extra != NULL || shared_bytes != 0) return INVALID_VALUE;
    if (grid_x == 0 || grid_y != 1 || grid_z != 1) return INVALID_VALUE;
    if (block_x == 0 || block_x > 1024 || block_y != 1 || block_z != 1) return INVALID_VALUE;
    compute((float*)(uintptr_t) * (unsigned long long*)parameters[0],
            *(unsigned long long*)parameters[1]);
    put(stream, kernel_milliseconds, kernel_slowdown);
    return SUCCESS;
}
