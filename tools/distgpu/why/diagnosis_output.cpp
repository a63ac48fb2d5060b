// Writes a diagnosis as text, as JSON (schema distgpu.why/1) and as an HTML page.
#include "base/format.h"
#include "base/values.h"
#include "found_job.h"
#include "inspect/sample_all_nodes.h"
#include "picture/picture.h"
#include "picture/text_page.h"
#include "table.h"
#include "why/diagnosis.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

struct StackNode {
    std::vector<Frame> frames;          // a chain that does not branch, the outermost first
    std::vector<std::uint32_t> ranks;   // whose stacks have this chain, ascending
    std::vector<StackNode> children{};  // the one with the fewest ranks first
};

// The tree of the stacks of these groups from frame `depth` on.
std::vector<StackNode> tree_from(std::size_t depth, const std::vector<const RankGroup*>& groups) {
    std::map<Frame, std::vector<const RankGroup*>> by_frame;
    for (const RankGroup* group : groups) {
        if (depth < group->stack.size()) by_frame[group->stack[depth]].push_back(group);
    }
    std::vector<StackNode> nodes;
    for (const auto& [frame, members] : by_frame) {
        StackNode node;
        const Stack& stack = members.front()->stack;
        std::size_t end = depth;  // of the chain that all members share
        const auto has_next_frame = [&](const RankGroup* group) {
            return end < group->stack.size() && end < stack.size() &&
                   group->stack[end] == stack[end];
        };
        while (std::ranges::all_of(members, has_next_frame)) node.frames.push_back(stack[end++]);
        for (const RankGroup* group : members) {
            node.ranks.insert(node.ranks.end(), group->ranks.begin(), group->ranks.end());
        }
        std::ranges::sort(node.ranks);
        node.children = tree_from(end, members);
        nodes.push_back(std::move(node));
    }
    std::ranges::stable_sort(nodes, {}, [](const StackNode& node) { return node.ranks.size(); });
    return nodes;
}

std::vector<StackNode> stack_tree(const std::vector<RankGroup>& groups) {
    std::vector<const RankGroup*> all;
    all.reserve(groups.size());
    for (const RankGroup& group : groups) all.push_back(&group);
    return tree_from(0, all);
}

void add_lines(const StackNode& node, std::size_t depth, std::string& text) {
    for (std::size_t i = 0; i < node.frames.size(); ++i) {
        const bool is_last = i + 1 == node.frames.size();
        text += formatted("{}{}{}\n", std::string(2 * depth, ' '), to_text(node.frames[i]),
                          is_last ? "  " + ranks_text(node.ranks) : "");
        ++depth;
    }
    for (const StackNode& child : node.children) add_lines(child, depth, text);
}

std::string text_of(const Connection& connection) {
    std::string text = connection.peer;
    if (connection.unsent > 0) text += formatted(" ({} bytes unsent)", connection.unsent);
    if (connection.unread > 0) text += formatted(" ({} bytes unread)", connection.unread);
    return text;
}

std::string text_of(const GpuSample& gpu) {
    std::vector<std::string> percents;
    for (const auto& busy : gpu.busy) percents.push_back(busy ? formatted("{}", *busy) : "-");
    return formatted("{} busy {} %", gpu.pci, join(percents, ", "));
}

std::string text_of(const std::string& text) {
    return text;
}

// A heading and the first few items of a list.
template <class Items>
std::string line(std::string_view heading, const Items& items) {
    constexpr std::size_t max_items = 4;
    if (items.empty()) return "";
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < std::min(items.size(), max_items); ++i) {
        texts.push_back(text_of(items[i]));
    }
    const std::string more =
        items.size() > max_items ? formatted(", and {} more", items.size() - max_items) : "";
    return formatted("    {} {}{}\n", heading, printable(join(texts, ", ")), more);
}

JsonText details_json(const RankDetails& details) {
    return {{"rank", details.rank},
            {"node", details.node},
            {"pid", details.pid},
            {"command", details.command},
            {"state", std::string_view(&details.state, 1)},
            {"wait_channel", json_text_or_null(details.wait_channel)},
            {"cpu", details.cpu},
            {"wakings", details.wakeups},
            {"launchers", JsonText::list(details.launchers)},
            {"children", JsonText::list(details.children)},
            {"connections", JsonText::list(details.connections, to_json<Connection>)},
            {"gpus", JsonText::list(details.gpus, to_json<GpuSample>)}};
}

JsonText straggler_json(const Straggler& straggler) {
    return {{"rank", straggler.rank},
            {"node", straggler.node},
            {"where", json_text_or_null(straggler.site)},
            {"share", straggler.share}};
}

// "97 %", "0-100 %".
std::string load_text(const RankGroup& group) {
    if (!group.max_gpu_load) return "-";
    return group.min_gpu_load == group.max_gpu_load
               ? formatted("{} %", *group.max_gpu_load)
               : formatted("{}-{} %", *group.min_gpu_load, *group.max_gpu_load);
}

