// A mock of libnccl.so.2, because no GPU is here: NCCL's collectives on host memory over MPI. What
// NCCL's documentation forbids or asks of a program is an error here: calls from several threads,
// another id than ncclGetUniqueId() gave, a split while work is outstanding. What ends for all
// ranks together in NCCL waits for all of them here too.
//
// WITHOUT_ALL_TO_ALL, WITHOUT_MEM_ALLOC, WITHOUT_SPLIT   when compiled: an older library
// VERSION                             when compiled: another than 22807
// FAKE_NCCL_VERSION=RANK:VERSION      another version on this rank
// FAKE_NCCL_ERROR=RANK:FUNCTION       on this rank the function fails
// FAKE_NCCL_DIES=RANK                 this rank dies in an all-reduce
// NCCL_HOSTID=NAME                    the host of this rank, as in NCCL; else SLURMD_NODENAME
// FAKE_NCCL_HANG=RANK                 all-reduces of this rank do not end, as another one is lost
#include "fake.h"

#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION 22807
#endif

// ncclResult_t
enum { SUCCESS = 0, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, REMOTE_ERROR = 6 };
// ncclRedOp_t
enum { SUM = 0, PROD = 1, MAX = 2, MIN = 3, AVG = 4 };
// ncclDataType_t
enum {
    INT8 = 0,
    INT32 = 2,
    INT64 = 4,
    FLOAT16 = 6,
    FLOAT32 = 7,
    FLOAT64 = 8,
    BFLOAT16 = 9,
    FLOAT8E4M3 = 10,
    FLOAT8E5M2 = 11
};

struct id {
    char bytes[128];
};

struct comm {
    MPI_Comm mpi;
    int is_world;
    int failed;
    int registered;  // buffers
};

// A send or receive between group start and end.
struct exchange {
    int is_send;
    void* buffer;
    int bytes;
    int peer;
    struct comm* comm;
    void* stream;
};

static const double milliseconds_of_collective = 8;

static char last_error[256];
static struct exchange queue[1024];
static int queued;
static int groups;
static int group_status;  // the first failure in a group, which its end returns

static int own_rank(void) {
    const char* rank = getenv("RANK");
    return rank != NULL ? atoi(rank) : 0;
}

static int is_own(const char* variable) {
    const char* rank = getenv(variable);
    return rank != NULL && atoi(rank) == own_rank();
}

static int fail(int status, const char* text) {
    snprintf(last_error, sizeof last_error, "%s", text);
    if (groups > 0 && group_status == SUCCESS) group_status = status;
    return status;
}

// What every call begins with.
static int enter(const char* function) {
    static pthread_t user;
    static int used;
    if (!used) user = pthread_self();
    used = 1;
    if (!pthread_equal(user, pthread_self())) return fail(INVALID_USAGE, "a second thread");
    char here[80];
    snprintf(here, sizeof here, "%d:%s", own_rank(), function);
    const char* failing = getenv("FAKE_NCCL_ERROR");
    if (failing == NULL || strcmp(failing, here) != 0) return SUCCESS;
    return fail(SYSTEM_ERROR, "socketPollConnect: connect to 10.0.0.7 failed\nNo route to host");
}

#define ENTER()                                 \
    do {                                        \
        const int entered = enter(__func__);    \
        if (entered != SUCCESS) return entered; \
    } while (0)

// Numbers of 16 bits: sign, 5 bits of exponent with bias 15, 10 of mantissa.
static float half_value(uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    const int mantissa = bits & 1023;
    const float value = exponent != 0 ? ldexpf((float)(mantissa | 1024), exponent - 25)
                                      : ldexpf((float)mantissa, -24);
    return bits & 0x8000 ? -value : value;
}

// Of what half_value() gives, and of sums that it can hold without rounding.
static uint16_t half_bits(float value) {
    int exponent = 0;
    const float mantissa = frexpf(fabsf(value), &exponent);
    if (mantissa == 0) return 0;
    const int bits = (exponent + 14) << 10 | ((int)ldexpf(mantissa, 11) & 1023);
    return (uint16_t)(bits | (value < 0 ? 0x8000 : 0));
}

