// What a task began with, in its own environment: for whoever looks at it later and asks what has
// changed since (`distgpu explain`). The kernel does not keep it.
#pragma once

#include "mapping/binding/node_facts.h"

#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// A GPU of the step, as the task names it: "0", and its PCI address.
struct BoundGpu {
    std::string name;
    std::string pci;

    bool operator==(const BoundGpu&) const = default;
};

struct BoundRecord {
    CpuSet cpus;  // on which the task began; empty: not known
    std::vector<BoundGpu> gpus;

    bool operator==(const BoundRecord&) const = default;
};

// "cpus=0-3 gpus=0@0000:06:00.0,1@0000:07:00.0"; what is not known is left out.
std::string bound_text(const CpuSet& cpus, const NodeFacts& facts);

// The same of a text that its user may have changed: up to 256 GPUs. What is no such text is left
// out.
BoundRecord read_bound(std::string_view text);

}  // namespace distgpu
