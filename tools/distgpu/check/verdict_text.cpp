// The verdict for people.
#include "base/format.h"
#include "check/rate_text.h"
#include "check/verdict.h"
#include "output.h"
#include "ranks_text.h"
#include "table.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace distgpu {
namespace {

std::string or_none(const std::string& text) {
    return text.empty() ? "none" : text;
}

std::string rate_or_none(std::optional<double> rate) {
    return rate ? rate_text(*rate) : "none";
}

bool tried_network(const Verdict& verdict) {
    return std::any_of(verdict.nodes.begin(), verdict.nodes.end(),
                       [](const NodeState& node) { return node.rates.out || node.rates.in; });
}

std::string node_table(const Verdict& verdict, bool colour) {
    const bool rates = tried_network(verdict);
    Row heading{"node", "ranks", "CPUs", "GPUs/rank", "interface"};
    if (rates) heading.insert(heading.end(), {"sends", "takes"});
    heading.insert(heading.end(), {"InfiniBand", "state"});
    std::vector<Row> rows{heading};
    for (const NodeState& node : verdict.nodes) {
        Row row{node.name, number_ranges(node.ranks)};
        if (node.reported) {
            row.insert(row.end(),
                       {node.cpus, std::to_string(node.gpus_per_rank), or_none(node.interface)});
            if (rates) {
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

}  // namespace

std::string verdict_text(const Verdict& verdict, bool colour) {
    const std::string ranks = counted(verdict.ranks, "rank");
    const std::string nodes = counted(verdict.nodes.size(), "node");
    const std::string rendezvous = verdict.rendezvous.empty() ? "not known" : verdict.rendezvous;
    std::string text = formatted("distgpu check: {}, {} on {}, rendezvous {}\n\n{}\n", verdict.mode,
                                 ranks, nodes, rendezvous, node_table(verdict, colour));
    if (!verdict.fabric.empty()) {
        text += formatted("no InfiniBand: NCCL will use {} between nodes\n", verdict.fabric);
    }
    if (!verdict.skipped.empty()) {
        text += formatted("not checked: {}\n", join(verdict.skipped, ", "));
    }
    std::string worst;
    std::size_t warnings = 0;
    for (const SharedFinding& shared : verdict.findings) {
        const bool fatal = is_fatal(shared.finding);
        text += fatal ? styled(colour, "31", "failed:") : styled(colour, "33", "warning:");
        text += formatted(" {}\n", line_of(shared));
        if (fatal && worst.empty()) worst = line_of(shared);
        warnings += fatal ? 0 : 1;
    }
    if (!verdict.missing.empty()) {
        const std::string missing = missing_line(verdict);
        text += formatted("{} {}\n", styled(colour, "31", "missing:"), missing);
        if (worst.empty()) worst = missing;
    }
    if (!worst.empty()) {
        text += styled(colour, "1;31", "not ready:") + " " + worst + "\n";
        if (!verdict.exclude.empty()) {
            text += formatted("leave out: --exclude={}\n", verdict.exclude.to_string());
        }
        return text;
    }
    const std::string with = warnings > 0 ? ", " + counted(warnings, "warning") : std::string();
    return text + styled(colour, "1;32", "ready:") +
           formatted(" {} on {} reach rank 0 at {}{}\n", ranks, nodes, rendezvous, with);
}

}  // namespace distgpu
