// What srun knows of the step's nodes: the layout, the order of the ranks, and the addresses.
#include "mapping/frameworks/framework.h"
#include "node/machine.h"
#include "slurm/step_shape.h"
#include "slurm_calls.h"
#include "srun_side.h"

#include <array>

namespace distgpu {
namespace {

// Later releases may place tasks in other ways.
constexpr bool is_tested_release = SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(26, 11, 0);

}  // namespace

// Derives the layout where it is certain, because slurmctld may be slow.
Result<StepLayout> SrunSide::find_layout(spank_t spank, SentStep& step) const {
    const StepSize size{read_item(spank, S_JOB_NNODES).value_or(0),
                        read_item(spank, S_JOB_TOTAL_TASK_COUNT).value_or(0)};
    if (is_tested_release && components_ == 1 && !asks_slurmctld_) {
        auto derived =
            derive_new_layout(ProcessEnvironment(), options_, size, may_follow_topology());
        if (derived) {
            step.derived = true;
            return *std::move(derived);
        }
    }
    return query_layout(step.job, step.step, std::nullopt);
}

// In the user's order; otherwise in the administrator's, if that is possible.
Result<OrderedLayout> SrunSide::order_nodes(StepLayout layout) const {
    if (reorders_nodes(request_)) {
        return apply_order(*request_.order, order_list_, layout, ProcessEnvironment());
    }
    const bool has_default_order = !request_.order && default_order_ != RankOrder{};
    if (!has_default_order || !request_.framework->fixed_ranks_reason.empty()) {
        return OrderedLayout{std::move(layout), ""};
    }
    auto ordered = apply_order(default_order_, {}, layout, ProcessEnvironment());
    if (ordered) return ordered;
    slurm_debug("%s", ordered.error().message().c_str());
    return OrderedLayout{std::move(layout), ""};
}

void SrunSide::add_layout(SentStep& step, OrderedLayout ordered) const {
    find_addresses(step, ordered.layout.hosts(), rank0_node(ordered.layout));
    step.layout = std::move(ordered.layout);
}

// From slurm.conf where they are fixed there; the nodes check them.
void SrunSide::find_addresses(SentStep& step, const HostList& hosts, NodeIndex rank0) const {
    const bool needs_all = request_.framework->names_all_nodes;
    const HostList needed = needs_all ? hosts : HostList::from_names(std::array{hosts.name(rank0)});
    const HostList fixed = asks_slurmctld_ ? HostList{} : fixed_node_addresses(needed);
    step.configured = !fixed.empty();
    step.rank0_address = step.configured ? fixed.name(needs_all ? rank0 : NodeIndex{0})
                                         : node_address(hosts.name(rank0));
    if (!needs_all) {
        step.node_addresses = configured_node_addresses(hosts);
    } else {
        step.node_addresses = step.configured ? fixed : node_addresses(hosts);
    }
}

}  // namespace distgpu
