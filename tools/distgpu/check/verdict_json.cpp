// The verdict for programs.
#include "base/json_text.h"
#include "check/verdict.h"

#include <chrono>

namespace distgpu {
namespace {

JsonText node_json(const NodeState& node) {
    std::vector<JsonMember> members{{"node", node.name},
                                    {"ranks", JsonText::list(node.ranks)},
                                    {"reported", node.reported},
                                    {"state", node.state}};
    if (node.reported) {
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

std::string verdict_json(const Verdict& verdict) {
    const JsonText text{{"schema", "distgpu.check/1"},
                        {"ready", verdict.code == ExitCode::done},
                        {"mode", verdict.mode},
                        {"ranks", verdict.ranks},
                        {"rendezvous", verdict.rendezvous},
                        {"nodes", JsonText::list(verdict.nodes, node_json)},
                        {"findings", JsonText::list(verdict.findings, finding_json)},
                        {"exclude", json_text_or_null(verdict.exclude.to_string())},
                        {"seconds", std::chrono::duration<double>(verdict.took).count()},
                        {"missing", JsonText::list(verdict.missing)},
                        {"not_checked", JsonText::list(verdict.skipped)}};
    return text.indented() + "\n";
}

}  // namespace distgpu
