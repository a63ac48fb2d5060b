// See verdict.h.
#include "check/verdict.h"

#include "base/format.h"
#include "mapping/plan/plan.h"
#include "mapping/topology/cpu_set.h"
#include "table.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace distgpu {
namespace {

using Ranks = std::set<std::uint32_t>;

// "ranks 0-3,5".
std::string ranks_text(const Ranks& ranks) {
    std::string text;
    for (auto at = ranks.begin(); at != ranks.end();) {
        const std::uint32_t first = *at;
        std::uint32_t last = first;
        while (++at != ranks.end() && *at == last + 1) last = *at;
        text += formatted("{}{}", text.empty() ? "" : ",", first);
        if (last > first) text += formatted("-{}", last);
    }
    return formatted("rank{} {}", ranks.size() == 1 ? "" : "s", text);
}

// "rank 3 on node02", "ranks 0-7 on node[01-02]".
std::string who(const Ranks& ranks, const StepLayout& layout) {
    std::set<std::uint32_t> nodes;
    for (const std::uint32_t rank : ranks) {
        nodes.insert(layout.place(task_of(GlobalRank{rank})).node.value);
    }
    std::vector<std::string> names;
    names.reserve(nodes.size());
    for (const std::uint32_t node : nodes) names.push_back(layout.hosts().name(NodeIndex{node}));
    return formatted("{} on {}", ranks_text(ranks), HostList::from_names(names).to_string());
}

// One finding, and all the ranks that have it.
struct Shared {
    Finding finding;
    Ranks ranks;
};

// Fatal ones first, then as the ranks have them.
std::vector<Shared> shared_findings(const std::vector<Report>& reports) {
    std::vector<Shared> shared;
    for (const Report& report : reports) {
        for (const Finding& finding : report.findings) {
            const auto same = [&](const Shared& each) { return each.finding == finding; };
            auto at = std::find_if(shared.begin(), shared.end(), same);
            if (at == shared.end()) at = shared.insert(at, {finding, {}});
            at->ranks.insert(report.rank);
        }
    }
    std::stable_partition(shared.begin(), shared.end(),
                          [](const Shared& each) { return is_fatal(each.finding); });
    return shared;
}

std::string line(const Shared& shared, const StepLayout& layout) {
    const Error& error = shared.finding.error;
    return formatted("{}: {}: {}; {}", who(shared.ranks, layout), error.object, error.problem,
                     error.remedy);
}

// Of the first rank that has one.
std::string rendezvous_of(const std::vector<Report>& reports) {
    const auto known = std::find_if(reports.begin(), reports.end(), [](const Report& report) {
        return !report.rendezvous.empty();
    });
    return known == reports.end() ? "not known" : known->rendezvous;
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
                                    "export the same everywhere, or nothing"}});
    }
}

