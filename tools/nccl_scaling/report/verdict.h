// The run's last line.
#pragma once

#include "analysis/blame.h"
#include "results.h"

#include <cstdint>
#include <optional>
#include <string>

namespace distgpu::scaling {

// What the last line says before the limiter: "8 nodes: 94% of linear (weak), 71% (strong)".
std::string scaling_text(std::uint64_t nodes, std::optional<double> weak,
                         std::optional<double> strong);

// "8 nodes: 94% of linear (weak), 71% (strong); limiter: node17/mlx5_3". The efficiencies are those
// of all nodes; nothing: not measured. Several limiters are separated by ", ", at most 8 are named.
// "limiter: none" only where a tournament could have found one and nothing speaks against it, else
// "undecided, because ..."; "cannot be determined with 2 nodes", "not measured" where pairs were
// not. One node has nothing to scale to.
std::string verdict_line(const Results& results, const Blame& blame, std::optional<double> weak,
                         std::optional<double> strong);

}  // namespace distgpu::scaling
