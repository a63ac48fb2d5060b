// See watch.h.
#include "facts/watch.h"

#include <utility>

namespace distgpu::scaling {

Watch::Watch(Own own, MachineRoots roots)
    : own_(std::move(own)),
      roots_(std::move(roots)),
      begin_(read_port(own_.port, roots_)),
      gpu_(NvmlGpu::open(own_.uuid)) {}

RankFacts Watch::end() const {
    RankFacts facts;
    if (gpu_) facts.unusual = unusual_of_gpu(own_.gpu, gpu_->state());
    for (auto& sentence : unusual_of_port(own_.port, begin_, read_port(own_.port, roots_))) {
        facts.unusual.push_back(std::move(sentence));
    }
    return facts;
}

}  // namespace distgpu::scaling
