#include "run/history.h"

#include "base/format.h"
#include "base/values.h"

#include <algorithm>
#include <set>
#include <span>

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

std::vector<std::string> nodes_to_leave_out(const Training& training,
                                            std::span<const AttemptEnd> attempts) {
    if (attempts.empty()) return {};
    const std::vector<std::string>& lost = attempts.back().lost_nodes;
    std::set<std::string> nodes(lost.begin(), lost.end());
    for (const AttemptEnd& attempt : attempts) {
        nodes.insert(attempt.unfit_nodes.begin(), attempt.unfit_nodes.end());
    }
    for (std::size_t i = 1; i < attempts.size(); ++i) {
        const std::vector<std::string>& where = attempts[i].where;
        const bool is_repeated = where.size() == 1 && where == attempts[i - 1].where;
        if (is_repeated && nodes.size() < training.spares()) nodes.insert(where.front());
    }
    return {nodes.begin(), nodes.end()};
}

}  // namespace

Decision decide(const Training& training, const std::vector<AttemptEnd>& attempts,
                const Rules& rules) {
    const AttemptEnd& last = attempts.back();
    const bool is_at_limit = rules.requeues && last.was_notified;
    if (last.status == 0 && !is_at_limit) return {NextStep::done, "the training has ended"};
    std::string ending = ending_of(attempts);
    if (is_at_limit) {
        const std::string who = last.who.empty() ? "" : ": " + last.who;
        ending = "the time limit is near, and the training has ended" + who;
    }
    const auto give_up = [&](const std::string& why) {
        return Decision{NextStep::give_up, formatted("{}; {}", ending, why)};
    };
    if (last.was_asked_to_end) return give_up("a signal asked for the end");
    if (last.is_job_ending) return give_up("Slurm is ending the job");
    if (last.status == no_restart_status) {
        return give_up(formatted("status {} asks for no restart", no_restart_status));
    }
    if (last.was_notified && !rules.requeues) return give_up("the time limit is near");
    const std::vector<std::string> left_out = nodes_to_leave_out(training, attempts);
    const auto requeue = [&](const std::string& why) {
        const bool has_progressed = std::ranges::any_of(attempts, &AttemptEnd::has_progressed);
        if (!has_progressed) return give_up(why + "no progress, so the job is not requeued");
        if (rules.requeued >= rules.max_requeues) return give_up(why + "no requeue is left");
        return Decision{NextStep::requeue,
                        formatted("{}; {}requeue {} of {}", ending, why, rules.requeued + 1,
                                  rules.max_requeues),
                        left_out};
    };
    if (is_at_limit) return requeue("");
    if (left_out.size() > training.spares()) {
        const std::string why =
            formatted("{} of the job are left, and an attempt needs {}",
                      counted(training.job_nodes.size() - left_out.size(), "node"), training.nodes);
        return rules.requeues ? requeue(why + "; ") : give_up(why);
    }
    // On other nodes it may progress.
    const bool has_same_nodes =
        left_out == nodes_to_leave_out(training, std::span(attempts).first(attempts.size() - 1));
    const bool is_stuck = attempts.size() > 1 && !last.has_progressed &&
                          !attempts[attempts.size() - 2].has_progressed && has_same_nodes;
    if (is_stuck) return give_up("no progress in two attempts");
    if (attempts.size() > rules.restarts) return give_up("no restart is left");
    const std::string without =
        left_out.empty() ? "" : formatted(" without {}", join(left_out, ", "));
    return {NextStep::restart,
            formatted("{}; restart {} of {}{}", ending, attempts.size(), rules.restarts, without),
            left_out};
}

}  // namespace distgpu
