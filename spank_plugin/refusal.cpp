#include "refusal.h"

#include "base/io/programs.h"

#include <cmath>
#include <numeric>
#include <thread>

namespace distgpu {
namespace {

void wait_until(auto condition, std::chrono::milliseconds longest) {
    constexpr std::chrono::milliseconds pause{20};
    for (auto waited = pause; !condition() && waited < longest; waited += pause) {
        std::this_thread::sleep_for(pause);
    }
}

}  // namespace

void RefusalNotice::create() {
    shared_ = shared_array<Shared>(1);
}

void RefusalNotice::set_forked() {
    if (shared_ != nullptr) shared_->is_forked = true;
}

void RefusalNotice::wait_until_forked(std::chrono::milliseconds longest) const {
    wait_until([this] { return shared_ == nullptr || shared_->is_forked; }, longest);
}

void RefusalNotice::set_refused() {
    if (shared_ != nullptr) shared_->is_refused = true;
}

bool RefusalNotice::is_refused() const {
    return shared_ != nullptr && shared_->is_refused;
}

bool RefusalNotice::claim_reporter() {
    return shared_ == nullptr || !shared_->is_claimed.exchange(true);
}

void RefusalNotice::set_reported() {
    if (shared_ != nullptr) shared_->is_reported = true;
}

bool RefusalNotice::is_reported() const {
    return shared_ != nullptr && shared_->is_reported;
}

void RefusalNotice::wait_until_reported(std::chrono::milliseconds longest) const {
    wait_until([this] { return is_reported(); }, longest);
}

// Logarithmic: however many nodes refuse, few have their turn within the time that ending a step
// takes (0.1 s in a small cluster, seconds in a large one), and the last one does not wait long.
std::chrono::milliseconds refusal_delay(std::uint32_t node, std::uint32_t nodes) {
    // A node that has not started its part of the step yet misses the order to end it, and would
    // start it later (step_launch.c, 22.05 to 26.05).
    constexpr double until_all_have_started = 1000;  // milliseconds
    constexpr double for_each_doubling = 500;
    // Permutes the nodes so that nodes that refuse together, such as a rack or one half of every
    // chassis, get turns as far apart as if they were spread over the whole step.
    constexpr double golden_ratio = 0.618033988749895;
    auto step = static_cast<std::uint64_t>(std::ceil(nodes * golden_ratio));
    while (std::gcd(step, std::uint64_t{nodes}) != 1) ++step;
    const auto place = static_cast<double>(node * step % nodes);
    const double turn = until_all_have_started + for_each_doubling * std::log2(1.0 + place);
    return std::chrono::milliseconds(static_cast<std::int64_t>(turn));
}

}  // namespace distgpu
