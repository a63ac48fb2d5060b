#include "check/verdict.h"

#include "base/format.h"
#include "check/compare_nodes.h"
#include "mapping/plan/plan.h"
#include "mapping/topology/cpu_set.h"
#include "ranks_text.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace distgpu {
namespace {

using Ranks = std::set<std::uint32_t>;

std::vector<std::uint32_t> list_of(const Ranks& ranks) {
    return {ranks.begin(), ranks.end()};
}

// "rank 3 on node02", "ranks 0-7 on node[01-02]".
std::string who(const Ranks& ranks, const StepLayout& layout) {
    std::set<std::uint32_t> nodes;
    for (const std::uint32_t rank : ranks) {
        nodes.insert(layout.place(GlobalRank{rank}).node.value);
    }
    std::vector<std::string> names;
    names.reserve(nodes.size());
    for (const std::uint32_t node : nodes) names.push_back(layout.hosts().name(NodeIndex{node}));
    return formatted("{} on {}", ranks_text(list_of(ranks)),
                     HostList::from_names(names).to_string());
}

std::vector<SharedFinding> shared_findings(const std::vector<Report>& reports,
                                           const StepLayout& layout) {
    std::vector<std::pair<Finding, Ranks>> found;
    for (const Report& report : reports) {
        for (const Finding& finding : report.findings) {
            const auto same = [&](const auto& each) { return each.first == finding; };
            auto at = std::find_if(found.begin(), found.end(), same);
            if (at == found.end()) at = found.insert(at, {finding, {}});
            at->second.insert(report.rank);
        }
    }
    std::stable_partition(found.begin(), found.end(),
                          [](const auto& each) { return is_fatal(each.first); });
    std::vector<SharedFinding> shared;
    shared.reserve(found.size());
    for (const auto& [finding, ranks] : found) {
        shared.push_back({finding, list_of(ranks), who(ranks, layout)});
    }
    return shared;
}

// Of the first rank that has one.
std::string rendezvous_of(const std::vector<Report>& reports) {
    const auto known = std::find_if(reports.begin(), reports.end(), [](const Report& report) {
        return !report.rendezvous.empty();
    });
    return known == reports.end() ? "" : known->rendezvous;
}

// Ranks must agree on where they meet.
void compare_rendezvous(std::vector<Report>& reports) {
    const std::string first = reports.front().rendezvous;
    if (first.empty()) return;
    for (Report& report : reports) {
        if (report.rendezvous.empty() || report.rendezvous == first) continue;
        report.findings.push_back({Finding::Weight::fatal,
                                   {"MASTER_ADDR and MASTER_PORT",
                                    formatted("{}, but rank 0 has {}", report.rendezvous, first),
                                    "export the same everywhere, or nothing"},
                                   std::string(variables_check.name)});
    }
}

// "rank 3 fails", "2 of 4 ranks missing"; "ok".
std::string state_of(const std::vector<const Report*>& reports, std::uint32_t tasks) {
    const auto failing = std::count_if(reports.begin(), reports.end(), [](const Report* report) {
        return any_fatal(report->findings);
    });
    std::string text;
    if (reports.size() < tasks) {
        text = formatted("{} of {} missing", tasks - reports.size(), tasks);
    }
    if (failing > 0) {
        text += formatted("{}{} of {} failed", text.empty() ? "" : ", ", failing, tasks);
    }
    return text.empty() ? "ok" : text;
}

// Of all the node's ranks together.
std::string all_cpus(const std::vector<const Report*>& reports) {
    CpuSet cpus;
    for (const Report* report : reports) {
        if (const auto own = CpuSet::parse(report->cpus)) cpus |= *own;
    }
    return cpus.to_string();
}

NodeState node_state(const StepLayout& layout, NodeIndex node,
                     const std::vector<const Report*>& reports) {
    NodeState state{layout.hosts().name(node), {}, !reports.empty()};
    for (const TaskId task : layout.task_ids(node))
        state.ranks.push_back(rank_of(layout, task).value);
    std::sort(state.ranks.begin(), state.ranks.end());
    state.state = state_of(reports, layout.tasks_on(node));
    if (reports.empty()) return state;
    const Report& first = *reports.front();
    state.cpus = all_cpus(reports);
    state.gpus_per_rank = first.gpus;
    state.interface = first.interface;
    state.ports = first.ports;
    return state;
}

std::vector<NodeState> node_states(const StepLayout& layout, const std::vector<Report>& reports) {
    std::vector<std::vector<const Report*>> by_node(layout.node_count());
    for (const Report& report : reports) {
        by_node[layout.place(GlobalRank{report.rank}).node.value].push_back(&report);
    }
    std::vector<NodeState> states;
    for (std::uint32_t node = 0; node < layout.node_count(); ++node) {
        states.push_back(node_state(layout, NodeIndex{node}, by_node[node]));
    }
    return states;
}

// What it means where no node can use InfiniBand.
std::string fabric_of(const StepLayout& layout, const std::vector<Report>& reports) {
    const bool none = std::all_of(reports.begin(), reports.end(),
                                  [](const Report& report) { return report.ports.empty(); });
    if (!none || layout.node_count() == 1) return "";
    const std::string& interface = reports.front().interface;
    return interface.empty() ? "sockets" : "sockets over " + interface;
}

std::vector<std::string> skipped_checks(const Checks& checks) {
    std::vector<std::string> skipped;
    for (const NamedCheck* check : all_checks()) {
        if (std::find(checks.begin(), checks.end(), check) == checks.end()) {
            skipped.emplace_back(check->name);
        }
    }
    return skipped;
}

Ranks missing_ranks(const StepLayout& layout, const std::vector<Report>& reports) {
    Ranks missing;
    for (std::uint32_t rank = 0; rank < layout.task_count(); ++rank) missing.insert(rank);
    for (const Report& report : reports) missing.erase(report.rank);
    return missing;
}

// These findings go where the user's job goes.
bool is_of_node(const Finding& finding) {
    return finding.check != variables_check.name && finding.check != ports_check.name;
}

// Where all nodes are alike in what is wrong, none of them can be left out.
HostList nodes_to_exclude(const StepLayout& layout, const std::vector<SharedFinding>& findings,
                          const Ranks& missing) {
    const auto nodes_of = [&](const auto& ranks) {
        std::set<std::uint32_t> nodes;
        for (const std::uint32_t rank : ranks) {
            nodes.insert(layout.place(GlobalRank{rank}).node.value);
        }
        return nodes;
    };
    std::set<std::uint32_t> excluded = nodes_of(missing);
    for (const SharedFinding& shared : findings) {
        if (!is_fatal(shared.finding) || !is_of_node(shared.finding)) continue;
        const auto nodes = nodes_of(shared.ranks);
        if (nodes.size() < layout.node_count()) excluded.insert(nodes.begin(), nodes.end());
    }
    if (excluded.size() == layout.node_count()) return {};
    std::vector<std::string> names;
    names.reserve(excluded.size());
    for (const std::uint32_t node : excluded) names.push_back(layout.hosts().name(NodeIndex{node}));
    return HostList::from_names(names);
}

}  // namespace

