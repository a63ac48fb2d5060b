#include "asked_step.h"

#include "base/format.h"
#include "mapping/frameworks/framework.h"
#include "mapping/plan/ranks.h"
#include "mapping/texts/layout_check.h"
#include "mapping/texts/variables.h"
#include "node/collect.h"
#include "node/launch_variables.h"
#include "node/machine.h"
#include "node/network_interface.h"
#include "slurm/step_environment.h"
#include "slurm_calls.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

ComponentTasks read_component(spank_t spank) {
    ComponentTasks component{ComponentNode{item(spank, S_JOB_NODEID).value_or(0)}, {}};
    const std::uint32_t count = item(spank, S_JOB_LOCAL_TASK_COUNT).value_or(0);
    for (std::uint32_t id = 0; id < count; ++id) {
        std::uint32_t task = 0;
        if (spank_get_item(spank, S_JOB_LOCAL_TO_GLOBAL_ID, id, &task) == ESPANK_SUCCESS) {
            component.tasks.push_back(ComponentTaskId{task});
        }
    }
    return component;
}

Error unknown_task(std::string what, std::string remedy) {
    return {std::move(what), "not set by Slurm", std::move(remedy)};
}

// Slurm sets both variables over whatever was inherited.
std::optional<ComponentOffset> offset_from_task(spank_t spank, const Identity& identity,
                                                LocalRank local) {
    const auto node = step_number(spank, "SLURM_NODEID");
    const auto task = step_number(spank, "SLURM_PROCID");
    if (!node || !task) return std::nullopt;
    return offset_of(identity.component, local, NodeIndex{*node}, TaskId{*task});
}

Result<ComponentOffset> choose_offset(spank_t spank, const Identity& identity,
                                      const std::vector<ComponentOffset>& offsets, LocalRank local,
                                      bool in_container) {
    if (offsets.size() == 1) return offsets.front();
    if (offsets.empty()) {
        return Error{"task map", "has this node's tasks on no node", "run the step again"};
    }
    if (in_container) {
        return Error{"heterogeneous step", "components of one shape share this node",
                     "in a container, place them on different nodes"};
    }
    const auto told = offset_from_task(spank, identity, local);
    if (told && std::find(offsets.begin(), offsets.end(), *told) != offsets.end()) return *told;
    return unknown_task("SLURM_PROCID or SLURM_NODEID", "do not change them before the program");
}

}  // namespace

Identity read_identity(spank_t spank, std::uint32_t step) {
    Identity identity;
    identity.job = item(spank, S_JOB_ID).value_or(0);
    identity.step = step;
    identity.component = read_component(spank);
    identity.size = {item(spank, S_JOB_NNODES).value_or(0),
                     item(spank, S_JOB_TOTAL_TASK_COUNT).value_or(0)};
    const auto step_tasks = step_number(spank, "SLURM_STEP_NUM_TASKS");
    identity.heterogeneous =
        identity.size.tasks > 0 && step_tasks && *step_tasks != identity.size.tasks;
    return identity;
}

Result<TaskIdentity> read_task_identity(spank_t spank, const Identity& identity,
                                        const std::vector<ComponentOffset>& offsets,
                                        bool in_container) {
    const auto local = item(spank, S_TASK_ID);
    if (!local || *local >= identity.component.tasks.size()) {
        return unknown_task("local task id", "run again without --distgpu");
    }
    return choose_offset(spank, identity, offsets, LocalRank{*local}, in_container)
        .transform([&](ComponentOffset offset) {
            return TaskIdentity{in_step(identity.component, offset), LocalRank{*local}};
        });
}

void set_slurm_numbers(spank_t spank, const TaskIdentity& task) {
    StepVariables variables(spank);
    variables.set("SLURM_PROCID", std::to_string(task.task().value));
    variables.set("SLURM_LOCALID", std::to_string(task.local.value));
    variables.set("SLURM_NODEID", std::to_string(task.node.node.value));
}

