// Computes rank 0's verdict from all the reports.
#include "base/format.h"
#include "check/step_check.h"
#include "mapping/plan/plan.h"
#include "mapping/topology/cpu_set.h"
#include "table.h"

#include <algorithm>
#include <set>
#include <utility>

namespace distgpu {
namespace {

constexpr const char* interface_variable = "NCCL_SOCKET_IFNAME";
constexpr const char* unset_interface =
    "unset it: distgpu names the interface that has each node's address";

constexpr const char* visible_gpus_object = "visible GPUs";

using Ranks = std::set<std::uint32_t>;
using Nodes = std::set<std::uint32_t>;

std::string name_of(std::uint32_t node, const StepLayout& layout) {
    return layout.hosts().name(NodeIndex{node});
}

HostList hosts_of(const Nodes& nodes, const StepLayout& layout) {
    std::vector<std::string> names;
    for (const std::uint32_t node : nodes) names.push_back(name_of(node, layout));
    return HostList::from_names(names);
}

template <class Numbers>
Nodes nodes_of(const Numbers& ranks, const StepLayout& layout) {
    Nodes nodes;
    for (const std::uint32_t rank : ranks) nodes.insert(layout.place(GlobalRank{rank}).node.value);
    return nodes;
}

// "rank 3 on node02", "ranks 0-7 on node[01-02]".
std::string describe_ranks(const Ranks& ranks, const StepLayout& layout) {
    return formatted("{} on {}", ranks_text({ranks.begin(), ranks.end()}),
                     hosts_of(nodes_of(ranks, layout), layout).to_string());
}

using ByValue = std::map<std::string, Nodes>;

// The value of the most nodes; on a tie that of the first node.
ByValue::const_iterator majority(const ByValue& values) {
    return std::ranges::max_element(values, [](const auto& left, const auto& right) {
        if (left.second.size() != right.second.size()) {
            return left.second.size() < right.second.size();
        }
        return *left.second.begin() > *right.second.begin();
    });
}

// The direction in which packets are lost, according to the datagrams.
std::string direction(const NetworkFault& fault, const std::string& own, const std::string& other) {
    if (fault.packets_arrive && fault.packets_leave) {
        return "datagrams pass both ways, so a firewall may be blocking the ports, or the link may "
               "be losing packets";
    }
    if (fault.packets_arrive) {
        return formatted("packets from {} arrive, but none get from {} to {}", other, own, other);
    }
    if (fault.packets_leave) {
        return formatted("packets to {} arrive, but none get from {} to {}", other, other, own);
    }
    return "no packets get through in either direction";
}

std::vector<SharedFinding> shared_findings(const std::vector<Report>& reports,
                                           const StepLayout& layout) {
    std::vector<std::pair<Finding, Ranks>> found;
    for (const Report& report : reports) {
        for (const Finding& finding : report.findings) {
            const auto same = [&](const auto& each) { return each.first == finding; };
            auto at = std::ranges::find_if(found, same);
            if (at == found.end()) at = found.insert(at, {finding, {}});
            at->second.insert(report.rank);
        }
    }
    std::stable_partition(found.begin(), found.end(),
                          [](const auto& each) { return is_fatal(each.first); });
    std::vector<SharedFinding> shared;
    shared.reserve(found.size());
    for (const auto& [finding, ranks] : found) {
        shared.push_back({finding, {ranks.begin(), ranks.end()}, describe_ranks(ranks, layout)});
    }
    return shared;
}

// All ranks must have the same rendezvous.
void compare_rendezvous(std::vector<Report>& reports) {
    const std::string first = reports.front().rendezvous;
    if (first.empty()) return;
    for (Report& report : reports) {
        if (report.rendezvous.empty() || report.rendezvous == first) continue;
        report.findings.push_back(
            fatal("MASTER_ADDR and MASTER_PORT",
                  formatted("{}, but rank 0 has {}", report.rendezvous, first),
                  "export the same values on all nodes, or none", variables_check.name));
    }
}

// "1 of 4 missing, 2 of 4 failed"; "ok".
std::string state_of(const std::vector<const Report*>& reports, std::uint32_t tasks) {
    const auto failing = std::ranges::count_if(
        reports, [](const Report* report) { return has_fatal(report->findings); });
    std::string text;
    if (reports.size() < tasks) {
        text = formatted("{} of {} missing", tasks - reports.size(), tasks);
    }
    if (failing > 0) {
        text += formatted("{}{} of {} failed", text.empty() ? "" : ", ", failing, tasks);
    }
    return text.empty() ? "ok" : text;
}

std::vector<NodeState> node_states(const StepLayout& layout, const std::vector<Report>& reports) {
    std::vector<std::vector<const Report*>> by_node(layout.node_count());
    for (const Report& report : reports) {
        by_node[layout.place(GlobalRank{report.rank}).node.value].push_back(&report);
    }
    std::vector<NodeState> states;
    for (std::uint32_t node = 0; node < layout.node_count(); ++node) {
        const std::vector<const Report*>& node_reports = by_node[node];
        NodeState& state =
            states.emplace_back(NodeState{name_of(node, layout), {}, !node_reports.empty()});
        for (const TaskId task : layout.task_ids(NodeIndex{node})) {
            state.ranks.push_back(rank_of(layout, task).value);
        }
        std::ranges::sort(state.ranks);
        state.state = state_of(node_reports, layout.tasks_on(NodeIndex{node}));
        if (node_reports.empty()) continue;
        CpuSet cpus;
        for (const Report* report : node_reports) {
            if (const auto parsed = CpuSet::parse(report->cpus)) cpus |= *parsed;
        }
        state.cpus = cpus.to_string();
        state.gpus_per_rank = node_reports.front()->gpus;
        state.interface = node_reports.front()->interface;
        state.ports = node_reports.front()->ports;
    }
    return states;
}

// Each once. Of many, such as one for each node's interface, the first few.
std::vector<std::string> networks_of(const std::vector<Report>& reports) {
    constexpr std::size_t max_networks = 3;
    std::vector<std::string> networks;
    for (const Report& report : reports) {
        const bool is_new = std::ranges::count(networks, report.network) == 0;
        if (!report.network.empty() && is_new && networks.size() < max_networks) {
            networks.push_back(report.network);
        }
    }
    return networks;
}

// The nodes that are at fault; empty if all are.
HostList nodes_to_exclude(const StepLayout& layout, const std::vector<SharedFinding>& findings,
                          const std::vector<std::uint32_t>& missing) {
    Nodes excluded = nodes_of(missing, layout);
    for (const SharedFinding& shared : findings) {
        const Finding& finding = shared.finding;
        // The job's own settings would be wrong on other nodes too.
        const bool is_of_job =
            finding.check == variables_check.name || finding.check == ports_check.name ||
            finding.error.object == visible_gpus_object ||
            (finding.error.object == interface_variable && finding.check == network_check.name);
        if (!is_fatal(finding) || is_of_job) continue;
        const Nodes nodes = nodes_of(shared.ranks, layout);
        if (nodes.size() < layout.node_count()) excluded.insert(nodes.begin(), nodes.end());
    }
    return excluded.size() == layout.node_count() ? HostList() : hosts_of(excluded, layout);
}

// "node02 receives 5.9 Mb/s from node01 over eth0 (10 Gb/s on node02, 10 Gb/s on node01)".
Finding slow_link_finding(const NetworkFault& fault, const std::string& interface,
                          const StepLayout& layout) {
    const std::string name = name_of(fault.node, layout);
    const std::string partner = name_of(fault.partners.front(), layout);
    const bool sends = fault.kind == NetworkFault::Kind::sends_slowly;
    const bool has_speeds = fault.speed > 0 && fault.partner_speed > 0;
    const std::string speeds = has_speeds ? formatted("{} on {}, {} on {}", rate_text(fault.speed),
                                                      name, rate_text(fault.partner_speed), partner)
                                          : "whose speed is unknown";
    if (fault.is_proven && fault.rate <= 0) {
        return fatal(
            "network",
            formatted("{0} connects to {1} over {2} ({3}), but nothing arrives of what {4} "
                      "then sends at full size",
                      name, partner, interface, speeds, sends ? name : partner),
            formatted("compare the MTU of both (ip link) and of their switch ports, or "
                      "leave it out with --exclude={}",
                      name),
            network_check.name);
    }
    return (fault.is_proven ? fatal : warning)(
        "network",
        formatted("{} {} {} {} {} over {} ({}){}", name, sends ? "sends" : "receives",
                  rate_text(fault.rate), sends ? "to" : "from", partner, interface, speeds,
                  has_speeds && !fault.is_proven ? ", perhaps only because a node is busy" : ""),
        formatted("look for errors with ip -s link and ethtool -S on both, and check cable and "
                  "switch port, or leave it out with --exclude={}",
                  name),
        network_check.name);
}

}  // namespace

void compare_visible_gpus(std::vector<Report>& reports, const StepLayout& layout) {
    for (std::uint32_t node = 0; node < layout.node_count(); ++node) {
        std::map<std::set<std::string>, std::vector<Report*>> by_visible;
        std::set<std::string> given;
        std::size_t ranks = 0;
        for (Report& report : reports) {
            if (report.node != node) continue;
            ++ranks;
            given.insert(report.given_gpus.begin(), report.given_gpus.end());
            const std::set<std::string> visible(report.visible_gpus.begin(),
                                                report.visible_gpus.end());
            if (!visible.empty()) by_visible[visible].push_back(&report);
        }
        if (given.size() < ranks) continue;  // they share GPUs anyway
        for (const auto& [visible, sharing] : by_visible) {
            if (sharing.size() <= visible.size()) continue;
            const Finding finding = fatal(
                visible_gpus_object,
                formatted("these {} ranks of a node see only {}, but were given {}: {}",
                          sharing.size(), counted(visible.size(), "GPU"), given.size(),
                          join(visible, ", ")),
                "look for CUDA_VISIBLE_DEVICES in a wrapper script, a TaskProlog or a shell's "
                "start-up file",
                gpus_check.name);
            for (Report* report : sharing) report->findings.push_back(finding);
        }
    }
}

void compare_nodes(std::vector<Report>& reports, const StepLayout& layout) {
    std::map<std::string, ByValue> traits;
    std::map<std::string, NodeTrait> first;
    for (const Report& report : reports) {
        for (const NodeTrait& trait : report.traits) {
            traits[trait.name][trait.value].insert(report.node);
            first.emplace(trait.name, trait);
        }
    }
    for (const auto& [name, values] : traits) {
        const auto most_common = majority(values);
        for (auto value = values.begin(); value != values.end(); ++value) {
            if (value == most_common) continue;
            const std::string others =
                most_common->second.size() == 1
                    ? name_of(*most_common->second.begin(), layout) + " has"
                    : counted(most_common->second.size(), "other node") + " have";
            const Finding finding{
                first[name].severity,
                {name, formatted("{}, but {} {}", value->first, others, most_common->first),
                 formatted("make them the same, or exclude the odd nodes with --exclude={}",
                           hosts_of(value->second, layout).to_string())},
                std::string(nodes_check.name)};
            for (Report& report : reports) {
                if (value->second.contains(report.node)) report.findings.push_back(finding);
            }
        }
    }
}

void add_interface_findings(std::vector<Report>& reports,
                            const std::vector<UnusableInterface>& unusable,
                            const StepLayout& layout) {
    for (const UnusableInterface& interface : unusable) {
        const auto report = std::ranges::find_if(reports, [&](const Report& each) {
            return each.node == interface.from && !each.trial_address.empty();
        });
        if (report == reports.end()) continue;
        const std::string rest =
            interface.pairs == interface.tried
                ? ""
                : formatted("; {} of {} pairs fail", interface.pairs, interface.tried);
        report->findings.push_back(
            fatal(interface_variable,
                  formatted("allows {} too, over which {} does not reach {} ({}){}", interface.name,
                            name_of(interface.from, layout), name_of(interface.to, layout),
                            interface.problem, rest),
                  unset_interface, network_check.name));
    }
}

void add_network_findings(std::vector<Report>& reports, const std::vector<NetworkFault>& faults,
                          const std::vector<TrialResult>& results, const StepLayout& layout) {
    const bool none_connect = std::ranges::all_of(results, [](const TrialResult& result) {
        return std::ranges::none_of(result.sent,
                                    [](const SendResult& sent) { return sent.problem.empty(); });
    });
    for (const NetworkFault& fault : faults) {
        const auto at_fault = std::ranges::find_if(reports, [&](const Report& report) {
            return report.node == fault.node && !report.trial_address.empty();
        });
        if (at_fault == reports.end()) continue;
        const std::string interface =
            at_fault->interface.empty() ? at_fault->trial_address : at_fault->interface;
        const std::string name = name_of(fault.node, layout);
        if (fault.kind == NetworkFault::Kind::unreachable) {
            const std::string others =
                hosts_of({fault.partners.begin(), fault.partners.end()}, layout).to_string();
            if (none_connect && at_fault->has_chosen_interface) {
                at_fault->findings.push_back(
                    fatal(interface_variable,
                          formatted("no two nodes connect over {}: {} to {}: {}", interface, name,
                                    others, fault.problem),
                          unset_interface, network_check.name));
                continue;
            }
            at_fault->findings.push_back(fatal(
                "network",
                formatted("no connection between {} and {} over {}: {}; {}", name, others,
                          interface, fault.problem, direction(fault, name, others)),
                formatted("check its link, routes and firewall, or leave it out with --exclude={}",
                          name),
                network_check.name));
            continue;
        }
        if (fault.median_rate <= 0) {
            at_fault->findings.push_back(slow_link_finding(fault, interface, layout));
            continue;
        }
        const char* const verb =
            fault.kind == NetworkFault::Kind::sends_slowly ? "sends" : "receives";
        const char* const other = layout.node_count() == 2 ? "other" : "median";
        at_fault->findings.push_back(fatal(
            "network",
            formatted("{} {} {} over {}, where the {} node {} {}", name, verb,
                      rate_text(fault.rate), interface, other, verb, rate_text(fault.median_rate)),
            formatted("check its link with ethtool and its cable, or leave it out with "
                      "--exclude={}",
                      name),
            network_check.name));
    }
}

Verdict compute_verdict(std::string_view mode, const StepLayout& layout,
                        const std::vector<Report>& gathered, std::chrono::seconds report_timeout,
                        const Checks& checks) {
    std::vector<Report> reports = gathered;
    compare_rendezvous(reports);
    compare_nodes(reports, layout);
    compare_visible_gpus(reports, layout);
    Ranks missing;
    for (std::uint32_t rank = 0; rank < layout.task_count(); ++rank) missing.insert(rank);
    for (const Report& report : reports) missing.erase(report.rank);
    Verdict verdict;
    verdict.mode = mode;
    verdict.ranks = layout.task_count();
    for (const Report& report : reports) {
        if (verdict.rendezvous.empty()) verdict.rendezvous = report.rendezvous;
    }
    verdict.nodes = node_states(layout, reports);
    verdict.findings = shared_findings(reports, layout);
    verdict.missing = {missing.begin(), missing.end()};
    if (!missing.empty()) verdict.missing_subject = describe_ranks(missing, layout);
    verdict.report_timeout = report_timeout;
    verdict.networks = networks_of(reports);
    for (const NamedCheck* check : all_checks()) {
        if (std::ranges::find(checks, check) == checks.end()) {
            verdict.skipped.emplace_back(check->name);
        }
    }
    verdict.exclude = nodes_to_exclude(layout, verdict.findings, verdict.missing);
    if (!missing.empty()) {
        verdict.code = ExitCode::timed_out;
    } else if (!verdict.findings.empty() && is_fatal(verdict.findings.front().finding)) {
        verdict.code = ExitCode::check_failed;
    }
    return verdict;
}

}  // namespace distgpu
