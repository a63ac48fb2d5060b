#include "mapping/plan/plan_warnings.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/binding/device_values.h"
#include "mapping/plan/plan.h"

namespace distgpu {

std::uint32_t processes_on(const Request& request, const NodeFacts& node) {
    return request.nproc.value_or(node.gpus > 0 ? node.gpus : node.cpus);
}

namespace {

// An upper limit of the CPUs of each of the node's `local_tasks` tasks: an even share of the step's
// CPUs, within the largest mask.
std::uint32_t max_cpus_of_task(const NodeFacts& node, std::uint32_t local_tasks) {
    const std::uint32_t share = node.cpus / local_tasks;
    std::uint32_t largest_mask = 0;
    for (const CpuSet& mask : node.share.masks) largest_mask = std::max(largest_mask, mask.count());
    return largest_mask == 0 ? share : std::min(share, largest_mask);
}

std::string idle_text(std::uint32_t gpus) {
    return gpus == 1 ? "one is idle" : formatted("{} are idle", gpus);
}

// The options of srun for `tasks` tasks on each node, whatever its command line or the job has.
std::string tasks_option(const StepView& step, std::uint32_t tasks) {
    std::string per_node = formatted("--ntasks-per-node={}", tasks);
    if (step.facts.task_count_source == TaskCountSource::per_node) return per_node;
    return formatted("--ntasks={} {}", std::uint64_t{tasks} * step.layout.node_count(), per_node);
}

// The remedy if the nodes have different numbers of GPUs: --gpus=6 on two nodes may be four and
// two. nullopt if, as far as is known, each node has as many as this one.
std::optional<std::string> uneven_remedy(const NodeFacts& node, std::uint64_t nodes) {
    if (node.gpus_of_step == 0 || node.gpus_of_step == node.gpus * nodes) return std::nullopt;
    return formatted(
        "use --gpus-per-node={0} --ntasks-per-node={0}, because --gpus={1} gives the nodes "
        "different numbers",
        std::max<std::uint64_t>(1, node.gpus_of_step / nodes), node.gpus_of_step);
}

// Warns if the node does not have one task for each GPU.
std::optional<std::string> gpu_warning(const StepView& step, const NodeFacts& node) {
    const Framework& framework = *step.request.framework;
    const std::uint32_t tasks = step.layout.tasks_on(node.node);
    const std::uint32_t gpus = node.gpus;
    if (gpus == 0 || tasks == gpus) return std::nullopt;
    const auto uneven = uneven_remedy(node, step.layout.node_count());
    if (tasks > gpus) {
        const std::string more_gpus =
            formatted("use --gpus-per-node={0} or --gres=gpu:{0}{1}, or {2}", tasks,
                      node.slurm_binds_gpus ? " instead of --gpus-per-task and --gpu-bind" : "",
                      tasks_option(step, gpus));
        return formatted(
            "{} on a node, but each sees {}, so some tasks have no device LOCAL_RANK; {}",
            counted(tasks, "task"), counted(gpus, "GPU"), uneven.value_or(more_gpus));
    }
    std::string remedy = uneven.value_or("use " + tasks_option(step, gpus));
    for (const Variant& variant : framework.variants) {
        if (tasks == 1 && !uneven && variant.framework->launcher_per_node) {
            remedy += formatted(", or a launcher with --distgpu={}", variant.framework->mode);
        }
    }
    return formatted("{} on a node with {} GPUs, of which {}; {}", counted(tasks, "task"), gpus,
                     idle_text(gpus - tasks), remedy);
}

// Warns if the node has GPUs but the step did not ask for them.
std::optional<Error> no_gpus_warning(const StepView& step, const NodeFacts& node) {
    const Framework& framework = *step.request.framework;
    const bool keeps_gpus = binding_policy(step.request, node).gpus == GpuPolicy::keep;
    if (!node.slurm_manages_gpus || node.gpus > 0 || framework.also_for_cpus || keeps_gpus ||
        node.topology == nullptr || node.topology->gpus.empty()) {
        return std::nullopt;
    }
    const std::size_t gpus = node.topology->gpus.size();
    const bool needs_tasks = framework.one_gpu_per_task && step.layout.tasks_on(node.node) != gpus;
    return Error{
        option_of(step.request),
        formatted("the step has no GPU, but {} has {}", step.layout.hosts().name(node.node),
                  gpus == 1 ? "one" : std::to_string(gpus)),
        formatted("use --gres=gpu:{}{}, or gpus=keep if it needs none", gpus,
                  needs_tasks ? formatted(" with --ntasks-per-node={}", gpus) : "")};
}

}  // namespace

std::vector<Error> step_warnings(const StepView& step) {
    const Framework& framework = *step.request.framework;
    std::vector<Error> warnings;
    if (auto mismatch = program_mismatch(step); mismatch && !mismatch->is_refusal) {
        warnings.push_back(std::move(mismatch->error));
    }
    if (framework.warn != nullptr) {
        if (auto warning = framework.warn(step)) warnings.push_back(*std::move(warning));
    }
    const std::uint32_t nodes = step.layout.node_count();
    const std::uint32_t allocated = step.facts.allocated_nodes;
    if (allocated > nodes) {
        warnings.push_back(
            {option_of(step.request),
             formatted(
                 "the step runs on {} of the {} nodes of the allocation; use -N{}, or -N{} if "
                 "you want that",
                 nodes, allocated, allocated, nodes),
             ""});
    }
    if (step.facts.has_default_size && step.layout.task_count() == 1 &&
        !framework.launcher_per_node) {
        warnings.push_back(
            {option_of(step.request),
             "the step has one task, which trains alone, as rank 0 of 1; use -N NODES, "
             "--ntasks-per-node=GPUS and --gres=gpu:GPUS, or -n1 if you want one task",
             ""});
    }
    return warnings;
}

std::optional<Error> refuse_server_without_gpus(const StepView& step, const NodeFacts& node) {
    return step.request.framework->service == nullptr ? std::nullopt : no_gpus_warning(step, node);
}

std::vector<Error> plan_warnings(const StepView& step, const NodeFacts& node) {
    const Framework& framework = *step.request.framework;
    const std::uint32_t local_tasks = step.layout.tasks_on(node.node);
    std::vector<Error> warnings;
    const auto add = [&](const std::optional<std::string>& text) {
        if (text) warnings.push_back({option_of(step.request), *text, ""});
    };
    if (step.facts.is_helper) return warnings;
    for (const std::string& text : gpu_name_warnings(step.request, node)) add(text);
    if (auto warning = no_gpus_warning(step, node)) warnings.push_back(*std::move(warning));
    const std::uint32_t processes = processes_on(step.request, node);
    if (framework.launcher_per_node && node.gpus > 0 && processes > node.gpus) {
        add(formatted("nproc={} on a node with {} in this step; use nproc={}, or ask for more GPUs",
                      processes, counted(node.gpus, "GPU"), node.gpus));
    }
    if (!framework.one_gpu_per_task) return warnings;
    add(gpu_warning(step, node));
    if (node.gpus > 0 && node.cpus_per_task == 1 && max_cpus_of_task(node, local_tasks) <= 1) {
        add("each task has only one CPU, too few for data loaders; use srun --cpus-per-task=N "
            "(srun does not inherit it from sbatch)");
    }
    return warnings;
}

namespace {

using Meaning = OptionMeaning;

// The remedy for a wrong option. Launchers that read variables get the right value from the mode.
std::string remedy_of(const GivenOption& given, const StepView& step) {
    if (!given.option->replacement.empty()) return formatted("write {}", given.option->replacement);
    if (given.option->meaning == Meaning::one_node) return "leave it out";
    return formatted("leave it out: {} sets it", option_of(step.request));
}

Mismatch option_mismatch(const GivenLauncher& launcher, const GivenOption& given,
                         std::string problem, std::string remedy, bool is_refusal) {
    return {{excerpt(formatted("{} {}", launcher.name, given.text)), std::move(problem),
             std::move(remedy)},
            is_refusal};
}

// Why the option does not fit the step as a whole; nullopt if it fits.
std::optional<std::string> step_problem(const GivenOption& given, const StepView& step,
                                        const RendezvousFacts& facts) {
    const std::string_view value = *given.value;
    const auto number = whole_number(value);
    const std::uint32_t nodes = step.layout.node_count();
    const auto each_alone_text = [nodes] {
        return formatted("each of the step's {} nodes would train alone", nodes);
    };
    const Meaning meaning = given.option->meaning;
    switch (meaning) {
        case Meaning::nodes:
        case Meaning::node_range: {
            // "2" or "1:4"
            const std::size_t colon = value.find(':');
            const auto min = whole_number(value.substr(0, colon));
            const auto max =
                colon == std::string_view::npos ? min : whole_number(value.substr(colon + 1));
            if (!min || !max || *max == nodes) return std::nullopt;
            const bool is_within = *min <= nodes && nodes <= *max;
            if (meaning == Meaning::node_range && is_within) return std::nullopt;
            if (*max == 1) return each_alone_text();
            return formatted("the step has {}, so the launchers would wait for each other forever",
                             counted(nodes, "node"));
        }
        case Meaning::node_rank:
            if (nodes > 1) {
                return "every node would get the same value, but each needs its own";
            }
            if (number.value_or(0) == 0) return std::nullopt;
            return "the step has one node, whose number is 0";
        case Meaning::address:
        case Meaning::endpoint: {
            // "host" of "host:29500" and "[::1]:29500"
            std::string_view host = value;
            if (value.starts_with('[')) {
                host = value.substr(1, value.find(']') - 1);
            } else if (meaning == Meaning::endpoint) {
                host = value.substr(0, value.find(':'));
            }
            return host_problem(step, facts, host);
        }
        case Meaning::processes_in_all:
        case Meaning::world:
            // Too few even for one per node. node_launcher_mismatches() checks the exact number.
            if (!number || *number >= nodes) return std::nullopt;
            return formatted("fewer processes than the step's {} nodes", nodes);
        case Meaning::one_node:
            return nodes == 1 ? std::nullopt : std::optional(each_alone_text());
        default:
            return std::nullopt;
    }
}

std::string processes_text(std::uint64_t count) {
    return count == 1 ? "1 process" : formatted("{} processes", count);
}

std::string key_remedy(const StepView& step, std::string_view key, std::string_view value) {
    return formatted("leave it out, or write {},{}={}", option_of(step.request), key, value);
}

std::optional<Mismatch> number_mismatch(const GivenLauncher& launcher, const GivenOption& given,
                                        const StepView& step, const NodeFacts& node) {
    const auto number = whole_number(*given.value);
    // gpus is 0 if the node has none or is not yet known.
    if (!number || (node.gpus == 0 && !step.request.nproc)) return std::nullopt;
    const std::uint32_t nodes = step.layout.node_count();
    const std::uint32_t each = processes_on(step.request, node);
    const std::uint64_t all = std::uint64_t{each} * nodes;
    switch (given.option->meaning) {
        case Meaning::processes:
        case Meaning::processes_in_all: {
            const bool in_all = given.option->meaning == Meaning::processes_in_all;
            const std::uint32_t processes = in_all ? *number / nodes : *number;
            if (node.gpus == 0 || processes == node.gpus) return std::nullopt;
            const std::string on_node = formatted("{} on a node with", processes_text(processes));
            std::string problem =
                processes > node.gpus
                    ? formatted("{} {} in this step", on_node, counted(node.gpus, "GPU"))
                    : formatted("{} {} GPUs, of which {}", on_node, node.gpus,
                                idle_text(node.gpus - processes));
            return option_mismatch(
                launcher, given, std::move(problem),
                formatted("use {}", in_all ? std::uint64_t{node.gpus} * nodes : node.gpus), false);
        }
        case Meaning::processes_of_world:
            if (*number == each) return std::nullopt;
            return option_mismatch(launcher, given,
                                   formatted("{} expects {} on each node", option_of(step.request),
                                             processes_text(each)),
                                   key_remedy(step, "nproc", *given.value), true);
        case Meaning::world:
            if (*number == all) return std::nullopt;
            return option_mismatch(
                launcher, given,
                formatted("the step has {}, {} on each node", processes_text(all), each),
                key_remedy(step, "nproc", "N"), true);
        default:
            return std::nullopt;
    }
}

std::optional<Mismatch> port_mismatch(const GivenLauncher& launcher, const GivenOption& given,
                                      const StepView& step, const Rendezvous& rendezvous) {
    const auto port = whole_number(*given.value);
    if (!port || *port == rendezvous.port) return std::nullopt;
    return option_mismatch(
        launcher, given, formatted("not the port that distgpu tests, which is {}", rendezvous.port),
        given.option->replacement.empty() ? key_remedy(step, "port", *given.value)
                                          : remedy_of(given, step),
        false);
}

}  // namespace

std::vector<Mismatch> launcher_mismatches(const StepView& step, const RendezvousFacts& facts) {
    const auto launcher = given_launcher(step);
    if (!launcher) return {};
    std::vector<Mismatch> mismatches;
    for (const GivenOption& given : launcher->options.options) {
        if (!given.value) continue;
        if (auto problem = step_problem(given, step, facts)) {
            mismatches.push_back(option_mismatch(*launcher, given, *std::move(problem),
                                                 remedy_of(given, step), true));
        }
    }
    const auto find = step.request.framework->launcher_options->find_mismatch;
    if (auto other = find == nullptr ? std::nullopt : find(step, launcher->options)) {
        mismatches.push_back(*std::move(other));
    }
    return mismatches;
}

std::vector<Mismatch> node_launcher_mismatches(const StepView& step, const NodeFacts& node,
                                               const Rendezvous& rendezvous) {
    const auto launcher = given_launcher(step);
    if (!launcher) return {};
    std::vector<Mismatch> mismatches;
    for (const GivenOption& given : launcher->options.options) {
        if (!given.value) continue;
        auto found = given.option->meaning == Meaning::port
                         ? port_mismatch(*launcher, given, step, rendezvous)
                         : number_mismatch(*launcher, given, step, node);
        if (found) mismatches.push_back(*std::move(found));
    }
    return mismatches;
}

}  // namespace distgpu
