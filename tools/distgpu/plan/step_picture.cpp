// Draws the nodes of a step: one picture for all nodes with the same hardware and bindings.
#include "base/format.h"
#include "mapping/frameworks/framework.h"
#include "mapping/layout/hostlist.h"
#include "picture/picture.h"
#include "plan/formats.h"
#include "table.h"

#include <algorithm>
#include <utility>

namespace distgpu {
namespace {

// Nodes with the same hardware, whose tasks got the same by local rank. The topology is owned by
// the plan's input.
struct NodeKind {
    NodePicture picture;
    std::vector<std::string> nodes;
    std::vector<std::string> ranks;  // of each node: "8-15"
};

struct StepPicture {
    std::string title;  // "pytorch: 128 ranks on 16 nodes"
    std::vector<NodeKind> kinds;
    std::size_t omitted_nodes = 0;  // nodes of further kinds, which are not drawn
    Warnings warnings;
};

// Adds the node to its kind; a new kind gets a new picture.
Result<Done> add_node(const NodePlan& node, const NodeFacts& facts, StepPicture& step) {
    const bool is_known =
        std::all_of(node.tasks.begin(), node.tasks.end(),
                    [](const TaskPlan& task) { return task.binding.has_value(); });
    if (facts.topology == nullptr || !is_known) {
        return Error{node.node_name, "its topology is not known, so there is nothing to draw",
                     "give it with --topology FILE"};
    }
    const auto is_same_kind = [&](const NodeKind& kind) {
        const std::vector<Owner>& owners = kind.picture.owners;
        return kind.picture.topology == facts.topology &&
               std::equal(owners.begin(), owners.end(), node.tasks.begin(), node.tasks.end(),
                          [](const Owner& owner, const TaskPlan& task) {
                              return owner.binding == *task.binding;
                          });
    };
    auto kind = std::find_if(step.kinds.begin(), step.kinds.end(), is_same_kind);
    constexpr std::size_t max_kinds = 32;  // more are unreadable
    if (kind == step.kinds.end()) {
        if (step.kinds.size() == max_kinds) {
            ++step.omitted_nodes;
            return Done{};
        }
        kind = step.kinds.emplace(kind);
        kind->picture = {"", "", facts.topology, {}, facts.share.gpus};
        for (const TaskPlan& task : node.tasks) {
            const std::string mark = std::to_string(task.rank.value);
            kind->picture.owners.push_back({"rank " + mark, mark, *task.binding});
        }
    }
    std::vector<std::uint32_t> ranks;
    for (const TaskPlan& task : node.tasks) ranks.push_back(task.rank.value);
    std::sort(ranks.begin(), ranks.end());
    kind->nodes.push_back(node.node_name);
    kind->ranks.push_back(number_ranges(ranks));
    return Done{};
}

// Sets the titles. In a picture of several nodes, the labels of the ranks are their local ranks.
void set_titles(StepPicture& step) {
    for (NodeKind& kind : step.kinds) {
        NodePicture& picture = kind.picture;
        picture.title = HostList::from_names(kind.nodes).to_string();
        picture.subtitle = step.title;
        if (kind.nodes.size() == 1) continue;
        picture.subtitle +=
            formatted(", here ranks {} on {}", kind.ranks.front(), kind.nodes.front());
        for (std::size_t i = 0; i < picture.owners.size(); ++i) {
            picture.owners[i].mark = std::to_string(i);
            picture.owners[i].label = formatted("local rank {}", i);
        }
    }
}

constexpr std::string_view page_style =
    "figure{margin:1rem 0;overflow-x:auto}"
    "h2{position:absolute;clip-path:inset(50%)}";  // for screen readers: the picture shows it, too

std::string section(const NodeKind& kind) {
    std::string rows;
    for (std::size_t i = 0; i < kind.nodes.size(); ++i) {
        rows += formatted("<tr><td>{}</td><td>{}</td></tr>\n", svg::escaped(kind.nodes[i]),
                          svg::escaped(kind.ranks[i]));
    }
    return formatted(
        "<section>\n<h2>{}</h2>\n<figure>\n{}</figure>\n<details><summary>{}</summary>\n"
        "<table>\n<tr><th>node</th><th>ranks</th></tr>\n{}</table></details>\n</section>\n",
        svg::escaped(kind.picture.title), draw(kind.picture), counted(kind.nodes.size(), "node"),
        rows);
}

Result<StepPicture> picture_of(const PlanInput& input) {
    const StepLayout& layout = input.shape.layout;
    const Framework& framework = *input.request.framework;
    StepPicture step;
    step.title =
        formatted("{}: {} on {}", framework.mode,
                  counted(layout.task_count(), framework.launcher_per_node ? "launcher" : "rank"),
                  counted(layout.node_count(), "node"));
    auto warnings = for_each_node(input, [&](const NodePlan& node, const NodeFacts& facts) {
        return add_node(node, facts, step);
    });
    if (!warnings) return warnings.error();
    step.warnings = *std::move(warnings);
    set_titles(step);
    return step;
}

// A page with the pictures of all kinds, each followed by its nodes and their ranks.
std::string to_html(const StepPicture& step) {
    std::string body;
    for (const std::string& warning : step.warnings) {
        body += formatted("<p>{}</p>\n", svg::escaped(warning));
    }
    for (const NodeKind& kind : step.kinds) body += section(kind);
    if (step.omitted_nodes > 0) {
        body += formatted("<p>{} more, each of another kind, not drawn.</p>\n",
                          counted(step.omitted_nodes, "node"));
    }
    return html_page(step.title, page_style, body);
}

}  // namespace

ExitCode draw_plan(const PlanInput& input, const std::optional<std::string>& svg,
                   const std::optional<std::string>& html) {
    const auto step = picture_of(input);
    if (!step) return report_error(step.error(), ExitCode::usage);
    for (const std::string& warning : step->warnings) print_error_line(warning);
    const NodePicture& first = step->kinds.front().picture;
    if (svg && step->kinds.size() > 1) {
        print_error_line(formatted("distgpu: {}: shows {}; --html shows the other {} of nodes too",
                                   *svg, first.title, counted(step->kinds.size() - 1, "kind")));
    }
    const auto write = [](const std::optional<std::string>& path, const std::string& text) {
        return path ? replace_file(*path, text, Readers::by_umask) : Result<Done>(Done{});
    };
    const auto done =
        write(svg, draw(first)).and_then([&](Done) { return write(html, to_html(*step)); });
    return done ? ExitCode::done : report_error(done.error(), ExitCode::environment);
}

}  // namespace distgpu
