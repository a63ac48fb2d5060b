// Values of equal intervals of time, in bounded memory: when max_intervals are full, each two
// become one of twice the length.
#pragma once

#include "report/node_report.h"

#include <cstddef>
#include <vector>

namespace distgpu {

// What one interval keeps of the values that fell into it.
struct Interval {
    double sum = 0;
    double most = 0;
    std::size_t count = 0;

    void add(double value);
    void add(const Interval& other);
};

using Intervals = std::vector<Interval>;

// The length that all series of a node share.
class Timeline {
  public:
    explicit Timeline(double interval) : interval_(interval) {}

    double interval() const { return interval_; }

    // The interval of this time, which is not earlier than 0. The length doubles until it is below
    // max_intervals; `fold` is called each time, to fold every series.
    template <class Fold>
    std::size_t index_of(double time, const Fold& fold) {
        while (time >= interval_ * static_cast<double>(max_intervals)) {
            interval_ *= 2;
            fold();
        }
        return static_cast<std::size_t>(time / interval_);
    }

  private:
    double interval_;
};

// Makes each two intervals one.
void fold(Intervals& series);

// Adds to an interval; those before it that have none are empty.
void add_to(Intervals& series, std::size_t index, double value);

}  // namespace distgpu
