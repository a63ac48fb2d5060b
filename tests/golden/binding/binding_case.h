// A golden case of bind(): what Slurm gave the tasks of a node, and what each of them shall get.
#pragma once

#include "base/result.h"
#include "mapping/binding/binding.h"
#include "mapping/topology/topology.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu::golden {

// What a live machine says of a port and an hwloc XML does not: `port mlx5_0:1 active ethernet 25`.
struct PortLine {
    std::string name;  // HCA:NUMBER
    HcaPort port;
};

struct BindingCase {
    std::string place;  // "dgx2.txt:12", where it begins
    // `tasks 4 on 0-95`, all with that mask, or `masks 0-7 8-15`, one a task; `cpus-per-task 8`.
    // `gpus 0-3` or `gpus none`; without that line all of the node's.
    SlurmShare share;
    bool all_gpus = true;
    std::vector<PortLine> ports;
    std::string expected;  // lines as binding_text() writes them
};

// Cases are set apart by blank lines and begin with the reason for what is expected, in lines
// with #. Port lines that stand alone hold for all cases after them.
// Errors: a line that is none of these, a case without reason, tasks or expectation.
Result<std::vector<BindingCase>> read_binding_cases(const std::string& file, std::string_view text);

// Errors: a port that the topology lacks.
Result<NodeTopology> with_ports(NodeTopology topology, const std::vector<PortLine>& ports);

// One line a task, then the order of the GPUs:
// task 0: cpus 0-5,48-53; gpus 0; port mlx5_0:1 PIX
// gpu order: 0
std::string binding_text(const NodeTopology& topology, const NodeBinding& binding);

}  // namespace distgpu::golden
