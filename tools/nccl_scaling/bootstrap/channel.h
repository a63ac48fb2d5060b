// The control channel: a TCP connection from every rank to rank 0, independent of the measured
// library. It carries texts between the measurements; a separate thread notices ranks that died or
// make no progress.
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

// Why a run ends early, and with which exit status.
struct Termination {
    ExitCode code = ExitCode::environment;
    Failure failure;
};

// Ends the process; can be called from any thread.
using TerminationHandler = std::function<void(const Termination&)>;

// Every rank calls gather() and broadcast() in the same order. If a rank is lost, the
// TerminationHandler is called; if that returns, both return empty values.
class Channel {
  public:
    Channel() = default;
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;
    virtual ~Channel() = default;

    // All ranks, by rank.
    virtual const std::vector<Peer>& peers() const = 0;

    // Returns the texts of all ranks on rank 0; on the others it is empty and does not wait. No
    // text may contain '\n'.
    virtual std::vector<std::string> gather(const std::string& text) = 0;

    // Returns the text of rank 0.
    virtual std::string broadcast(const std::string& text) = 0;

    // `phase` names what follows, for failures. Rank 0 ends the run if no rank calls
    // report_progress() within the time-out.
    virtual void begin_phase(const std::string& phase) = 0;
    virtual void report_progress() = 0;

    // Ends the run because this rank cannot continue. Returns after the TerminationHandler did.
    virtual void fail(ExitCode code, const std::string& problem) = 0;

    // Ends the channel, after which ranks may exit. Every rank calls it, and waits for rank 0.
    virtual void finish() = 0;
};

// Calls `read` with the fields of the JSON object that the rank has sent. Error (object: "rank 3 on
// node02"): the text is malformed, and the values read from it are invalid.
std::optional<Error> read_answer(const std::vector<Peer>& peers, std::uint32_t rank,
                                 std::string_view text,
                                 const std::function<void(const JsonFields&)>& read);

// gather() for numbers: those of all ranks on rank 0, empty on the others.
Result<std::vector<std::vector<double>>> gather_numbers(Channel& channel,
                                                        const std::vector<double>& own);

// broadcast() for indices below `size`.
Result<std::vector<std::uint32_t>> broadcast_indices(Channel& channel,
                                                     const std::vector<std::uint32_t>& own,
                                                     std::size_t size);

struct ChannelOptions {
    std::chrono::milliseconds timeout{};
    RankNames names;                    // of ranks that have not connected
    TerminationHandler on_termination;  // called at most once, from any thread
    std::optional<Secret> secret{};     // of the step; nullopt without distgpu
    // Prints a warning on rank 0; the run continues.
    std::function<void(const Error&)> warn = [](const Error&) {};
};

// Rank 0 listens, the others connect to it, and all get the list of ranks. Errors: ranks missing at
// the time-out (named by rank 0), a port already in use, an unknown address.
tl::expected<std::unique_ptr<Channel>, Termination> open_channel(const Membership& own,
                                                                 const ChannelOptions& options);

// Checks that rank 0's limit of open files suffices: it has a connection to every rank, and NCCL
// and MPI have some for each rank that they communicate with. The error has the needed number.
std::optional<Error> check_open_file_limit(std::uint32_t world_size);

}  // namespace distgpu::scaling
