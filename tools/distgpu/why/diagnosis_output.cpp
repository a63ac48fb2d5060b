#include "why/diagnosis_output.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "ranks_text.h"
#include "table.h"
#include "why/stack_tree.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <sstream>
#include <vector>

namespace distgpu {
namespace {

// "97 %", "0-100 %".
std::string load_text(const RankGroup& group) {
    if (!group.most_busy) return "-";
    return group.least_busy == group.most_busy
               ? formatted("{} %", *group.most_busy)
               : formatted("{}-{} %", *group.least_busy, *group.most_busy);
}

// Of the odd ranks the first few.
std::string details_text(const Diagnosis& diagnosis) {
    constexpr std::size_t most = 4;
    std::string text;
    for (const EndedProcess& ended : diagnosis.ended) {
        text += formatted("  on {} process {} {} {}\n", ended.node, ended.pid,
                          printable(ended.name), ended.how);
    }
    for (std::size_t i = 0; i < std::min(diagnosis.odd, most); ++i) {
        text += to_text(diagnosis.details[i]);
    }
    return text.empty() ? "" : "\n" + text;
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

JsonText busy_json(const RankGroup& group) {
    if (!group.most_busy) return {};
    return {{"least", group.least_busy}, {"most", group.most_busy}};
}

JsonText group_json(const RankGroup& group) {
    return {{"ranks", JsonText::list(group.ranks)},
            {"nodes", JsonText::list(group.nodes)},
            {"where", json_text_or_null(group.site.text)},
            {"activity", name_of(group.activity)},
            {"moved", group.moved},
            {"wait_channel", json_text_or_null(group.wait_channel)},
            {"worker", json_text_or_null(group.worker)},
            {"gpus_busy", busy_json(group)}};
}

// The folders with files of torch's recorder, each once, and how to read them: a file of every rank
// in one folder.
std::string records_text(const std::vector<std::string>& records) {
    std::map<std::string, std::size_t> prefixes;
    for (const std::string& file : records) {
        ++prefixes[file.substr(0, file.find_last_not_of("0123456789") + 1)];
    }
    std::string text;
    for (const auto& [prefix, files] : prefixes) {
        const std::size_t slash = prefix.rfind('/');
        text += formatted("\ntorch's flight recorder wrote {}: torchfrtrace {} --prefix {}\n",
                          counted(files, "file"), prefix.substr(0, slash + 1),
                          prefix.substr(slash + 1));
    }
    return text;
}

}  // namespace

std::vector<Row> group_rows(const std::vector<RankGroup>& groups) {
    const bool has_load = std::any_of(groups.begin(), groups.end(), [](const RankGroup& group) {
        return group.most_busy.has_value();
    });
    std::vector<Row> rows{{"RANKS", "NODES", "WHERE", "DOING", "MOVED"}};
    if (has_load) rows.back().emplace_back("GPUS BUSY");
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
        if (has_load) rows.back().push_back(load_text(group));
    }
    return rows;
}

std::string looked_at(const Diagnosis& diagnosis) {
    return formatted("{} on {}, looked at for {:.1f} s", counted(diagnosis.expected, "rank"),
                     counted(diagnosis.nodes, "node"), diagnosis.seconds);
}

std::string diagnosis_text(const std::string& step, const Diagnosis& diagnosis, bool colour) {
    std::string text = formatted("step {}: {}\n\n", step, looked_at(diagnosis));
    for (const std::string& finding : diagnosis.findings) text += finding + "\n";
    if (diagnosis.findings.empty()) text += "no rank was seen\n";
    if (!diagnosis.groups.empty()) {
        text += "\n" + table(group_rows(diagnosis.groups), {.indent = 2, .bold_heading = colour});
    }
    text += details_text(diagnosis);
    const auto tree = stack_tree(diagnosis.groups);
    if (!tree.empty()) text += "\n" + to_text(tree);
    if (!diagnosis.nccl.empty()) {
        text += "\nNCCL says of the job:\n";
        std::istringstream lines(diagnosis.nccl);
        for (std::string line; std::getline(lines, line);) {
            text += line.empty() ? "\n" : "  " + line + "\n";
        }
    }
    text += records_text(diagnosis.records);
    if (!diagnosis.silent.empty()) {
        text += formatted("\nno answer from {}\n", join(diagnosis.silent, ", "));
    }
    for (const std::string& note : diagnosis.notes) text += "\n" + note + "\n";
    return text;
}

std::string diagnosis_json(const std::string& step, const Diagnosis& diagnosis) {
    const JsonText json{
        {"schema", "distgpu.why/1"},
        {"step", step},
        {"kind", name_of(diagnosis.kind)},
        {"findings", JsonText::list(diagnosis.findings)},
        {"seconds", diagnosis.seconds},
        {"ranks", diagnosis.expected},
        {"missing", JsonText::list(diagnosis.missing)},
        {"ended",
         JsonText::list(diagnosis.ended, [](const EndedProcess& each) { return to_json(each); })},
        {"groups", JsonText::list(diagnosis.groups, group_json)},
        {"details",
         JsonText::list(diagnosis.details, [](const RankDetails& each) { return to_json(each); })},
        {"stacks", JsonText::list(stack_tree(diagnosis.groups), tree_json)},
        {"nccl", json_text_or_null(diagnosis.nccl)},
        {"records", JsonText::list(diagnosis.records)},
        {"silent", JsonText::list(diagnosis.silent)},
        {"notes", JsonText::list(diagnosis.notes)}};
    return json.indented();
}

}  // namespace distgpu
