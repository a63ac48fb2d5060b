#include "run/history.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"

#include <algorithm>

namespace distgpu {
namespace {

std::string ending_of(const AttemptEnd& end) {
    if (!end.lost_nodes.empty()) {
        return formatted("lost {}", join(end.lost_nodes, ", "));
    }
    return end.who.empty() ? formatted("srun ended with status {}", end.status) : end.who;
}

bool is_lost(std::string_view state) {
    return state.find('*') != std::string_view::npos ||
           std::ranges::any_of(words_in(state, "+*"), [](std::string_view word) {
               return has_word("DOWN FAIL FAILING NOT_RESPONDING POWERED_DOWN", word);
           });
}

}  // namespace

Decision decide(const Training& training, const std::vector<AttemptEnd>& attempts,
                std::uint32_t restarts) {
    const AttemptEnd& last = attempts.back();
    if (last.status == 0) return {NextStep::done, "the training has ended"};
    const std::string ending = ending_of(last);
    const auto give_up = [&](const std::string& why) {
        return Decision{NextStep::give_up, formatted("{}; {}", ending, why)};
    };
    if (last.was_asked_to_end) return give_up("a signal asked for the end");
    if (last.status == no_restart_status) {
        return give_up(formatted("status {} asks for no restart", no_restart_status));
    }
    const auto left = training.job_nodes - static_cast<std::uint32_t>(last.lost_nodes.size());
    if (left < training.nodes) {
        return give_up(formatted("{} of the job are left, and an attempt needs {}",
                                 counted(left, "node"), training.nodes));
    }
    const bool is_stuck = attempts.size() > 1 && !last.has_progressed &&
                          !attempts[attempts.size() - 2].has_progressed;
    if (is_stuck) return give_up("no progress in two attempts");
    if (attempts.size() > restarts) return give_up("no restart is left");
    const std::string without =
        last.lost_nodes.empty() ? "" : formatted(" without {}", join(last.lost_nodes, ", "));
    return {NextStep::restart,
            formatted("{}; restart {} of {}{}", ending, attempts.size(), restarts, without)};
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
