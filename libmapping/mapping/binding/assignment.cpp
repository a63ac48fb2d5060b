// Successive shortest paths: items come one by one, and each may push
// items that came before it on to other owners; the owners are the graph's nodes.
#include "assignment.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace distgpu {
namespace {

// Compared from the first member on, so that no member has to outweigh the next.
struct Cost {
    std::int64_t above_share = 0;  // items beyond an owner's floor(items/owners)
    std::int64_t cost = 0;
    std::int64_t disorder = 0;

    friend bool operator<(const Cost& a, const Cost& b) {
        return std::tie(a.above_share, a.cost, a.disorder) <
               std::tie(b.above_share, b.cost, b.disorder);
    }
    friend Cost operator+(const Cost& a, const Cost& b) {
        return {a.above_share + b.above_share, a.cost + b.cost, a.disorder + b.disorder};
    }
    friend Cost operator-(const Cost& a, const Cost& b) {
        return {a.above_share - b.above_share, a.cost - b.cost, a.disorder - b.disorder};
    }
};

class Assignment {
  public:
    explicit Assignment(const std::vector<std::vector<std::int64_t>>& costs)
        : costs_(costs),
          owners_(costs.front().size()),
          share_(costs.size() / owners_),
          items_of_(owners_) {}

    // Gives the item to the owner at the start of the cheapest chain of owners, each of whom
    // passes an item on to the next; the last one keeps what it gets.
    void insert(std::size_t item) {
        find_paths(item);
        std::optional<std::size_t> last;
        for (std::size_t owner = 0; owner < owners_; ++owner) {
            if (!has_room(owner)) continue;
            if (!last ||
                paths_[owner].cost + keeping(owner) < paths_[*last].cost + keeping(*last)) {
                last = owner;
            }
        }
        // Some owner always has room: there are fewer items than places.
        std::size_t owner = *last;
        while (paths_[owner].from) {
            const std::size_t passed_on = paths_[owner].item;
            const std::size_t from = *paths_[owner].from;
            items_of_[owner].push_back(passed_on);
            items_of_[from].erase(
                std::find(items_of_[from].begin(), items_of_[from].end(), passed_on));
            owner = from;
        }
        items_of_[owner].push_back(item);
    }

    std::vector<std::uint32_t> owner_of_items() const {
        std::vector<std::uint32_t> owner_of(costs_.size());
        for (std::uint32_t owner = 0; owner < owners_; ++owner) {
            for (const std::size_t item : items_of_[owner]) owner_of[item] = owner;
        }
        return owner_of;
    }

  private:
    // The cheapest way on which an item comes to an owner.
    struct Path {
        Cost cost;
        std::optional<std::size_t> from;  // the owner who passes `item` on; nothing: the new item
        std::size_t item = 0;
    };

    // Equal products pair small with small (rearrangement inequality).
    Cost cost(std::size_t item, std::size_t owner) const {
        return {0, costs_[item][owner], -static_cast<std::int64_t>(item * owner)};
    }
    // One item above the share, for the rest that the division may leave.
    bool has_room(std::size_t owner) const { return items_of_[owner].size() <= share_; }
    Cost keeping(std::size_t owner) const {
        return {items_of_[owner].size() < share_ ? 0 : 1, 0, 0};
    }

    // Bellman-Ford: passing an item on may lower the cost.
    void find_paths(std::size_t item) {
        paths_.clear();
        for (std::size_t owner = 0; owner < owners_; ++owner) {
            paths_.push_back({cost(item, owner), std::nullopt, item});
        }
        for (bool shorter = true; shorter;) {
            shorter = false;
            for (std::size_t from = 0; from < owners_; ++from) {
                for (const std::size_t other : items_of_[from]) {
                    shorter = pass_on(other, from) || shorter;
                }
            }
        }
    }

    bool pass_on(std::size_t item, std::size_t from) {
        bool shorter = false;
        const Cost start = paths_[from].cost - cost(item, from);
        for (std::size_t to = 0; to < owners_; ++to) {
            const Cost whole = start + cost(item, to);
            if (to == from || !(whole < paths_[to].cost)) continue;
            paths_[to] = {whole, from, item};
            shorter = true;
        }
        return shorter;
    }

    const std::vector<std::vector<std::int64_t>>& costs_;
    std::size_t owners_;
    std::size_t share_;
    std::vector<std::vector<std::size_t>> items_of_;
    std::vector<Path> paths_;
};

}  // namespace

std::vector<std::uint32_t> assign(const std::vector<std::vector<std::int64_t>>& costs) {
    Assignment assignment(costs);
    for (std::size_t item = 0; item < costs.size(); ++item) assignment.insert(item);
    return assignment.owner_of_items();
}

}  // namespace distgpu