static float bfloat_value(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value = 0;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static uint16_t bfloat_bits(float value) {
    uint32_t wide = 0;
    memcpy(&wide, &value, sizeof wide);
    return (uint16_t)(wide >> 16);
}

// Numbers of 8 bits: sign, 4 bits of exponent with bias 7, 3 of mantissa; and the upper half of 16.
static float e4m3_value(uint8_t bits) {
    return half_value((uint16_t)((bits & 0x80) << 8 | (bits & 0x7F) << 7)) * 256;
}

static uint8_t e4m3_bits(float value) {
    const uint16_t bits = half_bits(value / 256);
    return (uint8_t)((bits >> 8 & 0x80) | (bits >> 7 & 0x7F));
}

static MPI_Datatype mpi_type(int type) {
    switch (type) {
        case INT8:
            return MPI_INT8_T;
        case FLOAT8E4M3:
        case FLOAT8E5M2:
            return VERSION < 22400 ? MPI_DATATYPE_NULL : MPI_UINT8_T;
        case INT32:
            return MPI_INT32_T;
        case INT64:
            return MPI_INT64_T;
        case FLOAT32:
            return MPI_FLOAT;
        case FLOAT64:
            return MPI_DOUBLE;
        case FLOAT16:
        case BFLOAT16:
            return MPI_UINT16_T;
        default:
            return MPI_DATATYPE_NULL;
    }
}

static size_t bytes_of(size_t count, int type) {
    int size = 0;
    MPI_Type_size(mpi_type(type), &size);
    return count * (size_t)size;
}

static int ranks_of(const struct comm* comm) {
    int ranks = 0;
    MPI_Comm_size(comm->mpi, &ranks);
    return ranks;
}

static int rank_in(const struct comm* comm) {
    int rank = 0;
    MPI_Comm_rank(comm->mpi, &rank);
    return rank;
}

// So that no call must care whether it is in place.
static void* copy_of(const void* buffer, size_t bytes) {
    void* copy = malloc(bytes + 1);
    memcpy(copy, buffer, bytes);
    return copy;
}

static double load(int type, const void* element) {
    switch (type) {
        case INT8:
            return *(const int8_t*)element;
        case INT32:
            return *(const int32_t*)element;
        case INT64:
            return (double)*(const int64_t*)element;
        case FLOAT16:
            return half_value(*(const uint16_t*)element);
        case BFLOAT16:
            return bfloat_value(*(const uint16_t*)element);
        case FLOAT8E4M3:
            return e4m3_value(*(const uint8_t*)element);
        case FLOAT8E5M2:
            return half_value((uint16_t)(*(const uint8_t*)element << 8));
        case FLOAT32:
            return *(const float*)element;
        default:
            return *(const double*)element;
    }
}

static void store(int type, double value, void* element) {
    switch (type) {
        case INT8:
            *(int8_t*)element = (int8_t)(int64_t)value;
            break;
        case INT32:
            *(int32_t*)element = (int32_t)(int64_t)value;
            break;
        case INT64:
            *(int64_t*)element = (int64_t)value;
            break;
        case FLOAT16:
            *(uint16_t*)element = half_bits((float)value);
            break;
        case BFLOAT16:
            *(uint16_t*)element = bfloat_bits((float)value);
            break;
        case FLOAT8E4M3:
            *(uint8_t*)element = e4m3_bits((float)value);
            break;
        case FLOAT8E5M2:
            *(uint8_t*)element = (uint8_t)(half_bits((float)value) >> 8);
            break;
        case FLOAT32:
            *(float*)element = (float)value;
            break;
        default:
            *(double*)element = value;
    }
}

static double combined(int op, double a, double b) {
    switch (op) {
        case PROD:
            return a * b;
        case MAX:
            return a > b ? a : b;
        case MIN:
            return a < b ? a : b;
        default:
            return a + b;
    }
}

// Elements `first` to `first + count` of all ranks' `all` elements, computed by every rank.
static void reduce(const struct comm* comm, const void* sent, void* receive, size_t all,
                   size_t first, size_t count, int type, int op) {
    const size_t size = bytes_of(1, type);
    const int ranks = ranks_of(comm);
    char* gathered = malloc((size_t)ranks * all * size + 1);
    MPI_Allgather(sent, (int)(all * size), MPI_BYTE, gathered, (int)(all * size), MPI_BYTE,
                  comm->mpi);
    for (size_t i = 0; i < count; ++i) {
        double result = load(type, gathered + (first + i) * size);
        for (int rank = 1; rank < ranks; ++rank) {
            const size_t at = (size_t)rank * all + first + i;
            result = combined(op, result, load(type, gathered + at * size));
        }
        store(type, op == AVG ? result / ranks : result, (char*)receive + i * size);
    }
    free(gathered);
}

static int done(void* copy, void* stream) {
    free(copy);
    fake_cuda_collective(stream, milliseconds_of_collective);
    return SUCCESS;
}

int ncclGetVersion(int* version) {
    int rank = -1;
    int other = 0;
    const char* text = getenv("FAKE_NCCL_VERSION");
    const int is_given = text != NULL && sscanf(text, "%d:%d", &rank, &other) == 2;
    *version = is_given && rank == own_rank() ? other : VERSION;
    return SUCCESS;
}

const char* ncclGetErrorString(int status) {
    switch (status) {
        case SYSTEM_ERROR:
            return "unhandled system error";
        case INVALID_ARGUMENT:
            return "invalid argument";
        case INVALID_USAGE:
            return "invalid usage";
        case REMOTE_ERROR:
            return "remote process exited or there was a network error";
        default:
            return "no error";
    }
}

const char* ncclGetLastError(void* comm) {
    (void)comm;
    return last_error;
}

// Has every byte, also zeros and those above 127.
int ncclGetUniqueId(struct id* id) {
    ENTER();
    for (int i = 0; i < 128; ++i) id->bytes[i] = (char)(2 * i);
    return SUCCESS;
}

// One after the other in the order of the ranks: each GPU is another one.
static int judge_devices(int ranks) {
    struct {
        char node[60];
        int device;
    } own, all[64];
    memset(&own, 0, sizeof own);
    const char* node = getenv("NCCL_HOSTID");
    if (node == NULL) node = getenv("SLURMD_NODENAME");
    snprintf(own.node, sizeof own.node, "%s", node != NULL ? node : "");
    own.device = fake_cuda_device();
    MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, MPI_COMM_WORLD);
    for (int second = 0; second < ranks; ++second) {
        for (int first = 0; first < second; ++first) {
            if (memcmp(&all[first], &all[second], sizeof own) != 0) continue;
            char text[120];
            snprintf(text, sizeof text,
                     "Duplicate GPU detected : rank %d and rank %d both on CUDA device %x", second,
                     first, (unsigned)own.device);
            return fail(INVALID_USAGE, text);
        }
    }
    return SUCCESS;
}

