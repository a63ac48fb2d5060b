// The interface of the back ends, which run the collectives. A process makes all calls from one
// thread. An std::optional<Error> is nullopt on success.
#pragma once

#include "base/result.h"
#include "results/results.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distgpu::scaling {

// This process among all processes of the run.
struct Member {
    std::uint32_t rank = 0;
    std::uint32_t world_size = 0;
    std::uint32_t local_rank = 0;
};

// This process's rank in a group, and the group's number of ranks.
struct GroupRank {
    std::uint32_t rank = 0;
    std::uint32_t size = 0;
};

// Returns rank 0's text on every rank. Every rank calls it; the other ranks' texts are ignored.
using Broadcast = std::function<std::string(const std::string&)>;

// Library and device of one process.
struct Description {
    // Library, its path and version, driver, ...; must be equal on all ranks.
    Fingerprint fingerprint;
    std::string gpu;  // model and UUID; empty with host memory
};

// One call of a collective, with buffers laid out as in NCCL. Reductions compute sums, and the root
// is the group's rank 0. In place means: send == receive for all-reduce and broadcast; send is the
// own part of receive for all-gather; receive is the own part of send for reduce-scatter.
struct Call {
    Collective collective = Collective::all_reduce;
    DataType type = DataType::f32;
    std::size_t count = 0;      // BufferSizes::count
    std::byte* send = nullptr;  // only read by the call
    std::byte* receive = nullptr;
};

// A group of ranks that communicate.
class Communicator {
  public:
    Communicator() = default;
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    virtual ~Communicator() = default;

    // Starts a collective on the buffers.
    virtual std::optional<Error> run(const Call& call) = 0;

    // Waits until the collectives that run() started are done and the buffers hold the results.
    virtual std::optional<Error> synchronize() = 0;

    // Runs a collective `iterations` times, one right after the other. Returns the seconds from the
    // begin of the loop to the end of each. Calls `report_progress` as they end.
    virtual Result<std::vector<double>> time(const Call& call, std::uint32_t iterations,
                                             const std::function<void()>& report_progress) = 0;

    // Waits for all ranks of this communicator.
    virtual std::optional<Error> barrier() = 0;

    // Frees the communicator. Every rank calls it, for several communicators in the same order. Not
    // to be called after an error, because it may wait for the other ranks.
    virtual std::optional<Error> close() = 0;
};

class Backend {
  public:
    Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;
    virtual ~Backend() = default;

    // Returns this rank's library and device. Every rank calls it once and first; it does not wait
    // for other ranks.
    virtual Result<Description> start(const Member& member) = 0;

    // Connects the ranks. Every rank calls it once, after the fingerprints were found to be equal.
    virtual std::optional<Error> connect(const Broadcast& broadcast) = 0;

    // Every rank calls it. Ranks with the same colour form a communicator, in which this rank
    // becomes `self`. Returns null if there is no colour.
    virtual Result<std::unique_ptr<Communicator>> split(std::optional<std::uint32_t> colour,
                                                        GroupRank self) = 0;

    // Waits for all ranks of the run.
    virtual std::optional<Error> barrier() = 0;

    // True if the library has the operation, whatever its size. Others are not measured.
    virtual bool supports(const Operation& operation) const = 0;

    // Memory for collectives; freed when the back end ends.
    virtual Result<std::byte*> allocate(std::size_t bytes) = 0;

    // Copy to, from and within that memory.
    virtual std::optional<Error> upload(std::byte* to, std::span<const std::byte> from) = 0;
    virtual std::optional<Error> download(std::span<std::byte> to, const std::byte* from) = 0;
    virtual std::optional<Error> copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;

    // Every rank calls it last, after the last communicator is closed.
    virtual std::optional<Error> finish() = 0;
};

// Uses dlopen, so that the program starts without NCCL and can report that it is missing.
Result<std::unique_ptr<Backend>> load_nccl_backend();

}  // namespace distgpu::scaling
