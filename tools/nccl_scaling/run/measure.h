// One operation as one rank runs and times it, and whether its result is right.
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

// Known data by which a wrong element of a result is recognised: small integers that differ between
// ranks and between elements, and whose sum the type holds exactly in whatever order it is made.
// This is one rank's view of one operation with them.
class Check {
  public:
    Check(const Subject& subject, Seat seat);

    // What stands in an element of the rank's send buffer; it repeats after `period` elements, a
    // prime, so that no power of two shifts one onto its like.
    std::uint32_t sent(std::size_t element) const { return value(seat_.rank, element); }
    static constexpr std::size_t period = 4093;

    // What must stand in an element of its receive buffer: never 0.
    std::uint32_t received(std::size_t element) const;

  private:
    std::uint32_t value(std::uint32_t rank, std::size_t element) const;
    std::uint32_t sum(std::size_t element) const;

    Subject subject_;
    Seat seat_;
    std::size_t count_;       // Extent::count
    std::uint32_t speakers_;  // ranks with a say in an element of a sum, which has room for a few
                              // where the type holds fewer than 2 * ranks integers; others have 0
    std::uint32_t largest_;
};

// The parts of a buffer that are compared: 64 pieces of 256 elements, spread over all of it, from
// the first element to the last.
struct Piece {
    std::size_t first = 0;
    std::size_t count = 0;

    bool operator==(const Piece&) const = default;
};
std::vector<Piece> checked_pieces(std::size_t elements);

struct Loop {
    std::uint32_t warmup = 0;
    std::optional<std::size_t> corrupt;  // an element of this rank's results
    std::function<void()> made_progress;
};

// Object of an error that is not the environment's.
inline constexpr const char* wrong_data = "wrong data";

class Measurer {
  public:
    // Two buffers of `bytes` each.
    static Result<Measurer> make(Backend& backend, Loop loop, std::size_t bytes);

    // Errors (object: wrong_data): a result is not what it must be; others: the back end's.
    // One run with known data, if it is `checked`, and the warm-up: the seconds of its last run.
    // Precondition: extent_of(operation).count > 0.
    Result<double> warm_up(Communicator& group, Seat seat, const Subject& operation, bool checked);

    // After a barrier of the group, the seconds from the begin of the loop to the end of each
    // iteration on this rank.
    Result<std::vector<double>> time(Communicator& group, Seat seat, const Subject& operation,
                                     std::uint32_t iterations) const;

  private:
    Measurer(Backend& backend, Loop loop) : backend_(&backend), loop_(std::move(loop)) {}

    std::optional<Error> run(Communicator& group, const Call& call) const;
    std::optional<Error> check(Communicator& group, Seat seat, const Subject& operation,
                               const Call& call);
    std::optional<Error> fill(std::byte* to, std::size_t bytes, std::vector<std::byte> tile) const;
    std::optional<Error> compare(const Check& known, DataType type, const std::byte* received,
                                 const Piece& piece) const;

    Backend* backend_;
    Loop loop_;
    std::byte* send_ = nullptr;
    std::byte* receive_ = nullptr;
};

}  // namespace distgpu::scaling
