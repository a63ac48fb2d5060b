#include "base/format.h"
#include "mapping/binding/binding.h"
#include "mapping/frameworks/framework.h"
#include "mapping/texts/sent_step.h"
#include "mapping/texts/variables.h"
#include "node/host_root.h"
#include "node/machine.h"
#include "node/network.h"
#include "node/save_topology.h"
#include "node/step_variables.h"
#include "slurm/step_shape.h"
#include "slurm_calls.h"
#include "stepd_side.h"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

namespace distgpu {
namespace {

// Keeps the nodes of a step from overloading slurmctld with queries.
constexpr std::uint32_t max_querying_nodes = 64;

constexpr bool topology_order = SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0);

// The job ids of a heterogeneous job's components; empty within an ordinary job.
std::vector<std::uint32_t> component_jobs(spank_t spank) {
    std::vector<std::uint32_t> jobs;
    const StepVariables variables(spank);
    constexpr std::size_t max_components = 128;  // Slurm's MAX_HET_JOB_COMPS
    while (jobs.size() < max_components) {
        // In the steps of an srun that made the job itself, 22.05 sets only PACK_GROUP; later
        // releases set HET_GROUP.
        const std::string index = std::to_string(jobs.size());
        auto job = variables.number("SLURM_JOB_ID_HET_GROUP_" + index);
        if (!job) job = variables.number("SLURM_JOB_ID_PACK_GROUP_" + index);
        if (!job) break;
        jobs.push_back(*job);
    }
    return jobs;
}

// The merged layout of a heterogeneous step, components in order: they are launched separately,
// SPANK numbers nodes and tasks within each, and what srun sends reaches only the one that is
// launched first (22.05). `tasks`: those of the whole step. Up to 128 RPCs.
// Error: slurmctld did not return a layout of so many tasks.
Result<StepLayout> query_het_layout(spank_t spank, const NodeIdentity& identity,
                                    std::uint32_t tasks) {
    const std::uint32_t step = identity.step;
    const auto jobs = component_jobs(spank);
    // The components are numbered within one job, or each has its own job, and not all of these run
    // this step.
    const bool one_job = std::ranges::find(jobs, identity.job) == jobs.end();
    std::vector<StepLayout> layouts;
    std::uint32_t found = 0;
    for (std::uint32_t i = 0; found < tasks && (one_job || i < jobs.size()); ++i) {
        auto layout = one_job ? query_layout(identity.job, step, i)
                              : query_layout(jobs[i], step, std::nullopt);
        if (layout) {
            found += layout->task_count();
            layouts.push_back(*std::move(layout));
        } else if (one_job) {
            break;
        }
    }
    const std::string name = formatted("heterogeneous step {}", step);
    if (layouts.empty()) return Error{name, "slurmctld did not return its layout", "run it again"};
    auto merged = StepLayout::from_components(layouts);
    if (!merged || merged->task_count() == tasks) return merged;
    // slurmctld forgets a component as soon as that has ended.
    return Error{name,
                 formatted("slurmctld reports {} of its {} tasks", merged->task_count(), tasks),
                 "make sure that no component ends before all have started"};
}

std::string step_name(const NodeIdentity& identity) {
    return formatted("step {}.{}", identity.job, identity.step);
}

bool knows_layout(spank_t spank, const NodeIdentity& identity) {
    const auto sent = StepVariables(spank).get(sent_step_variable);
    return (sent && has_layout_or_refusal(*sent, identity.job, identity.step)) ||
           identity.size.nodes == 1 || is_order_known(StepVariables(spank), topology_order);
}

// No node queries slurmctld instead, because another node may see no contradiction.
Error contradicting_variables_error(const NodeIdentity& identity) {
    return {step_name(identity),
            "the tasks that Slurm started do not match its variables SLURM_STEP_* and "
            "SLURM_DISTRIBUTION",
            "do not set Slurm's variables with --export"};
}

std::optional<Error> tasks_mismatch(const StepLayout& layout, const NodeIdentity& identity) {
    auto error = check_size(layout, identity.size);
    return error ? std::move(error) : check_layout(layout, identity.whole());
}

// For a layout that srun derived. A wrong one is wrong about a number of tasks, or about the names.
std::optional<Error> derived_mismatch(const Environment& variables, const StepLayout& layout,
                                      const NodeIdentity& identity) {
    const auto hosts = HostList::parse(variables.text("SLURM_STEP_NODELIST"), identity.size.nodes);
    auto error = tasks_mismatch(layout, identity);
    if (!error && (!hosts || *hosts != layout.hosts())) {
        error = Error{"node list", "not that of the step", ""};
    }
    if (error) error->remedy = ask_remedy;
    return error;
}

std::optional<Error> mismatch(const StepLayout& layout, const NodeIdentity& identity) {
    // In a heterogeneous step each task compares the whole layout with its own number.
    return identity.heterogeneous ? std::nullopt : tasks_mismatch(layout, identity);
}

// `answer`: that of query_layout_if_needed(). Moves the layout out of `sent`. Errors: the answer's;
// the layout is not that of the tasks that Slurm started.
Result<StepLayout> find_layout(const Environment& variables, const NodeIdentity& identity,
                               SentStep& sent, std::optional<Result<StepLayout>> answer) {
    const bool is_derived = sent.derived && !answer;
    if (answer || sent.layout) {
        auto layout = answer ? *std::move(answer) : Result<StepLayout>(*std::move(sent.layout));
        if (!layout) return layout;
        auto error = is_derived ? derived_mismatch(variables, *layout, identity)
                                : mismatch(*layout, identity);
        if (error) return *std::move(error);
        return layout;
    }
    auto derived = derive_layout(variables, identity.size, topology_order);
    if (!derived || !*derived || mismatch(**derived, identity)) {
        return contradicting_variables_error(identity);
    }
    return **std::move(derived);
}

Step step_of(spank_t spank, const Environment& variables, const NodeIdentity& identity,
             const Request& request, const PlugstackArguments& arguments, StepLayout layout,
             const SentStep& sent) {
    Step step = collect_step(variables, std::move(layout));
    const HostList& hosts = step.layout.hosts();
    RendezvousFacts& rendezvous = step.rendezvous;
    // SLURM_JOB_ID is the leader's in every component of a heterogeneous job.
    const auto leader = identity.heterogeneous ? variables.number("SLURM_JOB_ID") : std::nullopt;
    // S_SLURM_RESTART_COUNT is 0 in a step of a requeued job (22.05); the batch script's variable,
    // which srun passes on, is correct.
    rendezvous.step = {leader.value_or(identity.job), identity.step,
                       variables.number("SLURM_RESTART_COUNT").value_or(0)};
    // A heterogeneous step has the union of its components' ports, and some of those may not be
    // reserved on rank 0's node.
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
    step.facts.task_count_source =
        sent.ntasks ? TaskCountSource::command_line : TaskCountSource::per_node;
    step.facts.is_helper = sent.helper;
    step.facts.inserts_exec = can_prepend_to_program;
    // Options that the user gave to the launcher are checked, and not added again.
    if (request.framework->launcher_per_node) step.facts.program = program_arguments(spank);
    return step;
}

// NodeAddr of this node. To find it in slurm.conf, slurmstepd would first go through all nodes
// there: 18 ms for 10,000. So it prefers what srun sent; but the user can forge that, so a name is
// used, and later looked up, only if it is this host's.
std::string own_address(const NodeIdentity& identity, const Step& step) {
    if (identity.heterogeneous) return configured_node_address(node_name());
    const NodeIndex node = identity.whole().node;
    const HostList& sent = step.facts.node_addresses;
    std::string address = sent.empty() ? std::string() : sent.name(node);
    const bool is_harmless =
        is_ip_address(address) || address == short_host_name() || address == host_name();
    return is_harmless ? address : configured_node_address(step.layout.hosts().name(node));
}

TopologySource topology_source(const PlugstackArguments& arguments) {
    TopologySource source{default_topology_file, !arguments.topology.empty(),
                          command_path(arguments)};
    // node_name() searches all nodes of slurm.conf.
    const bool needs_name = arguments.topology.find("%n") != std::string::npos;
    const std::string name = needs_name ? node_name() : std::string();
    if (source.is_configured) source.file = expand_path(arguments.topology, name, host_name());
    return source;
}

bool saves_topology(const PlugstackArguments& arguments) {
    return arguments.saves_topology && arguments.topology.empty() &&
           arguments.site_switch == SiteSwitch::on;
}

}  // namespace