namespace {

// So that slurmctld does not drown in the questions of the nodes of a step.
constexpr std::uint32_t most_asking_nodes = 64;

Error refuse(std::uint32_t step, std::string problem, std::string remedy) {
    return {formatted("heterogeneous step {}", step), std::move(problem), std::move(remedy)};
}

// The job ids of a heterogeneous job's components, or none within an ordinary job.
std::vector<std::uint32_t> component_jobs(spank_t spank) {
    std::vector<std::uint32_t> jobs;
    constexpr std::size_t most = 128;  // Slurm's MAX_HET_JOB_COMPS
    while (jobs.size() < most) {
        // PACK_GROUP is the only name in the steps of an srun that made the job
        // itself (22.05); HET_GROUP is that of later releases.
        const std::string index = std::to_string(jobs.size());
        auto job = step_number(spank, ("SLURM_JOB_ID_HET_GROUP_" + index).c_str());
        if (!job) job = step_number(spank, ("SLURM_JOB_ID_PACK_GROUP_" + index).c_str());
        if (!job) break;
        jobs.push_back(*job);
    }
    return jobs;
}

// Components of a heterogeneous job: those of its jobs that run this step.
std::vector<StepLayout> layouts_of_jobs(const std::vector<std::uint32_t>& jobs, std::uint32_t step,
                                        std::uint32_t tasks) {
    std::vector<StepLayout> layouts;
    std::uint32_t found = 0;
    for (const std::uint32_t job : jobs) {
        if (found >= tasks) break;
        if (auto layout = query_layout(job, step, std::nullopt)) {
            found += layout->task_count();
            layouts.push_back(*std::move(layout));
        }
    }
    return layouts;
}

// Components within one job, numbered from 0.
std::vector<StepLayout> layouts_of_components(std::uint32_t job, std::uint32_t step,
                                              std::uint32_t tasks) {
    std::vector<StepLayout> layouts;
    for (std::uint32_t found = 0; found < tasks; found += layouts.back().task_count()) {
        auto layout = query_layout(job, step, static_cast<std::uint32_t>(layouts.size()));
        if (!layout) break;
        layouts.push_back(*std::move(layout));
    }
    return layouts;
}

// The merged layout of a heterogeneous step, components in order: they are launched apart, SPANK
// numbers nodes and tasks within each, and what srun sends reaches one of them alone, whichever is
// launched first (22.05). `job` is this component's; `tasks` are all of the step. Up to 128 RPCs.
// Error: slurmctld did not return a layout of so many tasks.
Result<StepLayout> query_het_layout(spank_t spank, std::uint32_t job, std::uint32_t step,
                                    std::uint32_t tasks) {
    const auto jobs = component_jobs(spank);
    const bool one_job = std::find(jobs.begin(), jobs.end(), job) == jobs.end();
    const auto layouts =
        one_job ? layouts_of_components(job, step, tasks) : layouts_of_jobs(jobs, step, tasks);
    if (layouts.empty()) return refuse(step, "slurmctld did not return its layout", "run it again");
    auto merged = StepLayout::from_components(layouts);
    if (!merged || merged->task_count() == tasks) return merged;
    // slurmctld forgets a component as soon as that has ended.
    return refuse(step,
                  formatted("slurmctld reports {} of its {} tasks", merged->task_count(), tasks),
                  "make sure that no component ends before all have started");
}

std::string step_name(const Identity& identity) {
    return formatted("step {}.{}", identity.job, identity.step);
}

StepEnvironment step_environment(spank_t spank) {
    StepEnvironment environment = read_step_environment(StepVariables(spank));
    constexpr bool topology_order = SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0);
    environment.topology_order = environment.topology_order || topology_order;
    return environment;
}

bool knows_layout(spank_t spank, const Identity& identity) {
    const auto sent = step_variable(spank, sent_variable);
    const bool is_settled = sent && sent->read_by([&](std::string_view text) {
        return settles_layout(text, identity.job, identity.step);
    });
    return is_settled || identity.size.nodes == 1 || tells_order(step_environment(spank));
}

