#include "why/stragglers.h"

#include "inspect/stack.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace distgpu {
namespace {

// Whether the rank waits for others at a moment; nullopt if its stack is unknown.
std::optional<bool> waits_at(const RankSample& rank, std::size_t moment) {
    const Moment& at = rank.process->moments[moment];
    if (!at.stack) return std::nullopt;
    const bool has_native = rank.process->native && at.stack == rank.process->moments.back().stack;
    const Stack* const native = has_native ? &rank.node->stacks[*rank.process->native] : nullptr;
    const WaitsFor what = waits_for(rank.node->stacks[*at.stack], native);
    return at.has_request || what == WaitsFor::ranks;
}

struct Lateness {
    std::size_t moments = 0;
    std::map<std::string, std::size_t> sites;  // how often it was there then
};

}  // namespace

std::vector<Straggler> stragglers_of(const std::vector<RankSample>& ranks) {
    constexpr std::size_t min_moments = 10;
    constexpr std::size_t max_stragglers = 8;
    constexpr double min_share = 0.3;
    if (ranks.size() < 2) return {};
    std::size_t moments = ranks.front().process->moments.size();
    for (const RankSample& rank : ranks) {
        moments = std::min(moments, rank.process->moments.size());
    }
    if (moments < min_moments) return {};
    std::vector<Lateness> late(ranks.size());
    for (std::size_t moment = 0; moment < moments; ++moment) {
        std::vector<std::size_t> busy;
        std::size_t waiting = 0;
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            const auto waits = waits_at(ranks[i], moment);
            if (waits == true) ++waiting;
            if (waits == false) busy.push_back(i);
        }
        if (2 * waiting < ranks.size()) continue;  // for a rank that does not: half of the others
        for (const std::size_t i : busy) {
            const Moment& at = ranks[i].process->moments[moment];
            ++late[i].moments;
            ++late[i].sites[call_site_of(ranks[i].node->stacks[*at.stack]).text];
        }
    }
    std::vector<std::size_t> counts;
    counts.reserve(late.size());
    for (const Lateness& each : late) counts.push_back(each.moments);
    // Of two in the middle the lower one, so that one of two ranks can be late.
    const std::size_t middle = (counts.size() - 1) / 2;
    std::ranges::nth_element(counts, counts.begin() + static_cast<std::ptrdiff_t>(middle));
    const std::size_t usual = counts[middle];
    std::vector<Straggler> stragglers;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const double share = static_cast<double>(late[i].moments) / static_cast<double>(moments);
        if (share <= min_share || late[i].moments <= 2 * usual) continue;
        const auto site = std::ranges::max_element(late[i].sites, {},
                                                   [](const auto& each) { return each.second; });
        stragglers.push_back({ranks[i].rank, ranks[i].node->node, site->first, share});
    }
    std::ranges::stable_sort(stragglers, [](const Straggler& left, const Straggler& right) {
        return left.share > right.share;
    });
    stragglers.resize(std::min(stragglers.size(), max_stragglers));
    return stragglers;
}

}  // namespace distgpu