// "rank 3 fails", "2 of 4 ranks missing"; "ok".
std::string state(const std::vector<const Report*>& reports, std::uint32_t tasks) {
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

std::string or_none(const std::string& text) {
    return text.empty() ? "none" : text;
}

// Of all the node's ranks together.
std::string all_cpus(const std::vector<const Report*>& reports) {
    CpuSet cpus;
    for (const Report* report : reports) {
        if (const auto own = CpuSet::parse(report->cpus)) cpus |= *own;
    }
    return cpus.to_string();
}

Row node_row(const StepLayout& layout, NodeIndex node, const std::vector<const Report*>& reports) {
    Ranks ranks;
    for (const TaskId task : layout.task_ids(node)) ranks.insert(rank_of(task).value);
    std::string numbers = ranks_text(ranks);
    numbers.erase(0, numbers.find(' ') + 1);
    const std::uint32_t tasks = layout.tasks_on(node);
    if (reports.empty()) {
        return {layout.hosts().name(node), numbers, "", "", "", "", state(reports, tasks)};
    }
    const Report& first = *reports.front();
    return {layout.hosts().name(node), numbers,
            all_cpus(reports),         std::to_string(first.gpus),
            or_none(first.interface),  or_none(first.ports),
            state(reports, tasks)};
}

std::string node_table(const StepLayout& layout, const std::vector<Report>& reports) {
    std::vector<std::vector<const Report*>> by_node(layout.node_count());
    for (const Report& report : reports) {
        by_node[layout.place(task_of(GlobalRank{report.rank})).node.value].push_back(&report);
    }
    std::vector<Row> rows{
        {"node", "ranks", "CPUs", "GPUs/rank", "interface", "InfiniBand", "state"}};
    for (std::uint32_t node = 0; node < layout.node_count(); ++node) {
        rows.push_back(node_row(layout, NodeIndex{node}, by_node[node]));
    }
    return table(std::move(rows));
}

// What it means where no node can use InfiniBand.
std::string fabric_note(const StepLayout& layout, const std::vector<Report>& reports) {
    const bool none = std::all_of(reports.begin(), reports.end(),
                                  [](const Report& report) { return report.ports.empty(); });
    if (!none || layout.node_count() == 1) return "";
    const std::string& interface = reports.front().interface;
    return formatted("no InfiniBand: NCCL will use sockets{} between nodes\n",
                     interface.empty() ? "" : " over " + interface);
}

// Which checks were not chosen.
std::string skipped_note(const Checks& checks) {
    std::vector<std::string_view> skipped;
    for (const NamedCheck* check : all_checks()) {
        if (std::find(checks.begin(), checks.end(), check) == checks.end()) {
            skipped.push_back(check->name);
        }
    }
    return skipped.empty() ? "" : formatted("not checked: {}\n", join(skipped, ", "));
}

Ranks missing_ranks(const StepLayout& layout, const std::vector<Report>& reports) {
    Ranks missing;
    for (std::uint32_t rank = 0; rank < layout.task_count(); ++rank) missing.insert(rank);
    for (const Report& report : reports) missing.erase(report.rank);
    return missing;
}

}  // namespace

Verdict verdict_of(std::string_view mode, const StepLayout& layout,
                   const std::vector<Report>& gathered, std::chrono::seconds waited,
                   const Checks& checks) {
    std::vector<Report> reports = gathered;
    compare_rendezvous(reports);
    const auto findings = shared_findings(reports);
    const Ranks missing = missing_ranks(layout, reports);
    const std::string ranks = counted(layout.task_count(), "rank");
    const std::string nodes = counted(layout.node_count(), "node");
    Verdict verdict;
    verdict.text = formatted("distgpu check: {}, {} on {}, rendezvous {}\n\n{}\n{}{}", mode, ranks,
                             nodes, rendezvous_of(reports), node_table(layout, reports),
                             fabric_note(layout, reports), skipped_note(checks));
    std::string worst;
    std::size_t warnings = 0;
    for (const Shared& shared : findings) {
        const bool fatal = is_fatal(shared.finding);
        const std::string text = line(shared, layout);
        verdict.text += formatted("{}: {}\n", fatal ? "failed" : "warning", text);
        if (fatal && worst.empty()) worst = text;
        warnings += fatal ? 0 : 1;
    }
    if (!missing.empty()) {
        const std::string text = formatted(
            "{}: no report within {} s; see their own messages, and the state of the nodes with "
            "sinfo -N",
            who(missing, layout), waited.count());
        verdict.text += formatted("missing: {}\n", text);
        if (worst.empty()) worst = text;
        verdict.code = ExitCode::timed_out;
    } else if (!worst.empty()) {
        verdict.code = ExitCode::check_failed;
    }
    verdict.text += worst.empty() ? formatted("ready: {} on {} reach rank 0 at {}{}\n", ranks,
                                              nodes, rendezvous_of(reports),
                                              warnings > 0 ? ", " + counted(warnings, "warning")
                                                           : std::string())
                                  : formatted("not ready: {}\n", worst);
    return verdict;
}

}  // namespace distgpu
