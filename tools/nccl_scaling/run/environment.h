// Which variables the results keep. An allow-list: the environment of a job also holds what must
// not be published.
#pragma once

#include "results/results.h"
#include "run/nccl_conf.h"

#include <vector>

namespace distgpu::scaling {

// Of an array of "NAME=VALUE" that ends with null, and of what NCCL's files add to it, those that
// change how collectives run, sorted by name. To be called before NCCL starts, which puts its
// files' variables into the environment. A file that cannot be read adds nothing, as in NCCL.
std::vector<Variable> kept_environment(const char* const* environment,
                                       const std::vector<ConfFile>& files);

}  // namespace distgpu::scaling