void on_slurmd_start(std::span<char*> arguments) {
    const PlugstackArguments site = parse_plugstack_arguments({arguments.data(), arguments.size()});
    if (saves_topology(site)) start_saving_topology(command_path(site), default_topology_file);
}

NodeIdentity read_node_identity(spank_t spank, std::uint32_t step) {
    NodeIdentity identity;
    identity.job = read_item(spank, S_JOB_ID).value_or(0);
    identity.step = step;
    identity.size = {read_item(spank, S_JOB_NNODES).value_or(0),
                     read_item(spank, S_JOB_TOTAL_TASK_COUNT).value_or(0)};
    identity.component.node = ComponentNode{read_item(spank, S_JOB_NODEID).value_or(0)};
    const std::uint32_t count = read_item(spank, S_JOB_LOCAL_TASK_COUNT).value_or(0);
    for (std::uint32_t id = 0; id < count; ++id) {
        std::uint32_t task = 0;
        if (spank_get_item(spank, S_JOB_LOCAL_TO_GLOBAL_ID, id, &task) == ESPANK_SUCCESS) {
            identity.component.tasks.push_back(ComponentTaskId{task});
        }
    }
    const auto step_tasks = StepVariables(spank).number("SLURM_STEP_NUM_TASKS");
    identity.heterogeneous =
        identity.size.tasks > 0 && step_tasks && *step_tasks != identity.size.tasks;
    return identity;
}

