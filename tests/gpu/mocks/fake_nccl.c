// A mock of libnccl.so.2, because no GPU is here: NCCL's collectives on host memory over MPI. What
// NCCL's documentation forbids or asks of a program is an error here: calls from several threads,
// another id than ncclGetUniqueId() gave, a split while work is outstanding. What ends for all
// ranks together in NCCL waits for all of them here too.
//
// WITHOUT_ALL_TO_ALL, WITHOUT_SPLIT   when compiled: an older library
// VERSION                             when compiled: another than 22807
// FAKE_NCCL_VERSION=RANK:VERSION      another version on this rank
// FAKE_NCCL_ERROR=RANK:FUNCTION       on this rank the function fails
// FAKE_NCCL_DIES=RANK                 this rank dies in an all-reduce
// NCCL_HOSTID=NAME                    the host of this rank, as in NCCL; else SLURMD_NODENAME
// FAKE_NCCL_HANG=RANK                 all-reduces of this rank do not end, as another one is lost
#include "fake.h"

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
enum { SUM = 0 };                                 // ncclRedOp_t
enum { FLOAT16 = 6, FLOAT32 = 7, BFLOAT16 = 9 };  // ncclDataType_t

struct id {
    char bytes[128];
};

struct comm {
    MPI_Comm mpi;
    int is_world;
    int failed;
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

static char last_error[256];
static struct exchange queue[1024];
static int queued;
static int groups;
static int group_status;  // the first failure in a group, which its end returns

static int number(const char* variable, int otherwise) {
    const char* text = getenv(variable);
    return text != NULL ? atoi(text) : otherwise;
}

static int own_rank(void) {
    return number("RANK", 0);
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

static MPI_Datatype mpi_type(int type) {
    if (type == FLOAT32) return MPI_FLOAT;
    return type == FLOAT16 || type == BFLOAT16 ? MPI_UINT16_T : MPI_DATATYPE_NULL;
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

// A bfloat16 is the upper half of a float. Sums here need no rounding.
static float load(int type, const void* element) {
    if (type == FLOAT32) return *(const float*)element;
    if (type == FLOAT16) return (float)*(const _Float16*)element;
    const uint32_t bits = (uint32_t) * (const uint16_t*)element << 16;
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void store(int type, float value, void* element) {
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    if (type == FLOAT32) *(float*)element = value;
    if (type == FLOAT16) *(_Float16*)element = (_Float16)value;
    if (type == BFLOAT16) *(uint16_t*)element = (uint16_t)(bits >> 16);
}

// Elements `first` to `first + count` of all ranks' `all` elements, computed by every rank.
static void reduce(const struct comm* comm, const void* sent, void* receive, size_t all,
                   size_t first, size_t count, int type) {
    const size_t size = bytes_of(1, type);
    const int ranks = ranks_of(comm);
    char* gathered = malloc((size_t)ranks * all * size + 1);
    MPI_Allgather(sent, (int)(all * size), MPI_BYTE, gathered, (int)(all * size), MPI_BYTE,
                  comm->mpi);
    for (size_t i = 0; i < count; ++i) {
        float result = load(type, gathered + (first + i) * size);
        for (int rank = 1; rank < ranks; ++rank) {
            const size_t at = (size_t)rank * all + first + i;
            result += load(type, gathered + at * size);
        }
        store(type, result, (char*)receive + i * size);
    }
    free(gathered);
}

static int done(void* copy, void* stream) {
    free(copy);
    fake_cuda_put(stream, 8);
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
    static const char* const texts[] = {
        [SYSTEM_ERROR] = "unhandled system error",
        [INVALID_ARGUMENT] = "invalid argument",
        [INVALID_USAGE] = "invalid usage",
        [REMOTE_ERROR] = "remote process exited or there was a network error"};
    return texts[status] != NULL ? texts[status] : "no error";
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
    own.device = fake_cuda_device;
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

int ncclCommInitRank(struct comm** made, int ranks, struct id id, int rank) {
    ENTER();
    struct id right;
    ncclGetUniqueId(&right);
    if (memcmp(&right, &id, sizeof id) != 0) return fail(INVALID_ARGUMENT, "wrong id");
    int is_begun = 0;
    MPI_Initialized(&is_begun);
    if (!is_begun) MPI_Init(NULL, NULL);
    struct comm world = {MPI_COMM_WORLD, 1, SUCCESS};
    if (ranks_of(&world) != ranks || ranks > 64 || rank_in(&world) != rank) {
        return fail(INVALID_ARGUMENT, "not MPI's ranks");
    }
    const int status = judge_devices(ranks);
    if (status != SUCCESS) return status;
    *made = copy_of(&world, sizeof world);
    return SUCCESS;
}

#ifndef WITHOUT_SPLIT
int ncclCommSplit(struct comm* from, int colour, int key, struct comm** made, void* config) {
    ENTER();
    if (config != NULL) return fail(INVALID_ARGUMENT, "a configuration");
    if (groups > 0 || fake_cuda_is_busy()) return fail(INVALID_USAGE, "work is outstanding");
    struct comm part = {MPI_COMM_NULL, 0, SUCCESS};
    MPI_Comm_split(from->mpi, colour == -1 ? MPI_UNDEFINED : colour, key, &part.mpi);
    *made = part.mpi == MPI_COMM_NULL ? NULL : copy_of(&part, sizeof part);
    return SUCCESS;
}
#endif

int ncclCommDestroy(struct comm* comm) {
    ENTER();
    MPI_Barrier(comm->mpi);
    if (comm->is_world) {
        MPI_Finalize();
    } else {
        MPI_Comm_free(&comm->mpi);
    }
    free(comm);
    return SUCCESS;
}

int ncclCommGetAsyncError(struct comm* comm, int* error) {
    *error = comm->failed;
    return SUCCESS;
}

int ncclAllReduce(const void* send, void* receive, size_t count, int type, int op,
                  struct comm* comm, void* stream) {
    ENTER();
    if (op != SUM) return fail(INVALID_ARGUMENT, "not a sum");
    void* sent = copy_of(send, bytes_of(count, type));
    reduce(comm, sent, receive, count, 0, count, type);
    if (count == 1) return done(sent, stream);  // a barrier
    if (number("FAKE_NCCL_DIES", -1) == own_rank()) _exit(1);
    if (number("FAKE_NCCL_HANG", -1) == own_rank()) {
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
    if (op != SUM) return fail(INVALID_ARGUMENT, "not a sum");
    const size_t all = count * (size_t)ranks_of(comm);
    void* sent = copy_of(send, bytes_of(all, type));
    reduce(comm, sent, receive, all, (size_t)rank_in(comm) * count, count, type);
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