static int judge_versions(int ranks) {
    int own = 0;
    int all[64];
    ncclGetVersion(&own);
    MPI_Allgather(&own, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int rank = 0; rank < ranks; ++rank) {
        if (all[rank] != own) return fail(INVALID_USAGE, "Mismatched NCCL version detected");
    }
    return SUCCESS;
}

int ncclCommInitRank(struct comm** made, int ranks, struct id id, int rank) {
    ENTER();
    struct id right;
    ncclGetUniqueId(&right);
    if (memcmp(&right, &id, sizeof id) != 0) return fail(INVALID_ARGUMENT, "wrong id");
    int is_begun = 0;
    MPI_Initialized(&is_begun);
    if (!is_begun) MPI_Init(NULL, NULL);
    struct comm world = {MPI_COMM_WORLD, 1, SUCCESS, 0};
    if (ranks_of(&world) != ranks || ranks > 64 || rank_in(&world) != rank) {
        return fail(INVALID_ARGUMENT, "not MPI's ranks");
    }
    int status = judge_versions(ranks);
    if (status == SUCCESS) status = judge_devices(ranks);
    if (status != SUCCESS) return status;
    *made = copy_of(&world, sizeof world);
    return SUCCESS;
}

#ifndef WITHOUT_SPLIT
int ncclCommSplit(struct comm* from, int colour, int key, struct comm** made, void* config) {
    ENTER();
    if (config != NULL) return fail(INVALID_ARGUMENT, "a configuration");
    if (groups > 0 || fake_cuda_is_busy()) return fail(INVALID_USAGE, "work is outstanding");
    struct comm part = {MPI_COMM_NULL, 0, SUCCESS, 0};
    MPI_Comm_split(from->mpi, colour == -1 ? MPI_UNDEFINED : colour, key, &part.mpi);
    *made = part.mpi == MPI_COMM_NULL ? NULL : copy_of(&part, sizeof part);
    return SUCCESS;
}
#endif

int ncclCommDestroy(struct comm* comm) {
    ENTER();
    if (fake_cuda_graphs() > 0) return fail(INVALID_USAGE, "a graph is left");
    if (comm->registered > 0) return fail(INVALID_USAGE, "a buffer is registered");
    MPI_Barrier(comm->mpi);
    if (comm->is_world) {
        MPI_Finalize();
    } else {
        MPI_Comm_free(&comm->mpi);
    }
    free(comm);
    return SUCCESS;
}

#ifndef WITHOUT_MEM_ALLOC
static char* allocated[16];  // by ncclMemAlloc
static int allocations;

int ncclMemAlloc(void** memory, size_t bytes) {
    ENTER();
    if (allocations == 16) return fail(SYSTEM_ERROR, "too many buffers");
    *memory = allocated[allocations++] = malloc(bytes);
    memset(*memory, 0x55, bytes);
    return SUCCESS;
}

int ncclCommRegister(struct comm* comm, void* buffer, size_t bytes, void** handle) {
    ENTER();
    for (int i = 0; i < allocations; ++i) {
        if (allocated[i] != buffer || bytes == 0) continue;
        ++comm->registered;
        *handle = buffer;
        return SUCCESS;
    }
    return fail(INVALID_ARGUMENT, "not a buffer of ncclMemAlloc");
}

