// What a task began with, as its environment has it, which its user may have changed.
#include "mapping/texts/bound_record.h"
#include "require.h"
#include "target.h"

#include <algorithm>
#include <string>

namespace distgpu {

void try_text(std::string_view text) {
    const BoundRecord record = read_bound(text);
    require(record.gpus.size() <= 256, "a node has so many GPUs");
    for (const BoundGpu& gpu : record.gpus) {
        require(gpu.pci.find('/') == std::string::npos && gpu.pci.find("..") == std::string::npos,
                "an address names no other file");
    }
    const CpuSet cpus = record.cpus;
    if (!cpus.empty()) {
        require(read_bound(bound_text(cpus, NodeFacts{})).cpus == cpus, "CPUs are read back");
    }
}

}  // namespace distgpu
