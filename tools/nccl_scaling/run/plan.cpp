#include "run/plan.h"

#include <algorithm>
#include <numeric>

namespace distgpu::scaling {
namespace {

using Indices = std::vector<std::uint32_t>;

Indices first_nodes(std::uint32_t count) {
    Indices nodes(count);
    std::iota(nodes.begin(), nodes.end(), 0U);
    return nodes;
}

// 1, 2, 4, ... and `last`.
Indices doublings(std::uint32_t last) {
    Indices numbers;
    for (std::uint32_t number = 1; number < last; number *= 2) numbers.push_back(number);
    numbers.push_back(last);
    return numbers;
}

constexpr std::uint32_t quick_repeats = 6;  // of the rails

class Planner {
  public:
    Planner(const std::vector<Node>& nodes, const Wishes& wishes, const Offers& offers)
        : nodes_(nodes),
          all_(operations_of(wishes, offers)),
          largest_({comparison_of(all_)}),
          quick_(wishes.quick) {
        plan_.comparison = largest_.front();
    }

    Plan plan() && {
        add_growing();
        add_rails();
        return std::move(plan_);
    }

  private:
    std::uint32_t ranks_of(const Indices& nodes) const {
        return std::accumulate(
            nodes.begin(), nodes.end(), 0U,
            [this](std::uint32_t sum, std::uint32_t node) { return sum + nodes_[node].ranks; });
    }

    std::size_t add(Group group) {
        plan_.groups.push_back(std::move(group));
        return plan_.groups.size() - 1;
    }

    void measure_alone(Group group, const std::vector<Subject>& operations) {
        const bool is_scaling = is_scaling_group(group);
        if (group.ranks > 1 || ranks_of(first_nodes(count())) == 1) {
            plan_.stages.push_back({{add(std::move(group))}, operations, is_scaling, 1, {}});
        }
    }

    void add_growing() {
        for (const std::uint32_t gpus : doublings(nodes_.front().ranks)) {
            if (quick_ || gpus == nodes_.front().ranks) break;  // the whole node comes below
            measure_alone({Group::Kind::gpus, {0}, gpus, gpus}, all_);
        }
        add_nodes_alone();
        for (const std::uint32_t count : quick_ ? Indices{count()} : doublings(count())) {
            if (count == 1) continue;
            const Indices nodes = first_nodes(count);
            measure_alone({Group::Kind::nodes, nodes, ranks_of(nodes), count}, all_);
        }
    }

    // All at the same time: the links between the GPUs of one are no other's.
    void add_nodes_alone() {
        if (count() == 1) return measure_alone({Group::Kind::nodes, {0}, nodes_[0].ranks, 1}, all_);
        Stage stage{{}, all_, true, 1, {}};
        if (nodes_.front().ranks > 1) {
            stage.median = add({Group::Kind::nodes, {0}, nodes_.front().ranks, 1});
        }
        for (std::uint32_t node = 0; node < count(); ++node) {
            if (nodes_[node].ranks < 2) continue;
            stage.groups.push_back(add({Group::Kind::node, {node}, nodes_[node].ranks, 0}));
        }
        if (stage.groups.empty()) return;
        plan_.stages.push_back(stage);
        // What disturbs a node for a moment is not in it.
        plan_.stages.push_back({std::move(stage.groups), largest_, false, 2, {}});
    }

    // All rails at the same time, as a collective of all GPUs uses them.
    void add_rails() {
        const std::uint32_t rails = std::max_element(nodes_.begin(), nodes_.end(), fewer)->ranks;
        if (nodes_.size() < 2 || rails < 2) return;
        Stage stage{{}, largest_, false, quick_ ? quick_repeats : matches_per_node, {}};
        for (std::uint32_t rail = 0; rail < rails; ++rail) {
            Indices nodes;
            for (std::uint32_t node = 0; node < count(); ++node) {
                if (nodes_[node].ranks > rail) nodes.push_back(node);
            }
            const auto ranks = static_cast<std::uint32_t>(nodes.size());
            if (ranks < 2) continue;
            stage.groups.push_back(add({Group::Kind::rail, nodes, ranks, rail}));
        }
        plan_.stages.push_back(std::move(stage));
    }

    static bool fewer(const Node& a, const Node& b) { return a.ranks < b.ranks; }
    std::uint32_t count() const { return static_cast<std::uint32_t>(nodes_.size()); }

    const std::vector<Node>& nodes_;
    std::vector<Subject> all_;
    std::vector<Subject> largest_;
    const bool quick_;
    Plan plan_;
};

// The group of the pair in this stage's round.
void add_to(Stage& stage, Plan& plan, Group::Kind kind, const Pair& pair, std::uint32_t ranks,
            std::uint32_t local_rank) {
    const auto [place, is_new] = plan.met.try_emplace({kind, pair, local_rank}, plan.groups.size());
    if (is_new) plan.groups.push_back({kind, {pair.first, pair.second}, ranks, local_rank});
    stage.groups.push_back(place->second);
}

}  // namespace

Plan make_plan(const std::vector<Node>& nodes, const Wishes& wishes, const Offers& offers) {
    return Planner(nodes, wishes, offers).plan();
}

Stage pairs_stage(Plan& plan, const std::vector<Node>& nodes, const Round& round) {
    Stage stage{{}, {plan.comparison}, false, 1, {}};
    for (const Pair& pair : round) {
        add_to(stage, plan, Group::Kind::pair, pair,
               nodes[pair.first].ranks + nodes[pair.second].ranks, 0);
    }
    return stage;
}

Stage pair_rails_stage(Plan& plan, const std::vector<Node>& nodes, const Round& round) {
    Stage stage{{}, {plan.comparison}, false, 1, {}};
    for (const Pair& pair : round) {
        const std::uint32_t rails = std::min(nodes[pair.first].ranks, nodes[pair.second].ranks);
        for (std::uint32_t rail = 0; rails > 1 && rail < rails; ++rail) {
            add_to(stage, plan, Group::Kind::pair_rail, pair, 2, rail);
        }
    }
    return stage;
}

bool is_member(const Group& group, std::uint32_t local_rank) {
    if (group.kind == Group::Kind::gpus) return local_rank < group.number;
    const bool of_rail = group.kind == Group::Kind::rail || group.kind == Group::Kind::pair_rail;
    return !of_rail || local_rank == group.number;
}

}  // namespace distgpu::scaling