std::optional<Error> mismatch(const StepLayout& layout, const Identity& identity) {
    // Of a heterogeneous step each task compares the whole with its own number.
    if (identity.heterogeneous) return std::nullopt;
    auto error = check_size(layout, identity.size);
    return error ? std::move(error) : check_layout(layout, identity.whole());
}

// Another node may find nothing wrong with what it derives, so none asks instead.
Error not_as_told(const Identity& identity) {
    return {step_name(identity),
            "Slurm started other tasks than its variables SLURM_STEP_* and SLURM_DISTRIBUTION say",
            "do not set Slurm's variables with --export"};
}

Error too_many_nodes(const Identity& identity, std::uint32_t nodes, std::string remedy) {
    return {step_name(identity),
            formatted("only slurmctld knows which node each task runs on, and at most {} nodes may "
                      "ask it, but the step has {}",
                      most_asking_nodes, nodes),
            std::move(remedy)};
}

// What the query answers where slurmctld takes it for the user's own.
template <class Query>
Result<StepLayout> ask_as_user(spank_t spank, const Identity& identity, Query query) {
    const AsUser as_user(spank);
    if (as_user.done()) return query();
    return Error{step_name(identity), "slurmctld cannot be asked as its user", "run it again"};
}

// What srun knows of a heterogeneous step is one component of it. The component's size is Slurm's
// word, the step's a variable.
Result<StepLayout> ask_for_components(spank_t spank, const Identity& identity) {
    const StepSize& component = identity.size;
    const StepSize step{step_number(spank, "SLURM_STEP_NUM_NODES").value_or(0),
                        step_number(spank, "SLURM_STEP_NUM_TASKS").value_or(0)};
    if (step.nodes < component.nodes || step.tasks < component.tasks) return not_as_told(identity);
    if (step.nodes > most_asking_nodes) {
        return too_many_nodes(identity, step.nodes, "use one component for the step");
    }
    return ask_as_user(spank, identity, [&] {
        return query_het_layout(spank, identity.job, identity.step, step.tasks);
    });
}

}  // namespace

std::optional<Result<StepLayout>> ask_for_layout(spank_t spank, const Identity& identity) {
    if (identity.heterogeneous) return ask_for_components(spank, identity);
    if (knows_layout(spank, identity)) return std::nullopt;
    if (identity.size.nodes > most_asking_nodes) {
        constexpr const char* remedy =
            "load the plugin on the host of srun too, or use -m cyclic or -m plane=N";
        return too_many_nodes(identity, identity.size.nodes, remedy);
    }
    return ask_as_user(spank, identity,
                       [&] { return query_layout(identity.job, identity.step, std::nullopt); });
}

namespace {

// What srun sent for this step; empty: nothing. Error: not what srun sends.
Result<SentStep> read_sent_step(spank_t spank, const Identity& identity) {
    const auto text = step_variable(spank, sent_variable);
    if (!text) return SentStep{};
    // What srun knows of a heterogeneous step is one component of it, maybe another.
    const StepSize size = identity.heterogeneous ? StepSize{} : identity.size;
    auto sent = text->read_by([&](std::string_view value) {
        return decode(value, {identity.job, identity.step, size});
    });
    return std::move(sent).transform(
        [](std::optional<SentStep> step) { return std::move(step).value_or(SentStep{}); });
}

// `answer`: that of ask_for_layout(). Takes the layout out of `sent`. Errors: the answer's; a
// layout that is not the one that Slurm started.
Result<StepLayout> find_layout(spank_t spank, const Identity& identity, SentStep& sent,
                               std::optional<Result<StepLayout>> answer) {
    if (answer || sent.layout) {
        auto layout = answer ? *std::move(answer) : Result<StepLayout>(*std::move(sent.layout));
        if (!layout) return layout;
        if (auto error = mismatch(*layout, identity)) return *std::move(error);
        return layout;
    }
    auto derived = derive_layout(step_environment(spank), identity.size);
    if (!derived || !*derived || mismatch(**derived, identity)) return not_as_told(identity);
    return **std::move(derived);
}

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
