// See binding_policy.h.
#include "mapping/binding/binding_policy.h"

namespace distgpu {

BindingPolicy binding_policy(const Request& request, const NodeFacts& node) {
    const bool near = !request.keep_all;
    BindingPolicy policy;
    policy.gpus = near ? &gpu_policy::near : &gpu_policy::keep;
    if (request.gpus != nullptr) policy.gpus = request.gpus;
    // What Slurm gave each task by its own binding is more than a default.
    if (node.share.own) policy.gpus = &gpu_policy::keep;
    const auto is_near = [near](std::optional<BindingChoice> choice) {
        return choice.value_or(near ? BindingChoice::near : BindingChoice::keep) ==
               BindingChoice::near;
    };
    policy.near_cpus = node.confined && is_near(request.cpus) &&
                       (!node.user_bound || request.cpus == BindingChoice::near);
    policy.near_hcas = is_near(request.hcas);
    return policy;
}

bool needs_topology(const Request& request) {
    const BindingPolicy policy = binding_policy(request, NodeFacts{.confined = true});
    return policy.gpus->seen_by != nullptr || policy.near_cpus || policy.near_hcas;
}

}  // namespace distgpu
