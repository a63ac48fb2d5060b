// Prints the verdict: as text, in brief before a program starts, and as JSON.
#include "base/format.h"
#include "base/json.h"
#include "check/step_check.h"
#include "output.h"
#include "table.h"

#include <algorithm>
#include <utility>

namespace distgpu {
namespace {

// "ranks 0-7 on node[01-02]: object: problem; remedy".
std::string line_of(const SharedFinding& shared) {
    const Error& error = shared.finding.error;
    return formatted("{}: {}; {}", shared.subject, error.cause(), error.remedy);
}

// The same for the ranks that did not report. Precondition: there are some.
std::string missing_line(const Verdict& verdict) {
    return formatted(
        "{}: no report within {} s; see their own messages, and the state of the nodes with "
        "sinfo -N",
        verdict.missing_subject, verdict.report_timeout.count());
}

std::string or_none(const std::string& text) {
    return text.empty() ? "none" : text;
}

std::string rate_or_none(std::optional<double> rate) {
    return rate ? rate_text(*rate) : "none";
}

std::string node_table(const Verdict& verdict, bool colour) {
    const bool has_rates = std::ranges::any_of(
        verdict.nodes, [](const NodeState& node) { return node.rates.out || node.rates.in; });
    Row heading{"node", "ranks", "CPUs", "GPUs/rank", "interface"};
    if (has_rates) heading.insert(heading.end(), {"sends", "receives"});
    heading.insert(heading.end(), {"InfiniBand", "state"});
    std::vector<Row> rows{heading};
    for (const NodeState& node : verdict.nodes) {
        Row row{node.name, number_ranges(node.ranks)};
        if (node.has_reported) {
            row.insert(row.end(),
                       {node.cpus, std::to_string(node.gpus_per_rank), or_none(node.interface)});
            if (has_rates) {
                row.insert(row.end(), {rate_or_none(node.rates.out), rate_or_none(node.rates.in)});
            }
            row.push_back(or_none(node.ports));
        }
        row.resize(heading.size() - 1);
        row.push_back(node.state);
        rows.push_back(std::move(row));
    }
    return table(std::move(rows), {.bold_heading = colour});
}

constexpr std::string_view prefix = "distgpu: check: ";

// No one reads more lines than this; `distgpu check` prints them all.
constexpr std::size_t max_lines = 16;

JsonText node_json(const NodeState& node) {
    std::vector<JsonMember> members{{"node", node.name},
                                    {"ranks", JsonText::list(node.ranks)},
                                    {"reported", node.has_reported},
                                    {"state", node.state}};
    if (node.has_reported) {
        members.insert(members.end(), {{"cpus", node.cpus},
                                       {"gpus_per_rank", node.gpus_per_rank},
                                       {"interface", node.interface},
                                       {"bytes_per_second_out", node.rates.out},
                                       {"bytes_per_second_in", node.rates.in},
                                       {"round_trip_seconds", node.rates.round_trip},
                                       {"ports", node.ports}});
    }
    return members;
}

JsonText finding_json(const SharedFinding& shared) {
    const Error& error = shared.finding.error;
    return {{"check", shared.finding.check},
            {"weight", is_fatal(shared.finding) ? "failed" : "warning"},
            {"ranks", JsonText::list(shared.ranks)},
            {"object", error.object},
            {"problem", error.problem},
            {"remedy", error.remedy}};
}

}  // namespace

std::string reason_not_ready(const Verdict& verdict) {
    if (!verdict.findings.empty() && is_fatal(verdict.findings.front().finding)) {
        return line_of(verdict.findings.front());
    }
    return verdict.missing.empty() ? "" : missing_line(verdict);
}

std::string rate_text(double rate) {
    constexpr double mega = 1e6;
    constexpr double giga = 1e9;
    const double bits = rate * 8;
    // Three digits, even where rounding would give 1000 Mb/s.
    return bits < 999.5 * mega ? formatted("{:.3g} Mb/s", bits / mega)
                               : formatted("{:.3g} Gb/s", bits / giga);
}

std::string verdict_text(const Verdict& verdict, bool colour) {
    const std::string ranks = counted(verdict.ranks, "rank");
    const std::string nodes = counted(verdict.nodes.size(), "node");
    const std::string rendezvous = verdict.rendezvous.empty() ? "not known" : verdict.rendezvous;
    std::string text = formatted("distgpu check: {}, {} on {}, rendezvous {}\n\n{}\n", verdict.mode,
                                 ranks, nodes, rendezvous, node_table(verdict, colour));
    for (const std::string& network : verdict.networks) {
        text += formatted("NCCL between nodes: {}\n", network);
    }
    if (!verdict.skipped.empty()) {
        text += formatted("not checked: {}\n", join(verdict.skipped, ", "));
    }
    std::size_t warnings = 0;
    for (const SharedFinding& shared : verdict.findings) {
        const bool fatal = is_fatal(shared.finding);
        text += fatal ? styled(colour, "31", "failed:") : styled(colour, "33", "warning:");
        text += formatted(" {}\n", line_of(shared));
        warnings += fatal ? 0 : 1;
    }
    if (!verdict.missing.empty()) {
        text += formatted("{} {}\n", styled(colour, "31", "missing:"), missing_line(verdict));
    }
    if (const std::string reason = reason_not_ready(verdict); !reason.empty()) {
        text += styled(colour, "1;31", "not ready:") + " " + reason + "\n";
        if (!verdict.exclude.empty()) {
            text += formatted("leave out: --exclude={}\n", verdict.exclude.to_string());
        }
        return text;
    }
    const std::string with = warnings > 0 ? ", " + counted(warnings, "warning") : std::string();
    return text + styled(colour, "1;32", "ready:") +
           formatted(" {} on {} reach rank 0 at {}{}\n", ranks, nodes, rendezvous, with);
}

std::string verdict_brief(const Verdict& verdict) {
    std::string text;
    std::size_t lines = 0;
    for (const SharedFinding& shared : verdict.findings) {
        if (++lines > max_lines) continue;
        const std::string_view severity = is_fatal(shared.finding) ? "" : "warning: ";
        text += formatted("{}{}{}\n", prefix, severity, line_of(shared));
    }
    if (lines > max_lines) {
        text += formatted("{}{}; run distgpu check in place of the program to see all\n", prefix,
                          counted(lines - max_lines, "more finding"));
    }
    if (!verdict.missing.empty()) {
        text += formatted("{}{}; a slurmd without distgpu's plugin does not report either\n",
                          prefix, missing_line(verdict));
    }
    if (verdict.code == ExitCode::done) {
        return text + formatted("{}{} on {} ready in {:.1f} s\n", prefix,
                                counted(verdict.ranks, "rank"),
                                counted(verdict.nodes.size(), "node"),
                                std::chrono::duration<double>(verdict.duration).count());
    }
    if (verdict.exclude.empty()) return text + formatted("{}not ready\n", prefix);
    return text + formatted("{}not ready, but the other nodes are: use --exclude={}\n", prefix,
                            verdict.exclude.to_string());
}

std::string verdict_json(const Verdict& verdict) {
    const JsonText text{{"schema", "distgpu.check/1"},
                        {"ready", verdict.code == ExitCode::done},
                        {"mode", verdict.mode},
                        {"ranks", verdict.ranks},
                        {"rendezvous", verdict.rendezvous},
                        {"nodes", JsonText::list(verdict.nodes, node_json)},
                        {"findings", JsonText::list(verdict.findings, finding_json)},
                        {"exclude", json_text_or_null(verdict.exclude.to_string())},
                        {"seconds", std::chrono::duration<double>(verdict.duration).count()},
                        {"missing", JsonText::list(verdict.missing)},
                        {"not_checked", JsonText::list(verdict.skipped)}};
    return text.indented() + "\n";
}

}  // namespace distgpu
