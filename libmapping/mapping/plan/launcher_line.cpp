#include "mapping/plan/launcher_line.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/layout/step_layout.h"
#include "mapping/plan/processes.h"
#include "mapping/plan/rendezvous_address.h"
#include "mapping/request/request.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace distgpu {
namespace {

using Meaning = OptionMeaning;

// The step's modes give launchers that take them from variables what these options say.
std::string remedy_of(const GivenOption& given, const StepView& step) {
    if (!given.option->instead.empty()) return formatted("write {}", given.option->instead);
    if (given.option->meaning == Meaning::one_node) return "leave it out";
    return formatted("leave it out: {} sets it", option_of(step.request));
}

Misfit misfit(const GivenLauncher& launcher, const GivenOption& given, std::string problem,
              std::string remedy, bool impossible) {
    return {{excerpt(formatted("{} {}", launcher.name, given.text)), std::move(problem),
             std::move(remedy)},
            impossible};
}

std::string each_alone(const StepView& step) {
    return formatted("each of the step's {} nodes would train alone", step.layout.node_count());
}

struct Range {
    std::uint32_t least = 0;
    std::uint32_t most = 0;
};

// "2" or "1:4". Nothing: not for us to judge.
std::optional<Range> node_range(std::string_view text) {
    const std::size_t colon = text.find(':');
    const auto least = whole_number(text.substr(0, colon));
    const auto most =
        colon == std::string_view::npos ? least : whole_number(text.substr(colon + 1));
    if (!least || !most) return std::nullopt;
    return Range{*least, *most};
}

std::optional<std::string> nodes_problem(const GivenOption& given, const StepView& step) {
    const auto range = node_range(*given.value);
    const std::uint32_t nodes = step.layout.node_count();
    if (!range) return std::nullopt;
    const bool is_range = given.option->meaning == Meaning::node_range;
    if (range->most == nodes || (is_range && range->least <= nodes && nodes <= range->most)) {
        return std::nullopt;
    }
    if (range->most == 1) return each_alone(step);
    return formatted("the step has {}, so the launchers would wait for each other in vain",
                     counted(nodes, "node"));
}

std::optional<std::string> rank_problem(const GivenOption& given, const StepView& step) {
    if (step.layout.node_count() > 1) {
        return "the same on every node, as the command line is, but each needs its own";
    }
    const auto number = whole_number(*given.value);
    if (!number || *number == 0) return std::nullopt;
    return "the step has one node, whose number is 0";
}

// "host" of "host:29500" and "[::1]:29500"
std::string_view host_of(std::string_view endpoint) {
    if (endpoint.starts_with('[')) return endpoint.substr(1, endpoint.find(']') - 1);
    return endpoint.substr(0, endpoint.find(':'));
}

std::optional<std::string> address_problem(const GivenOption& given, const StepView& step,
                                           const RendezvousFacts& facts) {
    const std::string_view value = *given.value;
    const bool has_port = given.option->meaning == Meaning::endpoint || value.starts_with('[');
    return wrong_host(step, facts, has_port ? host_of(value) : value);
}

// What no node shows is told by the step's own size.
std::optional<std::string> world_problem(const GivenOption& given, const StepView& step) {
    const auto number = whole_number(*given.value);
    const std::uint32_t nodes = step.layout.node_count();
    if (!number || *number >= nodes) return std::nullopt;
    return formatted("fewer processes than the step's {} nodes", nodes);
}

std::optional<std::string> step_problem(const GivenOption& given, const StepView& step,
                                        const RendezvousFacts& facts) {
    switch (given.option->meaning) {
        case Meaning::nodes:
        case Meaning::node_range:
            return nodes_problem(given, step);
        case Meaning::own_rank:
            return rank_problem(given, step);
        case Meaning::address:
        case Meaning::endpoint:
            return address_problem(given, step, facts);
        case Meaning::processes_in_all:
        case Meaning::world:
            return world_problem(given, step);
        case Meaning::one_node:
            return step.layout.node_count() == 1 ? std::nullopt : std::optional(each_alone(step));
        default:
            return std::nullopt;
    }
}

std::string processes_text(std::uint64_t count) {
    return count == 1 ? "1 process" : formatted("{} processes", count);
}

// Of one that gives the number of a node's processes, where the node can do otherwise.
std::optional<std::string> processes_problem(std::uint32_t processes, const NodeFacts& node) {
    if (node.gpus == 0 || processes == node.gpus) return std::nullopt;
    if (processes > node.gpus) {
        return formatted("{} on a node with {} in this step", processes_text(processes),
                         counted(node.gpus, "GPU"));
    }
    const std::uint32_t idle = node.gpus - processes;
    return formatted("{} on a node with {} GPUs, of which {} idle", processes_text(processes),
                     node.gpus, idle == 1 ? "one is" : formatted("{} are", idle));
}

std::string with_key(const StepView& step, std::string_view key, std::string_view value) {
    return formatted("leave it out, or write {},{}={}", option_of(step.request), key, value);
}

std::optional<Misfit> number_misfit(const GivenLauncher& launcher, const GivenOption& given,
                                    const StepView& step, const NodeFacts& node) {
    const auto number = whole_number(*given.value);
    // Without GPUs the node has none, or is not known yet.
    const bool is_known = node.gpus > 0 || step.request.nproc.has_value();
    if (!number || !is_known) return std::nullopt;
    const std::uint32_t nodes = step.layout.node_count();
    const std::uint32_t each = processes_on(step.request, node);
    switch (given.option->meaning) {
        case Meaning::processes:
        case Meaning::processes_in_all: {
            const bool in_all = given.option->meaning == Meaning::processes_in_all;
            auto problem = processes_problem(in_all ? *number / nodes : *number, node);
            if (!problem) return std::nullopt;
            return misfit(
                launcher, given, *std::move(problem),
                formatted("use {}", in_all ? std::uint64_t{node.gpus} * nodes : node.gpus), false);
        }
        case Meaning::processes_of_world:
            if (*number == each) return std::nullopt;
            return misfit(launcher, given,
                          formatted("{} counts {} on each node", option_of(step.request),
                                    processes_text(each)),
                          with_key(step, "nproc", *given.value), true);
        case Meaning::world:
            if (*number == std::uint64_t{each} * nodes) return std::nullopt;
            return misfit(launcher, given,
                          formatted("the step has {}, {} on each node",
                                    processes_text(std::uint64_t{each} * nodes), each),
                          with_key(step, "nproc", "N"), true);
        default:
            return std::nullopt;
    }
}

std::optional<Misfit> port_misfit(const GivenLauncher& launcher, const GivenOption& given,
                                  const StepView& step, const Rendezvous& rendezvous) {
    const auto port = whole_number(*given.value);
    if (!port || *port == rendezvous.port) return std::nullopt;
    return misfit(launcher, given,
                  formatted("not the port that distgpu tests, which is {}", rendezvous.port),
                  given.option->instead.empty() ? with_key(step, "port", *given.value)
                                                : remedy_of(given, step),
                  false);
}

}  // namespace