std::string sentence(const Zombie& ended) {
    return formatted("on {} process {} {} {}", ended.node, ended.pid, ended.name, ended.how);
}

std::string sentence(const Straggler& straggler) {
    constexpr double percent = 100;
    return formatted("the others waited {:.0f}% of the time for rank {} on {}, in {}",
                     percent * straggler.share, straggler.rank, straggler.node, straggler.site);
}

// Details of the first few outliers, after the processes that have ended.
std::string details_text(const Diagnosis& diagnosis) {
    constexpr std::size_t max_outliers = 4;
    std::string text;
    for (const Zombie& ended : diagnosis.ended) text += "  " + printable(sentence(ended)) + "\n";
    for (std::size_t i = 0; i < std::min(diagnosis.outliers, max_outliers); ++i) {
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

JsonText group_json(const RankGroup& group) {
    JsonText busy;
    if (group.max_gpu_load) {
        busy = JsonText{{"least", group.min_gpu_load}, {"most", group.max_gpu_load}};
    }
    return {{"ranks", JsonText::list(group.ranks)},
            {"nodes", JsonText::list(group.nodes)},
            {"where", json_text_or_null(group.site.text)},
            {"activity", name_of(group.activity)},
            {"moved", group.has_moved()},
            {"progress", name_of(group.progress)},
            {"polling", group.is_polling},
            {"wait_channel", json_text_or_null(group.wait_channel)},
            {"system_call", json_text_or_null(group.system_call)},
            {"worker", json_text_or_null(group.worker)},
            {"gpus_busy", busy}};
}

// Each folder with files of torch's flight recorder, one per rank, and the command that reads them.
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

std::vector<Row> group_rows(const std::vector<RankGroup>& groups) {
    const bool has_load = std::ranges::any_of(
        groups, [](const RankGroup& group) { return group.max_gpu_load.has_value(); });
    std::vector<Row> rows{{"RANKS", "NODES", "WHERE", "DOING", "MOVED"}};
    if (has_load) rows.back().emplace_back("GPUS BUSY");
    for (const RankGroup& group : groups) {
        const std::string channel =
            group.wait_channel.empty() ? "" : formatted(" ({})", group.wait_channel);
        rows.push_back({ranks_text(group.ranks), nodes_cell(group.nodes),
                        group.site.text.empty() ? "-" : group.site.text,
                        std::string(name_of(group.activity)) + channel,
                        group.has_moved() ? "yes" : "no"});
        if (has_load) rows.back().push_back(load_text(group));
    }
    return rows;
}

std::string sampling_text(const Diagnosis& diagnosis) {
    return formatted("{} on {}, sampled for {:.1f} s", counted(diagnosis.expected, "rank"),
                     counted(diagnosis.nodes, "node"), diagnosis.seconds);
}

std::vector<std::string> findings_of(const Diagnosis& diagnosis) {
    if (diagnosis.findings.empty()) return {"no rank was seen"};
    return diagnosis.findings;
}

// "job 4711 of alice on cluster hpc, 2026-01-01T00:00:00Z".
std::string head_text(const ResultHead& head) {
    return formatted("job {}{}{}, {}", head.job, head.user.empty() ? "" : " of " + head.user,
                     head.cluster.empty() ? "" : " on cluster " + head.cluster, head.date);
}

using svg::escaped;

constexpr std::string_view page_style =
    "code{font-size:.9rem}"
    "details{margin:.2rem 0 .2rem .6rem;padding-left:.6rem;border-left:1px solid var(--line)}"
    "ol{list-style:none;margin:0;padding:0}";

// A collapsible block whose first line is always visible.
std::string collapsible(std::string_view text, bool is_open) {
    std::string html = formatted("<details{}><summary>", is_open ? " open" : "");
    std::string_view end = "</summary>\n<ol>\n";
    while (!text.empty()) {
        std::string_view line = cut_until(text, '\n');
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        html += end.empty() ? formatted("<li>{}</li>\n", escaped(line)) : escaped(line);
        html += std::exchange(end, "");
    }
    return html + "</ol></details>\n";
}

std::string outlier_details_html(const Diagnosis& diagnosis) {
    std::string html;
    for (const Zombie& ended : diagnosis.ended) html += paragraph(sentence(ended));
    for (std::size_t i = 0; i < diagnosis.outliers; ++i) {
        html += collapsible(to_text(diagnosis.details[i]), i == 0);
    }
    return html;
}

std::string stack_node_html(const StackNode& node) {
    std::string html = formatted("<details open><summary>{}: <code>{}</code></summary>\n<ol>\n",
                                 ranks_text(node.ranks), escaped(to_text(node.frames.back())));
    for (const Frame& frame : node.frames) {
        const std::string line = frame.line > 0 ? formatted(":{}", frame.line) : "";
        html += formatted("<li><code>{}</code> <span class=\"faint\">{}</span></li>\n",
                          escaped(frame.function), escaped(frame.file + line));
    }
    html += "</ol>\n";
    for (const StackNode& child : node.children) html += stack_node_html(child);
    return html + "</details>\n";
}

}  // namespace

std::string stack_tree_text(const std::vector<RankGroup>& groups) {
    std::string text;
    for (const StackNode& node : stack_tree(groups)) add_lines(node, 1, text);
    return text;
}

std::string to_text(const RankDetails& details) {
    std::string text = formatted("  rank {} on {}: process {} {}\n", details.rank, details.node,
                                 details.pid, printable(details.command));
    text += formatted("    state {}{}, {:.2f} s of CPU a second, woke {}\n", details.state,
                      details.wait_channel.empty() ? "" : " in " + printable(details.wait_channel),
                      details.cpu, counted(details.wakeups, "time"));
    text += line("started by", details.launchers);
    text += line("has started", details.children);
    text += line("connected to", details.connections);
    return text + line("GPU", details.gpus);
}

std::string diagnosis_text(const std::string& step, const Diagnosis& diagnosis, bool colour) {
    std::string text = formatted("step {}: {}\n\n", step, sampling_text(diagnosis));
    for (const std::string& finding : findings_of(diagnosis)) text += finding + "\n";
    for (const Straggler& straggler : diagnosis.stragglers) text += sentence(straggler) + "\n";
    if (!diagnosis.groups.empty()) {
        text += "\n" + table(group_rows(diagnosis.groups), {.indent = 2, .bold_heading = colour});
    }
    text += details_text(diagnosis);
    const std::string tree = stack_tree_text(diagnosis.groups);
    if (!tree.empty()) text += "\n" + tree;
    if (!diagnosis.nccl.empty()) {
        text += "\nNCCL status of the job:\n";
        std::istringstream lines(diagnosis.nccl);
        for (std::string line; std::getline(lines, line);) {
            text += line.empty() ? "\n" : "  " + line + "\n";
        }
    }
    text += records_text(diagnosis.records);
    for (const auto& note : with_silent_nodes(diagnosis.silent, diagnosis.notes))
        text += "\n" + note + "\n";
    return text;
}

std::string diagnosis_json(const ResultHead& head, const Diagnosis& diagnosis) {
    const JsonText json{{"schema", "distgpu.why/1"},
                        {"date", head.date},
                        {"cluster", json_text_or_null(head.cluster)},
                        {"user", json_text_or_null(head.user)},
                        {"job", head.job},
                        {"state", head.state},
                        {"step", json_text_or_null(head.step)},
                        {"kind", name_of(diagnosis.kind)},
                        {"findings", JsonText::list(diagnosis.findings)},
                        {"accused", JsonText::list(diagnosis.accused)},
                        {"stragglers", JsonText::list(diagnosis.stragglers, straggler_json)},
                        {"seconds", diagnosis.seconds},
                        {"ranks", diagnosis.expected},
                        {"missing", JsonText::list(diagnosis.missing)},
                        {"ended", JsonText::list(diagnosis.ended, zombie_json)},
                        {"groups", JsonText::list(diagnosis.groups, group_json)},
                        {"details", JsonText::list(diagnosis.details, details_json)},
                        {"stacks", JsonText::list(stack_tree(diagnosis.groups), tree_json)},
                        {"nccl", json_text_or_null(diagnosis.nccl)},
                        {"records", JsonText::list(diagnosis.records)},
                        {"silent", JsonText::list(diagnosis.silent)},
                        {"notes", JsonText::list(diagnosis.notes)}};
    return json.indented();
}

std::string diagnosis_page(const ResultHead& head, const Diagnosis& diagnosis) {
    std::string body = paragraph(head_text(head), " class=\"faint\"");
    if (!head.step.empty()) body += paragraph(sampling_text(diagnosis), " class=\"faint\"");
    const bool is_good = diagnosis.kind == Diagnosis::Kind::moving;
    for (const std::string& finding : findings_of(diagnosis)) {
        body += paragraph(finding, is_good ? " class=\"finding good\"" : " class=\"finding\"");
    }
    for (const Straggler& straggler : diagnosis.stragglers) body += paragraph(sentence(straggler));
    if (!diagnosis.groups.empty())
        body += section("Ranks", html_table(group_rows(diagnosis.groups)));
    body += section("Outliers", outlier_details_html(diagnosis));
    std::string tree;
    for (const StackNode& node : stack_tree(diagnosis.groups)) tree += stack_node_html(node);
    body += section("Stacks, the smallest groups first", tree);
    std::string notes;
    for (const auto& note : with_silent_nodes(diagnosis.silent, diagnosis.notes))
        notes += paragraph(note);
    body += section("What could not be seen", notes);
    return text_page(head.step.empty() ? "job " + head.job : "step " + head.step, page_style, body);
}

}  // namespace distgpu
