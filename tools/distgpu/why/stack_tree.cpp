#include "why/stack_tree.h"

#include "base/format.h"
#include "ranks_text.h"

#include <algorithm>
#include <map>
#include <utility>

namespace distgpu {
namespace {

struct Branch {
    const RankGroup* group;
    std::size_t depth;  // frames of its stack that are above
};

std::vector<StackNode> nodes_below(const std::vector<Branch>& branches);

bool all_go_to(const std::vector<Branch>& branches, const Frame& frame, std::size_t further) {
    return std::all_of(branches.begin(), branches.end(), [&](const Branch& branch) {
        const Stack& stack = branch.group->stack;
        return branch.depth + further < stack.size() && stack[branch.depth + further] == frame;
    });
}

// The chain that all of them have in common, which is at least one frame long, and what is below.
StackNode node_of(std::vector<Branch> branches) {
    StackNode node;
    const Branch first = branches.front();
    for (std::size_t depth = first.depth; depth < first.group->stack.size(); ++depth) {
        const Frame& frame = first.group->stack[depth];
        if (!all_go_to(branches, frame, depth - first.depth)) break;
        node.frames.push_back(frame);
    }
    for (Branch& branch : branches) {
        branch.depth += node.frames.size();
        node.ranks.insert(node.ranks.end(), branch.group->ranks.begin(), branch.group->ranks.end());
    }
    std::sort(node.ranks.begin(), node.ranks.end());
    node.children = nodes_below(branches);
    return node;
}

std::vector<StackNode> nodes_below(const std::vector<Branch>& branches) {
    std::map<Frame, std::vector<Branch>> by_frame;
    for (const Branch& branch : branches) {
        if (branch.depth < branch.group->stack.size()) {
            by_frame[branch.group->stack[branch.depth]].push_back(branch);
        }
    }
    std::vector<StackNode> nodes;
    nodes.reserve(by_frame.size());
    for (auto& [frame, below] : by_frame) nodes.push_back(node_of(std::move(below)));
    std::stable_sort(nodes.begin(), nodes.end(), [](const StackNode& left, const StackNode& right) {
        return left.ranks.size() < right.ranks.size();
    });
    return nodes;
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

}  // namespace

std::vector<StackNode> stack_tree(const std::vector<RankGroup>& groups) {
    std::vector<Branch> branches;
    branches.reserve(groups.size());
    for (const RankGroup& group : groups) branches.push_back({&group, 0});
    return nodes_below(branches);
}

std::string to_text(const std::vector<StackNode>& tree) {
    std::string text;
    for (const StackNode& node : tree) add_lines(node, 1, text);
    return text;
}

}  // namespace distgpu
