// A mock of libcuda.so.1, because no GPU is here: GPU memory is host memory, copies are done
// at once, and time on a stream is made up. What a program may not rely on is an error: work
// whose end nobody has waited for, events and contexts that do not exist.
//
// FAKE_CUDA_DEVICES=N       how many GPUs there are (8)
#include "fake.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// CUresult
enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2 };
enum { NOT_READY = 600 };

struct stream {
    double work;  // milliseconds so far
    int busy;
    int hangs;
};

struct event {
    struct stream* stream;
    double work;  // of its stream
    int queried;
    int done;
};

int fake_cuda_device = -1;
static struct stream streams[64];
static int stream_count;

static int number(const char* variable, int otherwise) {
    const char* text = getenv(variable);
    return text != NULL ? atoi(text) : otherwise;
}

// The work is done at once.
void fake_cuda_put(void* stream, double milliseconds) {
    struct stream* worked = stream;
    worked->work += milliseconds;
    worked->busy = 1;
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
    *text = status == OUT_OF_MEMORY ? "out of memory" : "fake CUDA error";
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
    fake_cuda_device = *(int*)context;
    return SUCCESS;
}

int cuStreamCreate(void** stream, unsigned flags) {
    if (fake_cuda_device < 0 || flags != 1 || stream_count == 64) return INVALID_VALUE;
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
    fake_cuda_put(stream, (double)bytes / 50e6);
    return SUCCESS;
}

// Copies on a stream: 1 TB/s, which is read and written, within the memory, 50 GB/s from and to the
// host's.
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes,
                         void* stream) {
    if (to == 0 || from == 0) return INVALID_VALUE;
    memcpy((void*)(uintptr_t)to, (const void*)(uintptr_t)from, bytes);
    fake_cuda_put(stream, (double)bytes / 1e9);
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

int cuEventRecord(void* event, void* stream) {
    struct event* recorded = event;
    recorded->stream = stream;
    recorded->work = recorded->stream->work;
    recorded->queried = recorded->done = 0;
    return SUCCESS;
}

// As a stream: not done at first.
int cuEventQuery(void* event) {
    struct event* queried = event;
    if (queried->stream == NULL) return INVALID_VALUE;
    if (queried->stream->hangs || !queried->queried++) return NOT_READY;
    queried->done = 1;
    if (queried->work == queried->stream->work) queried->stream->busy = 0;
    return SUCCESS;
}

int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
    const struct event* first = begin;
    const struct event* last = end;
    if (first->stream == NULL || first->stream != last->stream) return INVALID_VALUE;
    const int done = last->done || !last->stream->busy;
    if (!done || first->work > last->work) return NOT_READY;
    *milliseconds = (float)(last->work - first->work);
    return SUCCESS;
}
