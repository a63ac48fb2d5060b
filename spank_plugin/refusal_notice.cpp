// See refusal_notice.h.
#include "refusal_notice.h"

#include <new>
#include <sys/mman.h>
#include <thread>

namespace distgpu {

void RefusalNotice::create() {
    void* const memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) shared_ = new (memory) Shared{};
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
    constexpr std::chrono::milliseconds pause{20};
    for (auto waited = pause; !is_told() && waited < longest; waited += pause) {
        std::this_thread::sleep_for(pause);
    }
}

}  // namespace distgpu
