#include "run/history.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"

#include <algorithm>

namespace distgpu {
namespace {

// Nodes that the attempt lost itself, and not one before it.
std::vector<std::string> newly_lost(const std::vector<AttemptEnd>& attempts) {
    std::vector<std::string> lost = attempts.back().lost_nodes;
    if (attempts.size() < 2) return lost;
    const std::vector<std::string>& before = attempts[attempts.size() - 2].lost_nodes;
    std::erase_if(lost, [&](const std::string& node) {
        return std::ranges::find(before, node) != before.end();
    });
    return lost;
}

std::string ending_of(const std::vector<AttemptEnd>& attempts) {
    const AttemptEnd& last = attempts.back();
    if (const auto lost = newly_lost(attempts); !lost.empty()) {
        return formatted("lost {}", join(lost, ", "));
    }
    return last.who.empty() ? formatted("srun ended with status {}", last.status) : last.who;
}

bool is_lost(std::string_view state) {
    return state.find('*') != std::string_view::npos ||
           std::ranges::any_of(words_in(state, "+*"), [](std::string_view word) {
               return has_word("DOWN FAIL FAILING NOT_RESPONDING POWERED_DOWN", word);
           });
}

}  // namespace

Decision decide(const Training& training, const std::vector<AttemptEnd>& attempts,
                const Rules& rules) {
    const AttemptEnd& last = attempts.back();
    const bool is_at_limit = rules.requeues && last.was_notified;
    if (last.status == 0 && !is_at_limit) return {NextStep::done, "the training has ended"};
    const std::string ending =
        is_at_limit ? "the time limit is near, and the training has ended" : ending_of(attempts);
    const auto give_up = [&](const std::string& why) {
        return Decision{NextStep::give_up, formatted("{}; {}", ending, why)};
    };
    if (last.was_asked_to_end) return give_up("a signal asked for the end");
    if (last.status == no_restart_status) {
        return give_up(formatted("status {} asks for no restart", no_restart_status));
    }
    if (last.was_notified && !rules.requeues) return give_up("the time limit is near");
    if (is_at_limit) {
        if (!last.has_progressed) return give_up("no progress, so the job is not requeued");
        if (rules.requeued >= rules.max_requeues) return give_up("no requeue is left");
        return {NextStep::requeue,
                formatted("{}; requeue {} of {}", ending, rules.requeued + 1, rules.max_requeues)};
    }
    const auto left = training.job_nodes - static_cast<std::uint32_t>(last.lost_nodes.size());
    if (left < training.nodes) {
        return give_up(formatted("{} of the job are left, and an attempt needs {}",
                                 counted(left, "node"), training.nodes));
    }
    const bool is_stuck = attempts.size() > 1 && !last.has_progressed &&
                          !attempts[attempts.size() - 2].has_progressed;
    if (is_stuck) return give_up("no progress in two attempts");
    if (attempts.size() > rules.restarts) return give_up("no restart is left");
    const std::string without =
        last.lost_nodes.empty() ? "" : formatted(" without {}", join(last.lost_nodes, ", "));
    return {NextStep::restart,
            formatted("{}; restart {} of {}{}", ending, attempts.size(), rules.restarts, without)};
}

std::vector<std::string> lost_nodes(std::string_view nodes) {
    std::vector<std::string> lost;
    while (!nodes.empty()) {
        const auto words = words_in(cut_until(nodes, '\n'));
        std::string_view name;
        std::string_view state;
        for (const std::string_view word : words) {
            if (word.starts_with("NodeName=")) name = word.substr(word.find('=') + 1);
            if (word.starts_with("State=")) state = word.substr(word.find('=') + 1);
        }
        if (!name.empty() && is_lost(state)) lost.emplace_back(name);
    }
    return lost;
}

}  // namespace distgpu
