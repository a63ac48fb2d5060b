#include "inspect/signal_ranks.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/json_fields.h"
#include "base/values.h"
#include "inspect/process_facts.h"
#include "inspect/ranks.h"
#include "inspect/step_processes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>

namespace distgpu {
namespace {

constexpr std::array<Signal, 6> signals{{{SIGTERM, "SIGTERM"},
                                         {SIGINT, "SIGINT"},
                                         {SIGHUP, "SIGHUP"},
                                         {SIGUSR1, "SIGUSR1"},
                                         {SIGUSR2, "SIGUSR2"},
                                         {SIGCONT, "SIGCONT", false}}};

enum class RankState : std::uint8_t { catches, has_no_handler, ended };

RankState state_of(const ProcessSample& process, const Signal& signal) {
    const auto status = read_regular_file(formatted("/proc/{}/status", process.pid));
    const auto stat = read_stat(process.pid);
    if (!status || !stat || stat->begin != process.begin) return RankState::ended;
    const bool catches = !signal.needs_handler || has_handler(*status, signal.number);
    return catches ? RankState::catches : RankState::has_no_handler;
}

// Sends the signal to each rank of the list that is in the sample.
void signal_sample(NodeSample& sample, const Signal& signal, const RankList& ranks, bool dry_run,
                   SignalledNode& result) {
    read_states(sample);
    for (const RankSample& rank : find_ranks({&sample, 1}, 0).seen) {
        if (!ranks.contains(rank.rank)) continue;
        const RankState state = state_of(*rank.process, signal);
        if (state == RankState::has_no_handler) {
            result.without_handler.push_back(rank.rank);
        } else {
            const bool is_sent = state == RankState::catches &&
                                 (dry_run || kill(rank.process->pid, signal.number) == 0);
            (is_sent ? result.sent : result.ended).push_back(rank.rank);
        }
    }
}

}  // namespace

std::optional<Signal> find_signal(std::string_view name) {
    const auto found = std::ranges::find_if(signals, [&](const Signal& signal) {
        return name == signal.name || name == signal.name.substr(3);
    });
    return found == signals.end() ? std::nullopt : std::optional(*found);
}

std::optional<Signal> find_signal(int number) {
    const auto found = std::ranges::find(signals, number, &Signal::number);
    return found == signals.end() ? std::nullopt : std::optional(*found);
}

std::optional<RankList> RankList::parse(std::string_view text) {
    RankList list;
    for (std::string_view item : comma_items(text)) {
        const bool is_range = item.find('-') != std::string_view::npos;
        const auto first = whole_number(cut_until(item, '-'));
        const auto last = is_range ? whole_number(item) : first;
        if (!first || !last || *last < *first) return std::nullopt;
        list.ranges.push_back({*first, *last});
    }
    return list.ranges.empty() ? std::nullopt : std::optional(list);
}

bool RankList::contains(std::uint32_t rank) const {
    return ranges.empty() || std::ranges::any_of(ranges, [&](const Range& range) {
               return range.first <= rank && rank <= range.last;
           });
}

std::vector<std::uint32_t> RankList::without(const std::vector<std::uint32_t>& ranks) const {
    constexpr std::size_t max_size = 65'536;
    std::vector<std::uint32_t> rest;
    for (const Range& range : ranges) {
        for (std::uint64_t rank = range.first; rank <= range.last && rest.size() < max_size;
             ++rank) {
            const auto number = static_cast<std::uint32_t>(rank);
            if (!std::ranges::binary_search(ranks, number)) rest.push_back(number);
        }
    }
    return rest;
}

JsonText to_json(const SignalledNode& node) {
    return fields_json(node);
}

std::optional<SignalledNode> read_signalled_node(std::string_view text) {
    return read_fields<SignalledNode>(text, 0);
}

bool has_handler(std::string_view status, int signal) {
    constexpr int hexadecimal = 16;
    std::uint64_t caught = 0;
    std::string_view value = value_after(status, "SigCgt:");
    value = value.substr(std::min(value.size(), value.find_first_not_of(" \t")));
    std::from_chars(value.data(), value.data() + value.size(), caught, hexadecimal);
    return ((caught >> static_cast<unsigned>(signal - 1)) & 1U) != 0;
}

bool has_handler(pid_t pid, const Signal& signal) {
    const auto status = read_regular_file(formatted("/proc/{}/status", pid));
    return status && has_handler(*status, signal.number);
}

Result<SignalledNode> signal_ranks(const std::string& node, const std::string& step,
                                   std::uint32_t first_task, const Signal& signal,
                                   const RankList& ranks, bool dry_run,
                                   const Environment& environment) {
    auto sample = find_step_processes(node, step, environment);
    if (!sample) return sample.error();
    SignalledNode result{.problem = sample->problem};
    for (ProcessSample& process : sample->processes) {
        if (process.task) *process.task += first_task;
    }
    signal_sample(*sample, signal, ranks, dry_run, result);
    return result;
}

SignalledNode signal_ranks_of_task(const StepProcess& first, const Signal& signal) {
    NodeSample sample = sample_processes("", {first}, "");
    SignalledNode result;
    signal_sample(sample, signal, RankList{}, false, result);
    return result;
}

bool has_rank_with_handler(const StepProcess& first, const Signal& signal) {
    NodeSample sample = sample_processes("", {first}, "");
    read_states(sample);
    return std::ranges::any_of(find_ranks({&sample, 1}, 0).seen, [&](const RankSample& rank) {
        return state_of(*rank.process, signal) == RankState::catches;
    });
}

}  // namespace distgpu
