#include "node/plan_inputs.h"

#include "base/format.h"
#include "base/io/programs.h"
#include "base/io/resolve.h"
#include "base/values.h"
#include "node/network.h"
#include "node/task_environment.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

namespace distgpu {
namespace {

// A value that plan() parses, exactly as Slurm writes it; nullopt if it is not one printable line.
std::optional<std::string> line_of(const Environment& environment, const char* name) {
    constexpr std::size_t longest = std::size_t{1} << 17U;  // Linux's MAX_ARG_STRLEN
    const auto text = environment.get(name);
    return text ? printable_line(*text, longest) : std::nullopt;
}

std::optional<std::string> rendezvous_variable(const Environment& environment, const char* name) {
    if (!prepared_spec(environment)) return exported(environment, name);
    auto value = environment.get(name);
    return value && !value->empty() ? value : std::nullopt;
}

void find_interface(OwnNode& node, const NodeSource& source) {
    if (source.address.empty()) return;
    NetworkInterface found = interface_of(source.address, Clock::now() + name_lookup_timeout);
    node.interface = std::move(found.name);
    if (found.lookup_failed) {
        node.warnings.push_back(unresolved_address_error(source.address, source.name));
    }
    if (found.lookup_failed || found.loopback.empty()) return;
    node.warnings.push_back(
        {source.address,
         formatted("resolves to {} on its own node, so other nodes cannot reach it",
                   found.loopback),
         std::string(source.remedy)});
}

void add_topology(OwnNode& node, const TopologySource& source) {
    const auto begin = Clock::now();
    auto found = find_topology(source);
    if (found) {
        node.topology = std::make_unique<NodeTopology>(std::move(found->topology));
        node.ignored_topology_file = std::move(found->ignored_file);
        node.has_saved_topology = found->is_saved;
        return;
    }
    node.discovery_timed_out = Clock::now() - begin >= discovery_time_limit;
    node.warnings.push_back({formatted("topology of {}", host_name()), found.error().cause(),
                             "CPUs, GPUs and network devices stay as Slurm set them"});
}

// Adds every task's GPUs, unless all tasks have the same ones: they share those, as in a step
// without such a binding.
void add_bound_gpus(NodeFacts& facts, const StepGpus& own, const SharedTaskState& shared) {
    // Slurm releases all tasks of a node at once, and pyxis, which runs earlier, makes them wait
    // for each other.
    auto lists = shared.wait_for_gpus(std::chrono::seconds(2));
    if (!lists) {
        facts.gpu_names.ambiguity =
            "GPUs: Slurm bound them to the tasks, and not every task knows which ones it has";
        return;
    }
    std::set<std::uint32_t> all;
    bool are_alike = true;
    for (const auto& list : *lists) {
        are_alike = are_alike && list == own.indices;
        all.insert(list.begin(), list.end());
    }
    if (are_alike) return;
    facts.share.gpus.assign(all.begin(), all.end());
    // No names exist for another task's GPUs, so all tasks keep the names that Slurm gave.
    facts.gpu_names.names.assign(all.size(), "");
    facts.share.task_gpus = *std::move(lists);
}

}  // namespace

Step collect_step(const Environment& environment, StepLayout layout) {
    Step step{std::move(layout)};
    step.facts.cpus_per_node = line_of(environment, "SLURM_JOB_CPUS_PER_NODE").value_or("");
    step.facts.job_name = line_of(environment, "SLURM_JOB_NAME").value_or("");
    step.rendezvous.exported_address = rendezvous_variable(environment, "MASTER_ADDR");
    step.rendezvous.exported_port = rendezvous_variable(environment, "MASTER_PORT");
    step.rendezvous.reserved_ports = line_of(environment, "SLURM_STEP_RESV_PORTS");
    return step;
}

OwnNode find_own_node(const NodeSource& source) {
    OwnNode node;
    find_interface(node, source);
    if (source.topology) add_topology(node, *source.topology);
    return node;
}

NodeFacts collect_facts(const Environment& task, const Environment& launch, const OwnNode& node,
                        std::uint32_t cpus_per_task) {
    NodeFacts facts = read_node_facts(task, launch);
    facts.cpus_per_task = cpus_per_task;
    facts.share.cpus_per_task = cpus_per_task;
    facts.interface = node.interface;
    facts.topology = node.topology.get();
    return facts;
}

CpuSet all_cpus(const SlurmShare& share) {
    CpuSet all;
    for (const CpuSet& mask : share.masks) all |= mask;
    return all;
}

void set_gpus(NodeFacts& facts, const Result<StepGpus>& gpus) {
    if (!gpus) {
        facts.gpu_names.ambiguity = gpus.error().cause();
        return;
    }
    facts.share.gpus = gpus->indices;
    facts.gpu_names.names = gpus->names;
}

struct SharedTaskState::Slot {
    enum class State : std::uint32_t { pending, published, unknown };
    static_assert(std::atomic<State>::is_always_lock_free, "processes share it");

