// One operation as one rank runs and times it.
#pragma once

#include "backend/backend.h"
#include "bootstrap/ending.h"
#include "run/check.h"
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

    // One run with known data, if it is `checked`, and the warm-up: the seconds of its last run.
    // Precondition: extent_of(operation).count > 0.
    tl::expected<double, Fault> warm_up(Communicator& group, Seat seat, const Subject& operation,
                                        bool checked);

    // After a barrier of the group, the seconds from the begin of the loop to the end of each
    // iteration on this rank.
    tl::expected<std::vector<double>, Fault> time(Communicator& group, Seat seat,
                                                  const Subject& operation,
                                                  std::uint32_t iterations) const;

    // Of all ranks at the same time; none where the buffers are so small that caches would be
    // measured. The buffers' content is lost.
    Result<Rates> copy_rates() const;

  private:
    Measurer(Backend& backend, Loop loop, std::size_t bytes)
        : backend_(&backend), loop_(std::move(loop)), bytes_(bytes) {}

    std::optional<Fault> run(Communicator& group, const Call& call) const;
    std::optional<Fault> check(Communicator& group, Seat seat, const Subject& operation,
                               const Call& call);
    std::optional<Fault> fill(std::byte* to, std::size_t bytes, const Repeated& content) const;
    std::optional<Fault> corrupt(std::byte* place) const;
    std::optional<Fault> compare(DataType type, const std::byte* received,
                                 const KnownData& right) const;

    Backend* backend_;
    Loop loop_;
    std::size_t bytes_;
    std::byte* send_ = nullptr;
    std::byte* receive_ = nullptr;
};

}  // namespace distgpu::scaling