int ncclCommDeregister(struct comm* comm, void* handle) {
    ENTER();
    if (comm->registered == 0 || handle == NULL) return fail(INVALID_ARGUMENT, "no such buffer");
    --comm->registered;
    return SUCCESS;
}
#endif

int ncclCommGetAsyncError(struct comm* comm, int* error) {
    *error = comm->failed;
    return SUCCESS;
}

int ncclAllReduce(const void* send, void* receive, size_t count, int type, int op,
                  struct comm* comm, void* stream) {
    ENTER();
    if (op < SUM || op > AVG) return fail(INVALID_ARGUMENT, "not an operation");
    void* sent = copy_of(send, bytes_of(count, type));
    reduce(comm, sent, receive, count, 0, count, type, op);
    if (count == 1) return done(sent, stream);  // a barrier
    if (is_own("FAKE_NCCL_DIES")) _exit(1);
    if (is_own("FAKE_NCCL_HANG")) {
        fake_cuda_hang(stream);
        comm->failed = fail(REMOTE_ERROR, "connection closed by remote peer 10.0.0.7");
    }
    return done(sent, stream);
}

int ncclBroadcast(const void* send, void* receive, size_t count, int type, int root,
                  struct comm* comm, void* stream) {
    ENTER();
    const size_t bytes = bytes_of(count, type);
    void* sent = copy_of(send, bytes);
    MPI_Bcast(sent, (int)count, mpi_type(type), root, comm->mpi);
    memcpy(receive, sent, bytes);
    return done(sent, stream);
}

int ncclReduce(const void* send, void* receive, size_t count, int type, int op, int root,
               struct comm* comm, void* stream) {
    ENTER();
    if (op < SUM || op > AVG) return fail(INVALID_ARGUMENT, "not an operation");
    void* sent = copy_of(send, bytes_of(count, type));
    reduce(comm, sent, receive, count, 0, rank_in(comm) == root ? count : 0, type, op);
    return done(sent, stream);
}

int ncclAllGather(const void* send, void* receive, size_t count, int type, struct comm* comm,
                  void* stream) {
    ENTER();
    void* sent = copy_of(send, bytes_of(count, type));
    MPI_Allgather(sent, (int)count, mpi_type(type), receive, (int)count, mpi_type(type), comm->mpi);
    return done(sent, stream);
}

int ncclReduceScatter(const void* send, void* receive, size_t count, int type, int op,
                      struct comm* comm, void* stream) {
    ENTER();
    if (op < SUM || op > AVG) return fail(INVALID_ARGUMENT, "not an operation");
    const size_t all = count * (size_t)ranks_of(comm);
    void* sent = copy_of(send, bytes_of(all, type));
    reduce(comm, sent, receive, all, (size_t)rank_in(comm) * count, count, type, op);
    return done(sent, stream);
}

#ifndef WITHOUT_ALL_TO_ALL
int ncclAlltoAll(const void* send, void* receive, size_t count, int type, struct comm* comm,
                 void* stream) {
    ENTER();
    void* sent = copy_of(send, bytes_of(count, type) * (size_t)ranks_of(comm));
    MPI_Alltoall(sent, (int)count, mpi_type(type), receive, (int)count, mpi_type(type), comm->mpi);
    return done(sent, stream);
}
#endif

// Outside of a group a send would wait for its receive.
static int enqueue(struct exchange exchange) {
    if (groups == 0) return fail(INVALID_USAGE, "not in a group");
    queue[queued++] = exchange;
    return SUCCESS;
}

int ncclSend(const void* buffer, size_t count, int type, int peer, struct comm* comm,
             void* stream) {
    ENTER();
    return enqueue((struct exchange){1, (void*)(uintptr_t)buffer, (int)bytes_of(count, type), peer,
                                     comm, stream});
}

int ncclRecv(void* buffer, size_t count, int type, int peer, struct comm* comm, void* stream) {
    ENTER();
    return enqueue((struct exchange){0, buffer, (int)bytes_of(count, type), peer, comm, stream});
}

int ncclGroupStart(void) {
    ENTER();
    ++groups;
    return SUCCESS;
}

int ncclGroupEnd(void) {
    ENTER();
    if (--groups > 0 || queued == 0 || group_status != SUCCESS) return group_status;
    MPI_Request requests[1024];
    for (int i = 0; i < queued; ++i) {
        const struct exchange* one = &queue[i];
        if (one->is_send) {
            MPI_Isend(one->buffer, one->bytes, MPI_BYTE, one->peer, 0, one->comm->mpi,
                      &requests[i]);
        } else {
            MPI_Irecv(one->buffer, one->bytes, MPI_BYTE, one->peer, 0, one->comm->mpi,
                      &requests[i]);
        }
    }
    MPI_Waitall(queued, requests, MPI_STATUSES_IGNORE);
    void* stream = queue[0].stream;
    queued = 0;
    return done(NULL, stream);
}
