// See watch.h.
#include "facts/watch.h"

#include <utility>

namespace distgpu::scaling {

Watch::Watch(std::string port, MachineRoots roots)
    : port_(std::move(port)), roots_(std::move(roots)), begin_(read_port(port_, roots_)) {}

RankFacts Watch::end() const {
    return {unusual_of_port(port_, begin_, read_port(port_, roots_))};
}

}  // namespace distgpu::scaling
