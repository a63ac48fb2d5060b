// What is used of NCCL. Declared here, since the program is built without NCCL's header and runs
// without its library. Values and signatures: NCCL's API reference, from 2.18 on, which brought
// ncclCommSplit. Every communicator has the library's default configuration, so that no
// ncclConfig_t, whose layout grows with the versions, is passed.
#pragma once

#include "base/io/shared_library.h"
#include "base/result.h"
#include "results/results.h"

#include <array>
#include <cstddef>
#include <string>

namespace distgpu::scaling::nccl {

using Status = int;          // ncclResult_t
using Communicator = void*;  // ncclComm_t
using Stream = void*;        // cudaStream_t, which is the driver's CUstream

inline constexpr Status success = 0;
inline constexpr Status invalid_usage = 5;
inline constexpr Status remote_error = 6;
inline constexpr Status in_progress = 7;
inline constexpr int no_colour = -1;  // NCCL_SPLIT_NOCOLOR

struct UniqueId {
    std::array<char, 128> bytes;
};

// ncclDataType_t
constexpr int type_of(DataType type) {
    switch (type) {
        case DataType::i8:
            return 0;
        case DataType::i32:
            return 2;
        case DataType::i64:
            return 4;
        case DataType::f16:
            return 6;
        case DataType::f32:
            return 7;
        case DataType::f64:
            return 8;
        case DataType::f8e4m3:
            return 10;
        case DataType::f8e5m2:
            return 11;
        case DataType::bf16:
            break;
    }
    return 9;
}

// ncclRedOp_t
constexpr int op_of(Op op) {
    return static_cast<int>(op);
}

// 21805 -> "2.18.5": major * 10000 + minor * 100 + patch.
std::string version_text(int version);

struct Library {
    std::string path;
    std::string version;
    int version_code = 0;  // 21805
    Status (*get_version)(int* version);
    const char* (*error_string)(Status status);
    const char* (*last_error)(Communicator communicator);
    Status (*get_unique_id)(UniqueId* id);
    Status (*init_rank)(Communicator* made, int ranks, UniqueId id, int rank);
    Status (*split)(Communicator from, int colour, int key, Communicator* made, void* config);
    Status (*destroy)(Communicator communicator);
    Status (*async_error)(Communicator communicator, Status* error);
    Status (*all_reduce)(const void* send, void* receive, std::size_t count, int type, int op,
                         Communicator communicator, Stream stream);
    Status (*broadcast)(const void* send, void* receive, std::size_t count, int type, int root,
                        Communicator communicator, Stream stream);
    Status (*reduce)(const void* send, void* receive, std::size_t count, int type, int op, int root,
                     Communicator communicator, Stream stream);
    Status (*all_gather)(const void* send, void* receive, std::size_t count, int type,
                         Communicator communicator, Stream stream);
    Status (*reduce_scatter)(const void* send, void* receive, std::size_t count, int type, int op,
                             Communicator communicator, Stream stream);
    // From 2.28 on; null: the library is older.
    Status (*all_to_all)(const void* send, void* receive, std::size_t count, int type,
                         Communicator communicator, Stream stream);
    Status (*send)(const void* from, std::size_t count, int type, int peer,
                   Communicator communicator, Stream stream);
    Status (*receive)(void* to, std::size_t count, int type, int peer, Communicator communicator,
                      Stream stream);
    // From 2.19 on; null: the library is older.
    Status (*allocate)(void** memory, std::size_t bytes);
    Status (*register_buffer)(Communicator communicator, void* buffer, std::size_t bytes,
                              void** handle);
    Status (*deregister_buffer)(Communicator communicator, void* handle);
    Status (*group_start)();
    Status (*group_end)();
};

// Errors (object: libnccl.so.2): not found; too old, naming what it lacks.
Result<Library> load_library();

}  // namespace distgpu::scaling::nccl
