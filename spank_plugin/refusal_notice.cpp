#include "refusal_notice.h"

#include "shared_array.h"

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

bool RefusalNotice::take_word() {
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

}  // namespace distgpu
