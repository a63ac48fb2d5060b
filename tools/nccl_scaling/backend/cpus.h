// On how many CPUs this process may run.
#pragma once

#include <cstddef>

namespace distgpu::scaling {

std::size_t usable_cpus();

}  // namespace distgpu::scaling
