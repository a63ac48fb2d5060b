// What the tests of a node's plan in mapping.h share: facts, and a task's variables by name.
#pragma once

#include "c_api_testing.h"

#include <map>
#include <string>

namespace distgpu::c_api_testing {

// Job 4242's step 0, as in the tests of plan(): they say that its port is 26912.
inline distgpu_facts facts() {
    distgpu_facts result{};
    result.size = sizeof(result);
    result.job_id = 4242;
    return result;
}

inline Owned<const distgpu_node_plan> planned(const char* spec, const distgpu_layout* layout,
                                              std::uint32_t node, const distgpu_facts* facts) {
    const auto asked = request(spec);
    return made<const distgpu_node_plan>([&](auto** plan, auto* error) {
        return distgpu_node_plan_create(asked.get(), layout, facts, node, plan, error);
    });
}

using Values = std::map<std::string, std::string>;

inline Values values(const distgpu_task& task) {
    Values all;
    for (std::size_t i = 0; i < task.variable_count; ++i) {
        all[task.variables[i].name] = task.variables[i].value;
    }
    return all;
}

}  // namespace distgpu::c_api_testing
