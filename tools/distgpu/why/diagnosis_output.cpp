// See diagnosis_output.h.
#include "why/diagnosis_output.h"

#include "base/format.h"
#include "ranks_text.h"
#include "table.h"
#include "why/stack_tree.h"

#include <vector>

namespace distgpu {
namespace {

std::string group_table(const std::vector<RankGroup>& groups, bool colour) {
    std::vector<Row> rows{{"RANKS", "NODES", "WHERE", "DOING", "MOVED"}};
    for (const RankGroup& group : groups) {
        constexpr std::size_t most_nodes = 4;
        const bool fits = group.nodes.size() <= most_nodes;
        const std::string channel =
            group.wait_channel.empty() ? "" : formatted(" ({})", group.wait_channel);
        rows.push_back({ranks_text(group.ranks),
                        fits ? join(group.nodes, ",") : counted(group.nodes.size(), "node"),
                        group.site.text.empty() ? "-" : group.site.text,
                        std::string(name_of(group.activity)) + channel,
                        group.moved ? "yes" : "no"});
    }
    return table(std::move(rows), {.indent = 2, .bold_heading = colour});
}

JsonText tree_json(const StackNode& node) {
    return {{"frames", JsonText::list(node.frames,
                                      [](const Frame& frame) -> JsonText {
                                          return {{"function", frame.function},
                                                  {"file", json_text_or_null(frame.file)},
                                                  {"line", frame.line}};
                                      })},
            {"ranks", JsonText::list(node.ranks)},
            {"children", JsonText::list(node.children, tree_json)}};
}

JsonText group_json(const RankGroup& group) {
    return {{"ranks", JsonText::list(group.ranks)},
            {"nodes", JsonText::list(group.nodes)},
            {"where", json_text_or_null(group.site.text)},
            {"activity", name_of(group.activity)},
            {"moved", group.moved},
            {"wait_channel", json_text_or_null(group.wait_channel)},
            {"worker", json_text_or_null(group.worker)}};
}

}  // namespace

std::string diagnosis_text(const std::string& step, const Diagnosis& diagnosis, bool colour) {
    std::string text = formatted("step {}: {} on {}, looked at for {:.1f} s\n\n", step,
                                 counted(diagnosis.expected, "rank"),
                                 counted(diagnosis.nodes, "node"), diagnosis.seconds);
    for (const std::string& finding : diagnosis.findings) text += finding + "\n";
    if (diagnosis.findings.empty()) text += "no rank was seen\n";
    if (!diagnosis.groups.empty()) text += "\n" + group_table(diagnosis.groups, colour);
    const auto tree = stack_tree(diagnosis.groups);
    if (!tree.empty()) text += "\n" + to_text(tree);
    if (!diagnosis.silent.empty()) {
        text += formatted("\nno answer from {}\n", join(diagnosis.silent, ", "));
    }
    for (const std::string& note : diagnosis.notes) text += "\n" + note + "\n";
    return text;
}

std::string diagnosis_json(const std::string& step, const Diagnosis& diagnosis) {
    const JsonText json{{"schema", "distgpu.why/1"},
                        {"step", step},
                        {"kind", name_of(diagnosis.kind)},
                        {"findings", JsonText::list(diagnosis.findings)},
                        {"seconds", diagnosis.seconds},
                        {"ranks", diagnosis.expected},
                        {"missing", JsonText::list(diagnosis.missing)},
                        {"groups", JsonText::list(diagnosis.groups, group_json)},
                        {"stacks", JsonText::list(stack_tree(diagnosis.groups), tree_json)},
                        {"silent", JsonText::list(diagnosis.silent)},
                        {"notes", JsonText::list(diagnosis.notes)}};
    return json.indented();
}

}  // namespace distgpu
