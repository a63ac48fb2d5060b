// The control channel: a TCP connection from every rank to rank 0, beside the library that is
// measured. Texts go over it between the measurements; a thread of its own notices ranks that
// died, and ranks that make no progress.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "base/secret.h"
#include "bootstrap/membership.h"
#include "results/results.h"

#include <tl/expected.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace distgpu::scaling {

// How a run ends before its end.
struct Ending {
    ExitCode code = ExitCode::environment;
    Failure failure;
};

// Ends the process; called from any thread.
using End = std::function<void(const Ending&)>;

// Every rank calls gather() and broadcast() in the same order. Where a rank is lost End is called;
// if that returns, they return nothing.
class Channel {
  public:
    Channel() = default;
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;
    virtual ~Channel() = default;

    // All ranks, as they said themselves.
    virtual const std::vector<Peer>& peers() const = 0;

    // On rank 0: the texts of all ranks, by rank. On others: empty, at once. No text has a '\n'.
    virtual std::vector<std::string> gather(const std::string& text) = 0;

    // The text of rank 0.
    virtual std::string broadcast(const std::string& text) = 0;

    // What follows is called `phase`. Rank 0 ends the run where no rank has made progress, as
    // made_progress() says, for the time-out.
    virtual void begin(const std::string& phase) = 0;
    virtual void made_progress() = 0;

    // This rank cannot go on, and so the run ends. Returns once End was called.
    virtual void fail(ExitCode code, const std::string& problem) = 0;

    // The run is over: from here on ranks may leave. Every rank calls it, and waits for rank 0.
    virtual void finish() = 0;
};

// read(fields) of the JSON object that this rank has sent. Error (object: "rank 3 on node02"): the
// text is malformed, and what was read of it is to be dropped.
std::optional<Error> read_answer(const std::vector<Peer>& peers, std::uint32_t rank,
                                 std::string_view text,
                                 const std::function<void(const JsonFields&)>& read);

// gather() of numbers. On rank 0: those of all ranks, by rank. On others: empty.
Result<std::vector<std::vector<double>>> gather_numbers(Channel& channel,
                                                        const std::vector<double>& own);

// broadcast() of indices below `size`.
Result<std::vector<std::uint32_t>> broadcast_indices(Channel& channel,
                                                     const std::vector<std::uint32_t>& own,
                                                     std::size_t size);

struct ChannelOptions {
    std::chrono::milliseconds timeout{};
    RankNames names;                 // of ranks that have not been heard of
    End end;                         // called at most once, by any thread
    std::optional<Secret> secret{};  // of the step; nothing: distgpu did not prepare it
    // Of what rank 0 tells though the run goes on.
    std::function<void(const Error&)> warn = [](const Error&) {};
};

// Rank 0 listens, the others connect to it, all learn of all.
// Endings: a rank that is missing at the time-out (rank 0 names those), a port that is taken, an
// address that nobody has.
tl::expected<std::unique_ptr<Channel>, Ending> open_channel(const Membership& own,
                                                            const ChannelOptions& options);

// Rank 0 has a connection to every rank, and NCCL and MPI have some for each rank that they talk
// to. Nothing: rank 0 can hold the connections of a run of so many ranks. Error: names the number
// of open files that it needs.
std::optional<Error> lack_of_open_files(std::uint32_t world_size);

}  // namespace distgpu::scaling
