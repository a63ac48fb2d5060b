#include "facts/watch.h"

#include "base/format.h"

#include <utility>

namespace distgpu::scaling {

Watch::Watch(Own own, MachineRoots roots)
    : own_(std::move(own)),
      roots_(std::move(roots)),
      begin_(read_port(own_.port, roots_)),
      gpu_(NvmlGpu::open(own_.uuid)) {}

RankFacts Watch::end(const Result<Rates>& rates) const {
    RankFacts facts{own_.gpu, own_.port, {}, rates ? *rates : Rates{}};
    if (gpu_) facts.unusual = unusual_of_gpu(own_.gpu, gpu_->state());
    if (!rates) {
        const auto& [object, problem, remedy] = rates.error();
        facts.unusual.push_back(formatted("{}: {}: {}", own_.gpu, object, problem));
    }
    const PortReading end = read_port(own_.port, roots_);
    for (auto& sentence : unusual_of_port(own_.port, begin_, end)) {
        facts.unusual.push_back(std::move(sentence));
    }
    if (end.port.gbps > 0) facts.rates.port = end.port.gbps * 1e9 / 8;
    return facts;
}

}  // namespace distgpu::scaling
