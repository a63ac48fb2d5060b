// The verdict for people.
#include "base/format.h"
#include "check/verdict.h"
#include "output.h"
#include "ranks_text.h"
#include "table.h"

#include <algorithm>
#include <utility>

namespace distgpu {
namespace {

std::string or_none(const std::string& text) {
    return text.empty() ? "none" : text;
}

std::string node_table(const std::vector<NodeState>& nodes, bool colour) {
    std::vector<Row> rows{
        {"node", "ranks", "CPUs", "GPUs/rank", "interface", "InfiniBand", "state"}};
    for (const NodeState& node : nodes) {
        Row row{node.name, number_ranges(node.ranks), "", "", "", "", node.state};
        if (node.reported) {
            row = {node.name,
                   number_ranges(node.ranks),
                   node.cpus,
                   std::to_string(node.gpus_per_rank),
                   or_none(node.interface),
                   or_none(node.ports),
                   node.state};
        }
        rows.push_back(std::move(row));
    }
    return table(std::move(rows), {.bold_heading = colour});
}

std::string line(const SharedFinding& shared) {
    const Error& error = shared.finding.error;
    return formatted("{}: {}: {}; {}", shared.who, error.object, error.problem, error.remedy);
}

}  // namespace

std::string verdict_text(const Verdict& verdict, bool colour) {
    const std::string ranks = counted(verdict.ranks, "rank");
    const std::string nodes = counted(verdict.nodes.size(), "node");
    const std::string rendezvous = verdict.rendezvous.empty() ? "not known" : verdict.rendezvous;
    std::string text = formatted("distgpu check: {}, {} on {}, rendezvous {}\n\n{}\n", verdict.mode,
                                 ranks, nodes, rendezvous, node_table(verdict.nodes, colour));
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
        text += formatted(" {}\n", line(shared));
        if (fatal && worst.empty()) worst = line(shared);
        warnings += fatal ? 0 : 1;
    }
    if (!verdict.missing.empty()) {
        const std::string missing = formatted(
            "{}: no report within {} s; see their own messages, and the state of the nodes with "
            "sinfo -N",
            verdict.missing_who, verdict.waited.count());
        text += formatted("{} {}\n", styled(colour, "31", "missing:"), missing);
        if (worst.empty()) worst = missing;
    }
    if (!worst.empty()) return text + styled(colour, "1;31", "not ready:") + " " + worst + "\n";
    const std::string with = warnings > 0 ? ", " + counted(warnings, "warning") : std::string();
    return text + styled(colour, "1;32", "ready:") +
           formatted(" {} on {} reach rank 0 at {}{}\n", ranks, nodes, rendezvous, with);
}

}  // namespace distgpu
