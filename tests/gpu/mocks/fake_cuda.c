// A mock of libcuda.so.1, because no GPU is here: GPU memory is host memory, copies and kernels are
// done at once, and time on a stream is made up. What a program may not rely on is an error: work
// whose end nobody has waited for, events and contexts that do not exist.
//
// FAKE_CUDA_DEVICES=N       how many GPUs there are (8)
// FAKE_CUDA_NO_GRAPH=RANK   on this rank graphs cannot be launched
// FAKE_CUDA_NO_KERNEL=RANK  on this rank kernels cannot be loaded
// FAKE_CUDA_SLOW=RANK       this rank's GPU copies within its memory at a quarter of the rate
// FAKE_CUDA_NO_PINNED=RANK  on this rank no memory of the host can be pinned
#include "fake.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// CUresult
enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NO_BINARY = 209,
    NOT_FOUND = 500,
    NOT_READY = 600,
    MISALIGNED = 716,
    NOT_SUPPORTED = 801,
    CAPTURE_UNSUPPORTED = 900
};

static const double kernel_milliseconds = 1;
static const char* kernels[2] = {"distgpu_fill", "distgpu_compare"};

struct stream {
    struct graph* capture;  // what it is put into, instead of being done
    double work;            // milliseconds so far
    int busy;
    int hangs;
};

struct event {
    struct stream* stream;
    double work;  // of its stream
    int queried;
    int done;
};

// What a graph does when it is launched.
struct node {
    double milliseconds;
    struct event* event;  // NULL: work
};

struct graph {
    int is_instance;
    int count;
    struct node nodes[256];
};

static int graphs;
static struct stream streams[64];
static int stream_count;
static int device = -1;
static void* pinned;

static int number(const char* variable, int otherwise) {
    const char* text = getenv(variable);
    return text != NULL ? atoi(text) : otherwise;
}

int fake_cuda_device(void) {
    return device;
}

static int is_own(const char* variable) {
    const char* rank = getenv("RANK");
    return rank != NULL && atoi(rank) == number(variable, -1);
}

static int capture(struct graph* graph, struct node node) {
    if (graph->count == 256) return OUT_OF_MEMORY;
    graph->nodes[graph->count++] = node;
    return SUCCESS;
}

// NCCL's work is done at once where it is captured too; only its time comes with the launch.
static void put(struct stream* stream, double milliseconds) {
    if (stream->capture != NULL) {
        capture(stream->capture, (struct node){milliseconds, NULL});
        return;
    }
    stream->work += milliseconds;
    stream->busy = 1;
}

void fake_cuda_collective(void* stream, double milliseconds) {
    put(stream, milliseconds);
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
    if (queried->capture != NULL) return CAPTURE_UNSUPPORTED;
    if (queried->hangs) return NOT_READY;
    if (!queried->busy) return SUCCESS;
    queried->busy = 0;
    return NOT_READY;  // the first time, so that a caller must ask again
}

int cuStreamSynchronize(void* stream) {
    while (((struct stream*)stream)->hangs) {
    }
    if (((struct stream*)stream)->capture != NULL) return CAPTURE_UNSUPPORTED;
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
    put(stream, (double)bytes / 50e6);
    return SUCCESS;
}

// Copies on a stream: 1 TB/s, which is read and written, within the memory, 50 GB/s from and to the
// host's.
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes,
                         void* stream) {
    if (to == 0 || from == 0) return INVALID_VALUE;
    memcpy((void*)(uintptr_t)to, (const void*)(uintptr_t)from, bytes);
    put(stream, (double)bytes / 1e9 * (is_own("FAKE_CUDA_SLOW") ? 4 : 1));
    return SUCCESS;
}

int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void* stream) {
    if (from == 0 || to != pinned) return INVALID_VALUE;
    memcpy(to, (const void*)(uintptr_t)from, bytes);
    put(stream, (double)bytes / 50e6);
    return SUCCESS;
}

int cuMemAllocHost_v2(void** memory, size_t bytes) {
    if (is_own("FAKE_CUDA_NO_PINNED")) return OUT_OF_MEMORY;
    *memory = pinned = malloc(bytes);
    return SUCCESS;
}