Result<TaskIdentity> read_task_identity(spank_t spank, const NodeIdentity& identity,
                                        const std::vector<ComponentOffset>& offsets,
                                        bool in_container) {
    const auto local = read_item(spank, S_TASK_ID);
    if (!local || *local >= identity.component.tasks.size()) {
        return Error{"local task id", "not set by Slurm", "run again without --distgpu"};
    }
    const auto at = [&](ComponentOffset offset) {
        return TaskIdentity{to_whole_step(identity.component, offset), LocalRank{*local}};
    };
    if (offsets.size() == 1) return at(offsets.front());
    if (offsets.empty()) {
        return Error{"task map", "does not place this node's tasks on any node",
                     "run the step again"};
    }
    if (in_container) {
        return Error{"heterogeneous step", "components of one shape share this node",
                     "in a container, place them on different nodes"};
    }
    // Slurm overwrites inherited values of both variables.
    const auto node = StepVariables(spank).number("SLURM_NODEID");
    const auto task = StepVariables(spank).number("SLURM_PROCID");
    if (node && task) {
        const auto offset = component_offset(identity.component, LocalRank{*local},
                                             NodeIndex{*node}, TaskId{*task});
        if (offset && std::ranges::find(offsets, *offset) != offsets.end()) {
            return at(*offset);
        }
    }
    return Error{"SLURM_PROCID or SLURM_NODEID", "not set by Slurm",
                 "do not change them before the program"};
}

std::optional<Result<StepLayout>> query_layout_if_needed(spank_t spank,
                                                         const NodeIdentity& identity) {
    StepSize step = identity.size;
    const char* remedy = "load the plugin on the host of srun too, or use -m cyclic or -m plane=N";
    if (identity.heterogeneous) {
        // srun knows only one component. The component's size comes from SPANK, the step's from
        // variables.
        step = {StepVariables(spank).number("SLURM_STEP_NUM_NODES").value_or(0),
                StepVariables(spank).number("SLURM_STEP_NUM_TASKS").value_or(0)};
        if (step.nodes < identity.size.nodes || step.tasks < identity.size.tasks) {
            return contradicting_variables_error(identity);
        }
        remedy = "use one component for the step";
    } else if (knows_layout(spank, identity)) {
        return std::nullopt;
    }
    if (step.nodes > max_querying_nodes) {
        return Error{step_name(identity),
                     formatted("only slurmctld knows which node each task runs on, and at most {} "
                               "nodes may ask it, but the step has {}",
                               max_querying_nodes, step.nodes),
                     remedy};
    }
    const AsUser as_user(spank);
    if (!as_user.is_user()) {
        return Error{step_name(identity), "cannot query slurmctld as the step's user",
                     "run it again"};
    }
    return identity.heterogeneous ? query_het_layout(spank, identity, step.tasks)
                                  : query_layout(identity.job, identity.step, std::nullopt);
}

