// What runs the collectives: the interface of every back end. All calls of a process come from
// one thread. Nothing instead of an Error: done.
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

// This process among all of the run.
struct Member {
    std::uint32_t rank = 0;
    std::uint32_t world_size = 0;
    std::uint32_t local_rank = 0;
};

// This process in a group.
struct Seat {
    std::uint32_t rank = 0;   // in the group
    std::uint32_t ranks = 0;  // of the group
};

// Hands rank 0's text to every rank. Every rank calls it, the others' texts are ignored.
using Broadcast = std::function<std::string(const std::string&)>;

// What a back end says of one process.
struct Description {
    // library, its path and version, driver, ...; must be equal on all ranks
    Fingerprint fingerprint;
    std::string gpu;  // model and UUID; empty: host memory
};

// One call of a collective, with the buffers as NCCL has them; reductions compute sums, the root is
// the group's rank 0. Which elements go where: flow_of(). In place: all-reduce and broadcast send
// == receive; all-gather send is the own part of receive; reduce-scatter receive is the own part of
// send.
struct Call {
    Collective collective = Collective::all_reduce;
    DataType type = DataType::f32;
    std::size_t count = 0;      // Extent::count
    std::byte* send = nullptr;  // only read by the call
    std::byte* receive = nullptr;
};

// Some ranks that communicate.
class Communicator {
  public:
    Communicator() = default;
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    virtual ~Communicator() = default;

    // Starts a collective on the buffers.
    virtual std::optional<Error> run(const Call& call) = 0;

    // Waits until what run() started is done and the buffers hold its result.
    virtual std::optional<Error> synchronize() = 0;

    // Runs a collective so many times, one right after the other. The seconds from the begin to the
    // end of each. Calls `made_progress` as they end.
    virtual Result<std::vector<double>> time(const Call& call, std::uint32_t iterations,
                                             const std::function<void()>& made_progress) = 0;

    // Waits for all ranks of this communicator.
    virtual std::optional<Error> barrier() = 0;

    // Frees it: every rank calls it, of several in the same order. Not called after an error, as it
    // may wait for the other ranks; then the process ends with it.
    virtual std::optional<Error> close() = 0;
};

class Backend {
  public:
    Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;
    virtual ~Backend() = default;

    // What this rank has. Every rank calls it once, first; waits for none.
    virtual Result<Description> start(const Member& member) = 0;

    // Connects the ranks. Every rank calls it once, when the descriptions were found alike.
    virtual std::optional<Error> connect(const Broadcast& broadcast) = 0;

    // Every rank calls it; those with the same colour become one communicator, in the order of
    // their seats. Without a colour: null. `seat`: what this rank gets there.
    virtual Result<std::unique_ptr<Communicator>> split(std::optional<std::uint32_t> colour,
                                                        Seat seat) = 0;

    // Waits for all ranks of the run.
    virtual std::optional<Error> barrier() = 0;

    // Whether the library has this, in whatever size; what it has not is not measured.
    virtual bool offers(const Subject& subject) const = 0;

    // Memory that collectives work on, until the back end ends.
    virtual Result<std::byte*> allocate(std::size_t bytes) = 0;

    // Copies to, from and within that memory.
    virtual std::optional<Error> upload(std::byte* to, std::span<const std::byte> from) = 0;
    virtual std::optional<Error> download(std::span<std::byte> to, const std::byte* from) = 0;
    virtual std::optional<Error> copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;

    // Every rank calls it last, after the last communicator is closed.
    virtual std::optional<Error> finish() = 0;
};

// By dlopen: the program also starts where NCCL is missing, and says so.
Result<std::unique_ptr<Backend>> load_nccl_backend();

}  // namespace distgpu::scaling