int cuMemFreeHost(void* memory) {
    if (memory != pinned || fake_cuda_is_busy()) return INVALID_VALUE;
    free(memory);
    pinned = NULL;
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

static void record(struct event* event, struct stream* stream) {
    event->stream = stream;
    event->work = stream->work;
    event->queried = event->done = 0;
}

// In a capture only an external event can be asked for its time.
int cuEventRecordWithFlags(void* event, void* stream, unsigned flags) {
    struct graph* graph = ((struct stream*)stream)->capture;
    if ((graph != NULL) != (flags == 1)) return INVALID_VALUE;
    if (graph != NULL) return capture(graph, (struct node){0, event});
    record(event, stream);
    return SUCCESS;
}

int cuEventRecord(void* event, void* stream) {
    return cuEventRecordWithFlags(event, stream, 0);
}

int cuEventDestroy_v2(void* event) {
    free(event);
    return SUCCESS;
}

// Of this thread only: others may go on.
int cuStreamBeginCapture_v2(void* stream, int mode) {
    struct stream* begun = stream;
    if (mode != 1 || begun->capture != NULL || begun->busy) return INVALID_VALUE;
    begun->capture = calloc(1, sizeof(struct graph));
    return SUCCESS;
}

int cuStreamEndCapture(void* stream, void** graph) {
    struct stream* ended = stream;
    if (ended->capture == NULL) return INVALID_VALUE;
    *graph = ended->capture;
    ended->capture = NULL;
    ++graphs;
    return SUCCESS;
}

int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags) {
    if (flags != 0 || ((struct graph*)graph)->is_instance) return INVALID_VALUE;
    struct graph* made = malloc(sizeof *made);
    *made = *(struct graph*)graph;
    made->is_instance = 1;
    *executable = made;
    ++graphs;
    return SUCCESS;
}

int cuGraphLaunch(void* executable, void* stream) {
    const struct graph* graph = executable;
    if (!graph->is_instance) return INVALID_VALUE;
    if (is_own("FAKE_CUDA_NO_GRAPH")) return NOT_SUPPORTED;
    for (int i = 0; i < graph->count; ++i) {
        const struct node* node = &graph->nodes[i];
        if (node->event != NULL) {
            record(node->event, stream);
        } else {
            put(stream, node->milliseconds);
        }
    }
    return SUCCESS;
}

static int destroy(struct graph* graph, int is_instance) {
    if (graph->is_instance != is_instance) return INVALID_VALUE;
    free(graph);
    --graphs;
    return SUCCESS;
}

int cuGraphExecDestroy(void* executable) {
    return destroy(executable, 1);
}

int cuGraphDestroy(void* graph) {
    return destroy(graph, 0);
}

int fake_cuda_graphs(void) {
    return graphs;
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

// The image begins with a fatbin's magic number.
int cuModuleLoadData(void** module, const void* image) {
    uint32_t magic = 0;
    memcpy(&magic, image, sizeof magic);
    if (magic != 0xBA55ED50U) return INVALID_VALUE;
    if (is_own("FAKE_CUDA_NO_KERNEL")) return NO_BINARY;
    *module = &streams;
    return SUCCESS;
}

// Stands in for the kernels of check_kernel.cu: byte by byte.
static void check(int compares, void** parameters) {
    unsigned char* words = (unsigned char*)(uintptr_t) * (unsigned long long*)parameters[0];
    const unsigned head = *(unsigned*)parameters[1];
    const unsigned long long bytes = *(unsigned long long*)parameters[2];
    const unsigned char* tile = (unsigned char*)(uintptr_t) * (unsigned long long*)parameters[3];
    const unsigned long long period = 16ULL * *(unsigned*)parameters[4];
    unsigned long long* first =
        (unsigned long long*)(uintptr_t) * (unsigned long long*)parameters[5];
    for (unsigned long long place = head; place < head + bytes; ++place) {
        if (!compares) {
            words[place] = tile[place % period];
        } else if (words[place] != tile[place % period]) {
            if (place - head < *first) *first = place - head;
            return;
        }
    }
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
    if (module != &streams) return INVALID_VALUE;
    for (int i = 0; i < 2; ++i) {
        *function = &kernels[i];
        if (strcmp(name, kernels[i]) == 0) return SUCCESS;
    }
    return NOT_FOUND;
}

int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void* stream, void** parameters, void** extra) {
    const long kernel = (const char**)function - kernels;
    if (kernel < 0 || kernel > 1 || extra != NULL || shared_bytes != 0) return INVALID_VALUE;
    if (grid_x == 0 || grid_y != 1 || grid_z != 1) return INVALID_VALUE;
    if (block_x == 0 || block_x > 1024 || block_y != 1 || block_z != 1) return INVALID_VALUE;
    if (*(unsigned long long*)parameters[0] % 16 != 0) return MISALIGNED;
    check(kernel == 1, parameters);
    put(stream, kernel_milliseconds);
    return SUCCESS;
}