std::vector<Misfit> launcher_misfits(const StepView& step, const RendezvousFacts& facts) {
    const auto launcher = given_launcher(step);
    if (!launcher) return {};
    std::vector<Misfit> misfits;
    for (const GivenOption& given : launcher->options.options) {
        if (!given.value) continue;
        if (auto problem = step_problem(given, step, facts)) {
            misfits.push_back(
                misfit(*launcher, given, *std::move(problem), remedy_of(given, step), true));
        }
    }
    const auto judge = step.request.framework->launcher_options->judge;
    if (auto other = judge == nullptr ? std::nullopt : judge(step, launcher->options)) {
        misfits.push_back(*std::move(other));
    }
    return misfits;
}

std::vector<Misfit> launcher_misfits_on(const StepView& step, const NodeFacts& node,
                                        const Rendezvous& rendezvous) {
    const auto launcher = given_launcher(step);
    if (!launcher) return {};
    std::vector<Misfit> misfits;
    for (const GivenOption& given : launcher->options.options) {
        if (!given.value) continue;
        auto found = given.option->meaning == Meaning::port
                         ? port_misfit(*launcher, given, step, rendezvous)
                         : number_misfit(*launcher, given, step, node);
        if (found) misfits.push_back(*std::move(found));
    }
    return misfits;
}

}  // namespace distgpu
