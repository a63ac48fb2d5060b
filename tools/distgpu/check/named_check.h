// One thing that a rank can look at by itself, as a record. The list of them: check_list.h.
#pragma once

#include "base/environment.h"
#include "base/io/deadline.h"
#include "check/finding.h"
#include "mapping/topology/cpu_set.h"
#include "node/own_task.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// What checks look at beside the machine itself.
struct CheckFacts {
    std::shared_ptr<const OwnTask> own;
    std::shared_ptr<const Environment> environment;
    CpuSet cpus;  // on which this process may run; empty: the kernel does not say
    Deadline deadline;
};

// What all nodes of a step should have alike, as one of them has it.
struct NodeTrait {
    std::string name;                                 // "GPUs"
    std::string value;                                // "4 x H100"; "none"
    Finding::Weight weight = Finding::Weight::fatal;  // of a node that has another one

    bool operator==(const NodeTrait&) const = default;
};

struct CheckResult {
    Findings findings{};
    std::string ports{};  // of `fabric`: those that NCCL can use, "mlx5_0:1 400 Gb/s +3"
    std::vector<NodeTrait> traits{};  // of `nodes`
    std::string trial_host{};         // of `network`: the address that others try; empty: none
};

struct NamedCheck {
    std::string_view name;
    std::string_view looks_at;  // one sentence
    bool (*applies)(const CheckFacts& facts);
    // Runs in a thread of its own, which is left alone where it has not returned in time.
    CheckResult (*run)(const CheckFacts& facts);
};

inline bool always(const CheckFacts& /*facts*/) {
    return true;
}

}  // namespace distgpu