tl::expected<EnabledStep, Failure> collect_enabled_step(spank_t spank, const NodeIdentity& identity,
                                                        Request request, std::string spec,
                                                        const PlugstackArguments& arguments,
                                                        std::optional<Result<StepLayout>> answer) {
    EnvironmentCopy variables = StepVariables(spank).copy();
    SentStep sent;
    if (const auto text = variables.get(sent_step_variable)) {
        // srun describes only one component of a heterogeneous step, possibly not this one.
        const StepSize size = identity.heterogeneous ? StepSize{} : identity.size;
        auto decoded = decode(*text, {identity.job, identity.step, size});
        if (!decoded) return tl::unexpected(Failure{decoded.error()});
        if (*decoded) sent = **std::move(decoded);
    }
    if (sent.refused) {
        constexpr bool known_to_all = true;
        return tl::unexpected(Failure{{"step", "refused by srun", ""}, known_to_all});
    }
    // Unlike the rest of what srun sends, this variable reaches every component.
    sent.cpu_bind = sent.cpu_bind || variables.get(cpu_bind_variable);
    const bool printed_by_srun = sent.layout.has_value();
    auto layout = find_layout(variables, identity, sent, std::move(answer));
    if (!layout) return tl::unexpected(Failure{layout.error()});
    Step step = step_of(spank, variables, identity, request, arguments, *std::move(layout), sent);
    std::string address = own_address(identity, step);
    std::vector<ComponentOffset> offsets{ComponentOffset{}};
    if (identity.heterogeneous) {
        offsets = possible_offsets(step.layout, identity.component, node_name());
    }
    auto srun = read_srun_address(variables);
    return EnabledStep{.spec = std::move(spec),
                       .request = std::move(request),
                       .identity = identity,
                       .step = std::move(step),
                       .sent = std::move(sent),
                       .printed_by_srun = printed_by_srun,
                       .own_address = std::move(address),
                       .offsets = std::move(offsets),
                       .srun = std::move(srun),
                       .command = command_path(arguments),
                       .launch = std::move(variables)};
}

void StepBinding::open_topology_outside_jail(const PlugstackArguments& arguments) {
    outside_jail_ = topology_source(arguments);
    outside_jail_->file = path_on_host(outside_jail_->file);
    opened_ = UniqueFd(open(outside_jail_->file.c_str(), O_RDONLY | O_CLOEXEC));
    outside_jail_->open_file = opened_.fd();
}

std::vector<Error> StepBinding::read_node(const Environment& launch, const Request& request,
                                          const PlugstackArguments& arguments, std::size_t tasks,
                                          const std::string& address) {
    shared_.create(tasks);
    NodeSource source{
        .address = address,
        .name = short_host_name(),
        .remedy = "remove it from that line of /etc/hosts, or set NodeAddr in slurm.conf"};
    if (needs_topology(request)) {
        source.topology = outside_jail_ ? *outside_jail_ : topology_source(arguments);
        gpus_.read_step(launch, gpu_numbering());
    }
    node_ = find_own_node(source);
    if (!node_.ignored_topology_file.empty()) {
        slurm_info("distgpu: ignored %s", node_.ignored_topology_file.c_str());
    }
    if (saves_topology(arguments) && source.topology && !node_.has_saved_topology) {
        unsaved_ = topology_source(arguments);
    }
    opened_ = UniqueFd();
    // Only root may record the timeout, so remember it until task_post_fork. Not in a jail, for
    // other nodes.
    if (node_.discovery_timed_out && !outside_jail_) {
        unrecorded_timeout_ = source.topology;
        user_ = geteuid();
    }
    return node_.warnings;
}

void StepBinding::record_task(spank_t spank) {
    if (unrecorded_timeout_) {
        record_discovery_timeout(*std::exchange(unrecorded_timeout_, std::nullopt), user_);
    }
    if (unsaved_ && geteuid() == 0) {
        start_saving_topology(unsaved_->command, unsaved_->file, outside_jail_.has_value());
    }
    unsaved_.reset();
    const auto local_rank = read_item(spank, S_TASK_ID);
    pid_t task = 0;
    if (local_rank && spank_get_item(spank, S_TASK_PID, &task) == ESPANK_SUCCESS) {
        shared_.record_cpus(*local_rank, task);
    }
}

NodeFacts StepBinding::facts_of(spank_t spank, const EnvironmentCopy& launch,
                                LocalRank task) const {
    const StepVariables variables(spank);
    NodeFacts facts =
        collect_facts(variables, launch, node_, read_item(spank, S_STEP_CPUS_PER_TASK).value_or(0));
    facts.share.masks = shared_.cpus();
    if (facts.topology == nullptr) return facts;
    // Slurm allocates cores; a mask that covers more of them is not confined to this step.
    char* cores = nullptr;
    if (spank_get_item(spank, S_STEP_ALLOC_CORES, &cores) == ESPANK_SUCCESS && cores != nullptr) {
        const auto allocated = CpuSet::parse(cores);
        const CpuSet mask = all_cpus(facts.share);
        const auto& known = facts.topology->cores;
        const auto used = std::ranges::count_if(
            known, [&](const Core& core) { return core.cpus.intersects(mask); });
        facts.is_confined = allocated && static_cast<std::uint32_t>(used) <= allocated->count();
    }
    gpus_.set_task_gpus(facts, variables, task, shared_);
    return facts;
}

}  // namespace distgpu