std::string line_of(const SharedFinding& shared) {
    const Error& error = shared.finding.error;
    return formatted("{}: {}: {}; {}", shared.who, error.object, error.problem, error.remedy);
}

std::string missing_line(const Verdict& verdict) {
    return formatted(
        "{}: no report within {} s; see their own messages, and the state of the nodes with "
        "sinfo -N",
        verdict.missing_who, verdict.waited.count());
}

void add_rates(Verdict& verdict, const std::vector<NodeRates>& rates) {
    for (const NodeRates& node : rates) verdict.nodes[node.node].rates = node;
}

Verdict verdict_of(std::string_view mode, const StepLayout& layout,
                   const std::vector<Report>& gathered, std::chrono::seconds waited,
                   const Checks& checks) {
    std::vector<Report> reports = gathered;
    compare_rendezvous(reports);
    compare_nodes(reports, layout);
    const Ranks missing = missing_ranks(layout, reports);
    Verdict verdict;
    verdict.mode = mode;
    verdict.ranks = layout.task_count();
    verdict.rendezvous = rendezvous_of(reports);
    verdict.nodes = node_states(layout, reports);
    verdict.findings = shared_findings(reports, layout);
    verdict.missing = list_of(missing);
    if (!missing.empty()) verdict.missing_who = who(missing, layout);
    verdict.waited = waited;
    verdict.fabric = fabric_of(layout, reports);
    verdict.skipped = skipped_checks(checks);
    verdict.exclude = nodes_to_exclude(layout, verdict.findings, missing);
    if (!missing.empty()) {
        verdict.code = ExitCode::timed_out;
    } else if (!verdict.findings.empty() && is_fatal(verdict.findings.front().finding)) {
        verdict.code = ExitCode::check_failed;
    }
    return verdict;
}

}  // namespace distgpu
