// One operation as one rank runs and times it.
#pragma once

#include "backend/backend.h"
#include "bootstrap/ending.h"
#include "run/operation.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace distgpu::scaling {

struct Loop {
    std::uint32_t warmup = 0;
    std::uint32_t iterations = 0;
    std::optional<std::size_t> corrupt;  // an element of this rank's results
    std::function<void()> made_progress;
};

// Why a rank cannot go on.
struct Fault {
    ExitCode code = ExitCode::environment;
    std::string problem;
};

Fault fault_of(const Error& error);
std::optional<Fault> fault_if(const std::optional<Error>& error);

class Measurer {
  public:
    // Two buffers of `bytes` each.
    static tl::expected<Measurer, Fault> make(Backend& backend, Loop loop, std::size_t bytes);

    // Seconds of each iteration on this rank: from after a barrier to the end of the collective,
    // by the wall clock. Before come one run with known data that is checked, and the warm-up.
    // Precondition: extent_of(operation).count > 0.
    tl::expected<std::vector<double>, Fault> measure(Communicator& group, Seat seat,
                                                     const Subject& operation);

  private:
    Measurer(Backend& backend, Loop loop) : backend_(&backend), loop_(std::move(loop)) {}

    std::optional<Fault> run(Communicator& group, const Call& call) const;
    std::optional<Fault> check(Communicator& group, Seat seat, const Subject& operation,
                               const Call& call);

    Backend* backend_;
    Loop loop_;
    std::byte* send_ = nullptr;
    std::byte* receive_ = nullptr;
    std::vector<std::byte> image_;  // of a buffer, in host memory
};

}  // namespace distgpu::scaling
