#include "why/rank_details.h"

#include "base/excerpt.h"
#include "base/format.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>
#include <string_view>
#include <sys/wait.h>
#include <type_traits>
#include <utility>

namespace distgpu {
namespace {

const ProcessLook* find(const NodeLook& node, pid_t pid) {
    const auto found = std::find_if(node.processes.begin(), node.processes.end(),
                                    [&](const ProcessLook& each) { return each.pid == pid; });
    return found == node.processes.end() ? nullptr : &*found;
}

std::vector<std::string> launchers_of(const ProcessLook& process, const NodeLook& node) {
    constexpr std::size_t most = 16;
    std::vector<std::string> launchers;
    const ProcessLook* above = find(node, process.parent);
    while (above != nullptr && launchers.size() < most) {
        launchers.push_back(formatted("{} {}", above->pid, above->command));
        above = find(node, above->parent);
    }
    std::reverse(launchers.begin(), launchers.end());
    return launchers;
}

std::vector<std::string> children_of(const ProcessLook& process, const NodeLook& node) {
    constexpr std::size_t most = 16;
    std::vector<std::string> children;
    for (const ProcessLook& child : node.processes) {
        if (child.parent != process.pid || children.size() == most) continue;
        const char state = child.moments.empty() ? '?' : child.moments.back().state;
        children.push_back(formatted("{} {} ({})", child.pid, child.name, state));
    }
    return children;
}

double cpu_of(const ProcessLook& process, const std::vector<double>& times) {
    const double seconds = times.back() - times.front();
    const double used = process.moments.back().cpu - process.moments.front().cpu;
    return seconds > 0 && used > 0 ? used / seconds : 0;
}

std::string how_it_ended(int exit_code) {
    if (!WIFSIGNALED(exit_code)) return formatted("ended with status {}", WEXITSTATUS(exit_code));
    constexpr std::array<std::pair<int, std::string_view>, 5> names{{{SIGABRT, " (SIGABRT)"},
                                                                     {SIGBUS, " (SIGBUS)"},
                                                                     {SIGKILL, " (SIGKILL)"},
                                                                     {SIGSEGV, " (SIGSEGV)"},
                                                                     {SIGTERM, " (SIGTERM)"}}};
    const int signal = WTERMSIG(exit_code);
    const auto name = std::find_if(names.begin(), names.end(),
                                   [&](const auto& each) { return each.first == signal; });
    return formatted("was killed by signal {}{}", signal, name == names.end() ? "" : name->second);
}

std::string text_of(const Connection& connection) {
    std::string text = connection.peer;
    if (connection.unsent > 0) text += formatted(" ({} bytes unsent)", connection.unsent);
    if (connection.unread > 0) text += formatted(" ({} bytes unread)", connection.unread);
    return text;
}

std::string text_of(const GpuLook& gpu) {
    std::vector<std::string> percents;
    for (const auto& busy : gpu.busy) percents.push_back(busy ? formatted("{}", *busy) : "-");
    return formatted("{} busy {} %", gpu.pci, join(percents, ", "));
}

// Of a list the first few.
template <class Items>
std::string line(std::string_view heading, const Items& items) {
    constexpr std::size_t most = 4;
    if (items.empty()) return "";
    std::vector<std::string> texts;
    for (const auto& item : items) {
        if (texts.size() == most) break;
        if constexpr (std::is_convertible_v<decltype(item), std::string_view>) {
            texts.emplace_back(item);
        } else {
            texts.push_back(text_of(item));
        }
    }
    const std::string more =
        items.size() > most ? formatted(", and {} more", items.size() - most) : "";
    return formatted("    {} {}{}\n", heading, printable(join(texts, ", ")), more);
}

JsonText connection_json(const Connection& connection) {
    return {
        {"peer", connection.peer}, {"unsent", connection.unsent}, {"unread", connection.unread}};
}

JsonText gpu_json(const GpuLook& gpu) {
    return {{"pci", gpu.pci},
            {"busy", JsonText::list(gpu.busy, [](const auto& busy) { return JsonText(busy); })}};
}

}  // namespace

std::vector<GpuLook> gpus_of(const RankLook& rank) {
    const std::vector<std::string>& own = rank.process->gpus;
    std::vector<GpuLook> gpus;
    for (const GpuLook& gpu : rank.node->gpus) {
        if (std::find(own.begin(), own.end(), gpu.pci) != own.end()) gpus.push_back(gpu);
    }
    return gpus;
}

RankDetails details_of(const RankLook& rank) {
    const ProcessLook& process = *rank.process;
    RankDetails details{.rank = rank.rank, .node = rank.node->node, .pid = process.pid};
    details.command = process.command;
    details.state = process.moments.back().state;
    details.wait_channel = process.moments.back().wait_channel;
    details.cpu = cpu_of(process, rank.node->times);
    for (const Moment& moment : process.moments) details.wakings += moment.wakings;
    details.launchers = launchers_of(process, *rank.node);
    details.children = children_of(process, *rank.node);
    details.connections = process.connections;
    details.gpus = gpus_of(rank);
    return details;
}

std::vector<EndedProcess> ended_processes(const std::vector<NodeLook>& looks) {
    constexpr std::size_t most = 64;
    std::vector<EndedProcess> ended;
    for (const NodeLook& look : looks) {
        for (const ProcessLook& process : look.processes) {
            if (!process.exit_code || ended.size() == most) continue;
            ended.push_back(
                {look.node, process.pid, process.name, how_it_ended(*process.exit_code)});
        }
    }
    return ended;
}

std::string to_text(const RankDetails& details) {
    std::string text = formatted("  rank {} on {}: process {} {}\n", details.rank, details.node,
                                 details.pid, printable(details.command));
    text += formatted("    state {}{}, {:.2f} s of CPU a second, woke {}\n", details.state,
                      details.wait_channel.empty() ? "" : " in " + printable(details.wait_channel),
                      details.cpu, counted(details.wakings, "time"));
    text += line("started by", details.launchers);
    text += line("has started", details.children);
    text += line("connected to", details.connections);
    return text + line("GPU", details.gpus);
}

JsonText to_json(const RankDetails& details) {
    return {{"rank", details.rank},
            {"node", details.node},
            {"pid", details.pid},
            {"command", details.command},
            {"state", std::string_view(&details.state, 1)},
            {"wait_channel", json_text_or_null(details.wait_channel)},
            {"cpu", details.cpu},
            {"wakings", details.wakings},
            {"launchers", JsonText::list(details.launchers)},
            {"children", JsonText::list(details.children)},
            {"connections", JsonText::list(details.connections, connection_json)},
            {"gpus", JsonText::list(details.gpus, gpu_json)}};
}

JsonText to_json(const EndedProcess& ended) {
    return {{"node", ended.node}, {"pid", ended.pid}, {"name", ended.name}, {"how", ended.how}};
}

}  // namespace distgpu
