#include "asked_step.h"

#include "layout_source.h"
#include "mapping/frameworks/framework.h"
#include "mapping/plan/ranks.h"
#include "mapping/texts/variables.h"
#include "node/collect.h"
#include "node/launch_variables.h"
#include "node/machine.h"
#include "node/network_interface.h"
#include "slurm_calls.h"

#include <optional>
#include <utility>

namespace distgpu {
namespace {

Step step_of(spank_t spank, const Identity& identity, const Request& request,
             const PlugstackArguments& arguments, StepLayout layout, const SentStep& sent) {
    Step step = collect_step(StepVariables(spank), std::move(layout));
    const HostList& hosts = step.layout.hosts();
    RendezvousFacts& rendezvous = step.rendezvous;
    // SLURM_JOB_ID is the leader's in every component of a heterogeneous job.
    const auto leader = identity.heterogeneous ? step_number(spank, "SLURM_JOB_ID") : std::nullopt;
    // S_SLURM_RESTART_COUNT is 0 in a step of a requeued job (22.05); the batch
    // script's variable, which srun passes on, is right.
    rendezvous.step = {leader.value_or(identity.job), identity.step,
                       step_number(spank, "SLURM_RESTART_COUNT").value_or(0)};
    // A heterogeneous step has the union of its components' ports, and one of
    // those may not be reserved on rank 0's node.
    if (identity.heterogeneous) rendezvous.reserved_ports.reset();
    rendezvous.derived_ports = arguments.ports;
    rendezvous.default_master = arguments.master;
    rendezvous.rank0_address = sent.rank0_address.empty()
                                   ? configured_node_address(hosts.name(rank0_node(step.layout)))
                                   : sent.rank0_address;
    step.facts.node_addresses = sent.node_addresses;
    if (request.framework->names_all_nodes && sent.node_addresses.empty()) {
        step.facts.node_addresses = configured_node_addresses(hosts);
    }
    step.facts.tasks_from = sent.ntasks ? TasksFrom::line : TasksFrom::nodes;
    step.facts.is_helper = sent.helper;
    step.facts.puts_exec_in_front = has_words_in_front;
    // Options that the user gave it are judged, and not added.
    if (request.framework->launcher_per_node) step.facts.program = program_arguments(spank);
    return step;
}

std::vector<ComponentOffset> find_offsets(const Identity& identity, const StepLayout& layout) {
    if (!identity.heterogeneous) return {ComponentOffset{}};
    return possible_offsets(layout, identity.component, node_name());
}

// Taken from srun, whose user can forge it, a name is only looked up where it is this host's.
bool is_harmless(const std::string& address) {
    return is_ip_address(address) || address == short_host_name() || address == host_name();
}

// NodeAddr of this node. To find it in slurm.conf, slurmstepd would first go through all nodes
// there: 18 ms of 10,000. So what srun sent is preferred.
std::string own_address(const Identity& identity, const Step& step) {
    if (identity.heterogeneous) return configured_node_address(node_name());
    const NodeIndex node = identity.whole().node;
    const HostList& sent = step.facts.node_addresses;
    std::string address = sent.empty() ? std::string() : sent.name(node);
    return is_harmless(address) ? address : configured_node_address(step.layout.hosts().name(node));
}

}  // namespace

tl::expected<AskedStep, Failure> collect_asked_step(spank_t spank, const Identity& identity,
                                                    Request request, std::string spec,
                                                    const PlugstackArguments& arguments,
                                                    std::optional<Result<StepLayout>> answer) {
    auto sent = read_sent_step(spank, identity);
    if (!sent) return tl::unexpected(Failure{sent.error()});
    if (sent->refused) {
        constexpr bool known_to_all = true;
        return tl::unexpected(Failure{{"step", "refused by srun", ""}, known_to_all});
    }
    // What srun sends reaches one component alone, but for this.
    sent->cpu_bind = sent->cpu_bind || step_variable(spank, cpu_bind_variable);
    const bool told_by_srun = sent->layout.has_value();
    auto layout = find_layout(spank, identity, *sent, std::move(answer));
    if (!layout) return tl::unexpected(Failure{layout.error()});
    Step step = step_of(spank, identity, request, arguments, *std::move(layout), *sent);
    std::string address = own_address(identity, step);
    std::vector<ComponentOffset> offsets = find_offsets(identity, step.layout);
    return AskedStep{.spec = std::move(spec),
                     .request = std::move(request),
                     .identity = identity,
                     .step = std::move(step),
                     .sent = *std::move(sent),
                     .told_by_srun = told_by_srun,
                     .own_address = std::move(address),
                     .offsets = std::move(offsets),
                     .command = arguments.command.empty() ? DISTGPU_COMMAND : arguments.command,
                     .launch = read_launch_variables(StepVariables(spank))};
}

}  // namespace distgpu
