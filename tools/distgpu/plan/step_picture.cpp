#include "plan/step_picture.h"

#include "base/format.h"
#include "mapping/frameworks/framework.h"
#include "mapping/layout/hostlist.h"
#include "picture/page.h"
#include "picture/svg.h"
#include "ranks_text.h"

#include <algorithm>
#include <utility>

namespace distgpu {
namespace {

std::vector<std::uint32_t> ranks_of(const NodePlan& node) {
    std::vector<std::uint32_t> ranks;
    for (const TaskPlan& task : node.tasks) ranks.push_back(task.rank.value);
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

std::vector<Owner> owners_by_rank(const NodePlan& node) {
    std::vector<Owner> owners;
    for (const TaskPlan& task : node.tasks) {
        const std::string mark = std::to_string(task.rank.value);
        owners.push_back({"rank " + mark, mark, *task.binding});
    }
    return owners;
}

bool same_bindings(const std::vector<Owner>& owners, const std::vector<TaskPlan>& tasks) {
    return std::equal(
        owners.begin(), owners.end(), tasks.begin(), tasks.end(),
        [](const Owner& owner, const TaskPlan& task) { return owner.binding == *task.binding; });
}

class Kinds {
  public:
    explicit Kinds(StepPicture& step) : step_(step) {}

    Result<Done> add(const NodePlan& node, const NodeFacts& facts) {
        const bool known = std::all_of(node.tasks.begin(), node.tasks.end(),
                                       [](const TaskPlan& task) { return task.binding; });
        if (facts.topology == nullptr || !known) {
            return Error{node.node_name, "its topology is not known, so there is nothing to draw",
                         "give it with --topology FILE"};
        }
        auto kind = std::find_if(step_.kinds.begin(), step_.kinds.end(), [&](const NodeKind& each) {
            return each.picture.topology == facts.topology &&
                   same_bindings(each.picture.owners, node.tasks);
        });
        constexpr std::size_t most_kinds = 32;
        if (kind == step_.kinds.end()) {
            if (step_.kinds.size() == most_kinds) {
                ++step_.left_out;
                return Done{};
            }
            NodeKind fresh;
            fresh.picture = {"", "", facts.topology, owners_by_rank(node), facts.share.gpus};
            kind = step_.kinds.insert(step_.kinds.end(), std::move(fresh));
        }
        kind->nodes.push_back(node.node_name);
        kind->ranks.push_back(number_ranges(ranks_of(node)));
        return Done{};
    }

  private:
    StepPicture& step_;
};

// Where several nodes stand for one, ranks are told by their place on it.
void name_kinds(StepPicture& step) {
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
    "h2{position:absolute;clip-path:inset(50%)}";  // for screen readers: it is in the picture too

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

}  // namespace

Result<StepPicture> picture_of(const PlanInput& input) {
    const StepLayout& layout = input.shape.layout();
    const Framework& framework = *input.request.framework;
    StepPicture step;
    step.title =
        formatted("{}: {} on {}", framework.mode,
                  counted(layout.task_count(), framework.launcher_per_node ? "launcher" : "rank"),
                  counted(layout.node_count(), "node"));
    Kinds kinds(step);
    auto warnings = for_each_node(input, [&](const NodePlan& node, const NodeFacts& facts) {
        return kinds.add(node, facts);
    });
    if (!warnings) return warnings.error();
    step.warnings = *std::move(warnings);
    name_kinds(step);
    return step;
}

std::string to_svg(const StepPicture& step) {
    return draw(step.kinds.front().picture);
}

std::string to_html(const StepPicture& step) {
    std::string body;
    for (const std::string& warning : step.warnings) {
        body += formatted("<p>{}</p>\n", svg::escaped(warning));
    }
    for (const NodeKind& kind : step.kinds) body += section(kind);
    if (step.left_out > 0) {
        body += formatted("<p>{} more, each of another kind, not drawn.</p>\n",
                          counted(step.left_out, "node"));
    }
    return html_page(step.title, page_style, body);
}

}  // namespace distgpu
