// A rank's GPU in the nccl back end: the used part of CUDA's driver API and of NCCL, the stream of
// the collectives, error messages for status codes, and a communicator.
//
// The APIs are declared here because the program is built without their headers and must start
// without their libraries.
#pragma once

#include "backend/backend.h"
#include "base/result.h"

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace distgpu::scaling {

// Values and signatures: CUDA Driver API manual. Since CUDA 4, cuda.h maps the plain names to the
// _v2 functions.
namespace cuda {

using Status = int;  // CUresult
using Device = int;  // CUdevice
using Context = void*;
using Stream = void*;
using Event = void*;
using Address = unsigned long long;  // CUdeviceptr

inline constexpr Status success = 0;
inline constexpr Status not_initialized = 3;
inline constexpr Status stub_library = 34;
inline constexpr Status device_unavailable = 46;
inline constexpr Status no_device = 100;
inline constexpr Status invalid_device = 101;
inline constexpr Status not_ready = 600;
inline constexpr Status system_not_ready = 802;
inline constexpr Status system_driver_mismatch = 803;
inline constexpr Status compat_not_supported = 804;
inline constexpr Status unknown = 999;
inline constexpr unsigned non_blocking = 1;  // CU_STREAM_NON_BLOCKING
inline constexpr int clock_rate = 13;        // CU_DEVICE_ATTRIBUTE_CLOCK_RATE, in kHz

struct Uuid {
    std::array<unsigned char, 16> bytes;
};

struct Driver {
    Status (*init)(unsigned flags);
    Status (*driver_version)(int* version);  // 12040: 12.4
    Status (*error_string)(Status status, const char** text);
    Status (*device_count)(int* count);
    Status (*device_get)(Device* device, int ordinal);
    Status (*device_name)(char* name, int length, Device device);
    Status (*device_uuid)(Uuid* uuid, Device device);
    Status (*device_attribute)(int* value, int attribute, Device device);
    Status (*retain_primary_context)(Context* context, Device device);
    Status (*set_current_context)(Context context);
    Status (*create_stream)(Stream* stream, unsigned flags);
    Status (*query_stream)(Stream stream);
    Status (*synchronize_stream)(Stream stream);
    Status (*allocate)(Address* address, std::size_t bytes);
    Status (*copy_to_device)(Address to, const void* from, std::size_t bytes, Stream stream);
    Status (*copy_within)(Address to, Address from, std::size_t bytes, Stream stream);
    Status (*copy_to_host)(void* to, Address from, std::size_t bytes);
    Status (*create_event)(Event* event, unsigned flags);
    Status (*record_event)(Event event, Stream stream);
    Status (*query_event)(Event event);
    Status (*elapsed)(float* milliseconds, Event begin, Event end);
};

}  // namespace cuda

// Values and signatures: NCCL's API reference, from 2.18 on, which introduced ncclCommSplit. Every
// communicator has the default configuration, so that no ncclConfig_t is passed, whose layout grows
// from version to version.
namespace nccl {

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

inline constexpr int sum = 0;  // ncclRedOp_t

// ncclDataType_t
constexpr int type_of(DataType type) {
    if (type == DataType::f32) return 7;
    return type == DataType::f16 ? 6 : 9;
}

// 21805 -> "2.18.5": major * 10000 + minor * 100 + patch.
std::string version_text(int version);

struct Library {
    std::string path;
    std::string version;
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
    Status (*all_gather)(const void* send, void* receive, std::size_t count, int type,
                         Communicator communicator, Stream stream);
    Status (*reduce_scatter)(const void* send, void* receive, std::size_t count, int type, int op,
                             Communicator communicator, Stream stream);
    // Null before 2.28.
    Status (*all_to_all)(const void* send, void* receive, std::size_t count, int type,
                         Communicator communicator, Stream stream);
    Status (*send)(const void* from, std::size_t count, int type, int peer,
                   Communicator communicator, Stream stream);
    Status (*receive)(void* to, std::size_t count, int type, int peer, Communicator communicator,
                      Stream stream);
    Status (*group_start)();
    Status (*group_end)();
};

}  // namespace nccl

struct Gpu {
    cuda::Driver cuda;
    nccl::Library nccl;
    cuda::Stream stream = nullptr;
    std::vector<cuda::Event> events{};  // with which NcclCommunicator times the collectives

    // nullopt on success, otherwise an error with the library's own text if it has one.
    std::optional<Error> error_of(cuda::Status status, const char* function) const;
    std::optional<Error> error_of_nccl(nccl::Status status, const char* function,
                                       nccl::Communicator communicator) const;

    Result<std::byte*> allocate(std::size_t bytes) const;
};

// Collectives of NCCL among some ranks.
class NcclCommunicator final : public Communicator {
  public:
    // `token`: one float in GPU memory, for the barrier. The GPU must outlive this object.
    NcclCommunicator(const Gpu& gpu, nccl::Communicator communicator, GroupRank self,
                     std::byte* token)
        : gpu_(gpu), communicator_(communicator), self_(self), token_(token) {}

    std::optional<Error> run(const Call& call) override;

    // Uses the events of `gpu`, at least three. At most one collective less than there are events
    // is in flight, so that the GPU never waits for this process, and progress is visible.
    Result<std::vector<double>> time(const Call& call, std::uint32_t iterations,
                                     const std::function<void()>& report_progress) override;

    // Returns an error if another rank's failure leaves the collective hanging.
    std::optional<Error> synchronize() override;
    std::optional<Error> barrier() override;
    std::optional<Error> close() override;

  private:
    template <class Query>
    std::optional<Error> wait_for(const char* function, const Query& query);
    nccl::Status start(const Call& call, int type);
    nccl::Status exchange(const Call& call, int type);

    const Gpu& gpu_;
    nccl::Communicator communicator_;
    GroupRank self_;
    std::byte* token_;
};

}  // namespace distgpu::scaling
