// Runs and times one operation on one rank, and checks its result.
#pragma once

#include "backend/backend.h"
#include "base/result.h"
#include "results/results.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace distgpu::scaling {

// Test data for one operation on one rank, with which a wrong element of the result is recognized:
// small integers that differ between ranks and between elements. The data type holds their sums
// exactly, whatever the order of the additions.
class TestPattern {
  public:
    TestPattern(const Operation& operation, GroupRank self);

    // The value of an element in the rank's send buffer. The values repeat after `period` elements,
    // a prime, so that data shifted by a power of two is recognized.
    std::uint32_t sent(std::size_t element) const { return value(self_.rank, element); }
    static constexpr std::size_t period = 4093;

    // The correct value of an element in its receive buffer; never 0.
    std::uint32_t received(std::size_t element) const;

  private:
    std::uint32_t value(std::uint32_t rank, std::size_t element) const;
    std::uint32_t sum(std::size_t element) const;

    Operation operation_;
    GroupRank self_;
    std::size_t count_;  // BufferSizes::count
    // Number of ranks that contribute to an element of a sum; the others send 0. Not all ranks can
    // if the type holds fewer than 2 * ranks integers.
    std::uint32_t contributors_;
    std::uint32_t max_value_;  // that a rank contributes
};

// The parts of a buffer that are compared: 64 pieces of 256 elements, evenly spread from the first
// element to the last.
struct Piece {
    std::size_t first = 0;
    std::size_t count = 0;

    bool operator==(const Piece&) const = default;
};
std::vector<Piece> pieces_to_check(std::size_t elements);

struct LoopOptions {
    std::uint32_t warmup = 0;
    std::optional<std::size_t> corrupt_element;  // for tests: of this rank's results
    std::function<void()> report_progress;
};

// Object of an error for a wrong result.
inline constexpr const char* wrong_data = "wrong data";

class Measurer {
  public:
    // Allocates two buffers of `bytes` each.
    static Result<Measurer> make(Backend& backend, LoopOptions options, std::size_t bytes);

    // Runs the operation once with the test pattern if `checked`, and then the warm-up. Returns the
    // seconds of the last warm-up run. Errors: a wrong result (object: wrong_data), or an error of
    // the back end. Precondition: buffer_sizes(operation).count > 0.
    Result<double> warm_up(Communicator& group, GroupRank self, const Operation& operation,
                           bool checked);

    // Starts after a barrier of the group. Returns the seconds from the begin of the loop to the
    // end of each iteration on this rank.
    Result<std::vector<double>> time(Communicator& group, GroupRank self,
                                     const Operation& operation, std::uint32_t iterations) const;

  private:
    Measurer(Backend& backend, LoopOptions options)
        : backend_(&backend), options_(std::move(options)) {}

    std::optional<Error> run(Communicator& group, const Call& call) const;
    std::optional<Error> check(Communicator& group, GroupRank self, const Operation& operation,
                               const Call& call);
    std::optional<Error> fill(std::byte* to, std::size_t bytes, std::vector<std::byte> tile) const;
    std::optional<Error> compare(const TestPattern& pattern, DataType type,
                                 const std::byte* received, const Piece& piece) const;

    Backend* backend_;
    LoopOptions options_;
    std::byte* send_ = nullptr;
    std::byte* receive_ = nullptr;
};

}  // namespace distgpu::scaling
