// With HWLOC_XMLFILE or HWLOC_COMPONENTS left in somebody's shell,
// `distgpu topo --save` would keep another machine's topology, or one without GPUs, for all jobs.
#include "node/discovery/hwloc_environment.h"

#include <cstdlib>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace distgpu {

void take_hwloc_environment() {
    std::vector<std::string> names;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view variable = *entry;
        if (variable.starts_with("HWLOC_")) names.emplace_back(variable, 0, variable.find('='));
    }
    for (const std::string& name : names) unsetenv(name.c_str());
}

}  // namespace distgpu