    KernelCpuSet cpus;
    std::atomic<State> state;  // of the GPUs
    std::uint32_t count;
    std::array<std::uint32_t, 128> gpus;  // 8 MI300X in 8 partitions are 64
};

void SharedTaskState::create(std::size_t tasks) {
    slots_ = shared_array<Slot>(tasks);
    tasks_ = slots_ == nullptr ? 0 : tasks;
}

void SharedTaskState::record_cpus(std::size_t local_rank, pid_t task) {
    if (local_rank >= tasks_) return;
    KernelCpuSet cpus{};
    if (read_affinity(task, cpus)) slots_[local_rank].cpus = cpus;
}

std::vector<CpuSet> SharedTaskState::cpus() const {
    std::vector<CpuSet> masks;
    for (std::size_t task = 0; task < tasks_; ++task) {
        masks.push_back(CpuSet::from_words(slots_[task].cpus));
        if (masks.back().empty()) return {};
    }
    return masks;
}

void SharedTaskState::publish_gpus(LocalRank task, const std::vector<std::uint32_t>& gpus) const {
    if (task.value >= tasks_) return;
    Slot& slot = slots_[task.value];
    const bool known = !gpus.empty() && gpus.size() <= slot.gpus.size();
    if (known) {
        slot.count = static_cast<std::uint32_t>(gpus.size());
        std::copy(gpus.begin(), gpus.end(), slot.gpus.begin());
    }
    slot.state.store(known ? Slot::State::published : Slot::State::unknown,
                     std::memory_order_release);
}

std::optional<std::vector<std::vector<std::uint32_t>>> SharedTaskState::wait_for_gpus(
    std::chrono::milliseconds time_limit) const {
    const Deadline end = Clock::now() + time_limit;
    std::vector<std::vector<std::uint32_t>> lists;
    while (lists.size() < tasks_) {
        const Slot& slot = slots_[lists.size()];
        const Slot::State state = slot.state.load(std::memory_order_acquire);
        if (state == Slot::State::published) {
            // Another process of the user may have overwritten the count.
            const std::size_t count = std::min<std::size_t>(slot.count, slot.gpus.size());
            lists.emplace_back(slot.gpus.begin(), slot.gpus.begin() + count);
        } else if (state == Slot::State::unknown || Clock::now() >= end) {
            return std::nullopt;
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    return lists.empty() ? std::nullopt : std::optional(std::move(lists));
}

void StepGpuFacts::read_step(const Environment& step, std::optional<Numbering> numbering) {
    numbering_ = numbering;
    is_shared_with_jobs_ = gpu_owner(step) == GpuOwner::jobs;
    variables_ = gpu_variables(step);
    visible_ = visible_gpus(step);
}

void StepGpuFacts::set_task_gpus(NodeFacts& facts, const Environment& task_environment,
                                 LocalRank task, const SharedTaskState& shared) const {
    if (is_shared_with_jobs_ || visible_gpus(task_environment).empty()) return;
    facts.gpu_names.variables = variables_;
    const bool bound = gpu_owner(task_environment) == GpuOwner::task;
    // If Slurm bound GPUs, this task's variable names its own, unless a container replaced it.
    const auto own =
        gpus_of_task(*facts.topology, bound ? visible_gpus(task_environment) : visible_);
    shared.publish_gpus(task, own ? own->indices : std::vector<std::uint32_t>{});
    if (own && own->indices.empty()) return;
    set_gpus(facts, own);
    if (!own) return;
    facts.gpus = static_cast<std::uint32_t>(own->indices.size());
    // If a task has fewer GPUs than the step, its siblings may have the others.
    const bool has_all = own->indices.size() == comma_items(visible_).size();
    if (bound || !has_all) add_bound_gpus(facts, *own, shared);
}

Result<StepGpus> StepGpuFacts::gpus_of_task(const NodeTopology& topology,
                                            const std::string& visible) const {
    const auto usable = usable_gpus(topology);
    const Numbering numbering = numbering_.value_or(likely_numbering(topology, usable));
    // If Slurm hides the other GPUs, the task's own are those that it can open.
    if (numbering == Numbering::opened) return step_gpus(topology, usable, visible_, numbering);
    const auto known = comma_items(visible_);
    const auto items = comma_items(visible);
    if (std::all_of(items.begin(), items.end(), [&](std::string_view item) {
            return std::find(known.begin(), known.end(), item) != known.end();
        })) {
        return step_gpus(topology, usable, visible, numbering);
    }
    return Error{"GPUs",
                 "Slurm bound them to the tasks, and a variable of the container hides which", ""};
}

}  // namespace distgpu
