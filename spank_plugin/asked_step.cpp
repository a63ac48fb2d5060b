// See asked_step.h.
#include "asked_step.h"

#include "mapping/frameworks/framework.h"
#include "mapping/plan/ranks.h"
#include "node/launch_variables.h"
#include "node/machine.h"
#include "node/network_interface.h"
#include "node/task_environment.h"
#include "slurm_calls.h"

#include <optional>
#include <utility>

namespace distgpu {
namespace {

// A text that plan() reads as Slurm writes it, where it is one line.
std::optional<std::string> line_of(spank_t spank, const char* name) {
    constexpr std::size_t longest = std::size_t{1} << 17U;  // Linux's MAX_ARG_STRLEN
    const auto text = step_variable(spank, name);
    return text ? text->line(longest) : std::nullopt;
}

RendezvousFacts rendezvous_facts(spank_t spank, const Identity& identity,
                                 const PlugstackArguments& arguments) {
    RendezvousFacts facts;
    // SLURM_JOB_ID is the leader's in every component of a heterogeneous job.
    const auto leader = identity.heterogeneous ? step_number(spank, "SLURM_JOB_ID") : std::nullopt;
    // S_SLURM_RESTART_COUNT is 0 in a step of a requeued job (22.05); the batch
    // script's variable, which srun passes on, is right.
    facts.step = {leader.value_or(identity.job), identity.step,
                  step_number(spank, "SLURM_RESTART_COUNT").value_or(0)};
    const StepVariables variables(spank);
    facts.exported_address = exported(variables, "MASTER_ADDR");
    facts.exported_port = exported(variables, "MASTER_PORT");
    // A heterogeneous step has the union of its components' ports, and one of
    // those may not be reserved on rank 0's node.
    if (!identity.heterogeneous) {
        facts.reserved_ports = line_of(spank, "SLURM_STEP_RESV_PORTS");
    }
    facts.derived_ports = arguments.ports;
    facts.default_master = arguments.master;
    return facts;
}

// What plan() is told of the step.
Step collect_step(spank_t spank, const Identity& identity, const Request& request,
                  const PlugstackArguments& arguments, FoundLayout found) {
    Step step{std::move(found.layout)};
    const HostList& hosts = step.layout.hosts();
    step.rendezvous = rendezvous_facts(spank, identity, arguments);
    step.rendezvous.rank0_address =
        found.rank0_address.empty() ? configured_node_address(hosts.name(rank0_node(step.layout)))
                                    : std::move(found.rank0_address);
    step.facts.cpus_per_node = line_of(spank, "SLURM_JOB_CPUS_PER_NODE").value_or("");
    step.facts.job_name = line_of(spank, "SLURM_JOB_NAME").value_or("");
    step.facts.node_addresses = std::move(found.node_addresses);
    step.facts.tasks_from = found.tasks_from;
    step.facts.is_helper = found.is_helper;
    step.facts.puts_exec_in_front = has_words_in_front;
    // Options that the user gave it are judged, and not added.
    if (request.framework->launcher_per_node) step.facts.program = program_arguments(spank);
    if (request.framework->names_all_nodes && step.facts.node_addresses.empty()) {
        step.facts.node_addresses = configured_node_addresses(hosts);
    }
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

AskedStep collect_asked_step(spank_t spank, const Identity& identity, Request request,
                             std::string spec, const PlugstackArguments& arguments,
                             FoundLayout found) {
    const bool user_bound = found.user_bound;
    const std::uint32_t gpus = found.gpus;
    const bool told_by_srun = found.sent_by_srun;
    Step step = collect_step(spank, identity, request, arguments, std::move(found));
    std::string address = own_address(identity, step);
    std::vector<ComponentOffset> offsets = find_offsets(identity, step.layout);
    return {.spec = std::move(spec),
            .request = std::move(request),
            .identity = identity,
            .step = std::move(step),
            .own_address = std::move(address),
            .user_bound = user_bound,
            .gpus = gpus,
            .told_by_srun = told_by_srun,
            .offsets = std::move(offsets),
            .command = arguments.command.empty() ? DISTGPU_COMMAND : arguments.command,
            .launch = read_launch_variables(StepVariables(spank)),
            .root = file_root()};
}

}  // namespace distgpu
