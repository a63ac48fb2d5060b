#include "refusal.h"

#include "base/io/programs.h"

#include <cmath>
#include <numeric>
#include <thread>

namespace distgpu {
namespace {

void wait_until(auto is_so, std::chrono::milliseconds longest) {
    constexpr std::chrono::milliseconds pause{20};
    for (auto waited = pause; !is_so() && waited < longest; waited += pause) {
        std::this_thread::sleep_for(pause);
    }
}

}  // namespace

void RefusalNotice::create() {
    shared_ = shared_array<Shared>(1);
}

void RefusalNotice::set_forked() {
    if (shared_ != nullptr) shared_->forked = true;
}

void RefusalNotice::wait_until_forked(std::chrono::milliseconds longest) const {
    wait_until([this] { return shared_ == nullptr || shared_->forked; }, longest);
}

bool RefusalNotice::claim_reporter() {
    return shared_ == nullptr || !shared_->taken.exchange(true);
}

void RefusalNotice::set_told() {
    if (shared_ != nullptr) shared_->told = true;
}

bool RefusalNotice::is_told() const {
    return shared_ != nullptr && shared_->told;
}

void RefusalNotice::wait_until_told(std::chrono::milliseconds longest) const {
    wait_until([this] { return is_told(); }, longest);
}

// Logarithmic: however many nodes refuse, few of them have their turn within the time that an
// ending takes (0.1 s in a small cluster, seconds in a large one), and the last does not wait long.
std::chrono::milliseconds refusal_turn(std::uint32_t node, std::uint32_t nodes) {
    // A node that has not started its part of the step is not reached by the ending, and would
    // start it after that (step_launch.c, 22.05 to 26.05).
    constexpr double until_all_have_started = 1000;  // milliseconds
    constexpr double for_each_doubling = 500;
    // A permutation of the nodes under which those that refuse together, such as a rack, or one
    // half of every chassis, have places as far apart as if they were spread over the whole step.
    constexpr double golden_ratio = 0.618033988749895;
    auto step = static_cast<std::uint64_t>(std::ceil(nodes * golden_ratio));
    while (std::gcd(step, std::uint64_t{nodes}) != 1) ++step;
    const auto place = static_cast<double>(node * step % nodes);
    const double turn = until_all_have_started + for_each_doubling * std::log2(1.0 + place);
    return std::chrono::milliseconds(static_cast<std::int64_t>(turn));
}

}  // namespace distgpu
