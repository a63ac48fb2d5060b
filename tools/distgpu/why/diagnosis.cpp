// Groups the ranks of a step by call site and activity, and collects details of ranks and of
// processes that have ended.
#include "why/diagnosis.h"

#include "base/format.h"
#include "why/findings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace distgpu {
namespace {

// The GPUs that the rank may use and whose load was sampled.
std::vector<GpuSample> sampled_gpus(const RankSample& rank) {
    std::vector<GpuSample> gpus;
    std::ranges::copy_if(rank.node->gpus, std::back_inserter(gpus), [&](const GpuSample& gpu) {
        return std::ranges::count(rank.process->gpus, gpu.pci, &GpuFacts::pci) > 0;
    });
    return gpus;
}

void add_to_group(const RankSample& rank, const RankEvidence& evidence, RankGroup& group) {
    const std::string& node = rank.node->node;
    const Moment& last = rank.process->moments.back();
    group.ranks.push_back(rank.rank);
    if (std::ranges::count(group.nodes, node) == 0) group.nodes.push_back(node);
    if (group.wait_channel.empty()) group.wait_channel = last.wait_channel;
    if (group.system_call.empty()) group.system_call = last.system_call;
    if (group.worker.empty()) group.worker = evidence.worker;
    if (group.lock.empty()) group.lock = rank.process->lock;
    for (const GpuSample& gpu : sampled_gpus(rank)) {
        for (const auto& busy : gpu.busy) {
            if (!busy) continue;
            group.min_gpu_load = std::min(group.min_gpu_load.value_or(*busy), *busy);
            group.max_gpu_load = std::max(group.max_gpu_load.value_or(*busy), *busy);
        }
    }
}

std::vector<RankGroup> group_ranks(const std::vector<RankSample>& ranks) {
    std::map<std::tuple<std::string, Activity, bool, WaitsFor, bool>, RankGroup> groups;
    for (const RankSample& rank : ranks) {
        const RankEvidence evidence = evidence_of_rank(rank);
        RankGroup group{.site = evidence.site,
                        .activity = evidence.activity,
                        .progress = evidence.progress,
                        .waits_for = evidence.waits_for,
                        .is_polling = evidence.is_polling,
                        .stack = evidence.stack};
        // Without a stack, what the kernel says.
        const Moment& last = rank.process->moments.back();
        std::string place =
            group.site.text.empty() ? last.system_call + ' ' + last.wait_channel : group.site.text;
        if (group.is_in_loop()) place.resize(std::min(place.size(), place.rfind(':')));
        const std::tuple key(std::move(place), group.activity, group.has_moved(), group.waits_for,
                             group.is_polling);
        add_to_group(rank, evidence, groups.try_emplace(key, std::move(group)).first->second);
    }
    std::vector<RankGroup> sorted;
    sorted.reserve(groups.size());
    for (auto& [key, group] : groups) sorted.push_back(std::move(group));
    std::ranges::stable_sort(sorted, {}, [](const RankGroup& group) { return group.ranks.size(); });
    return sorted;
}

void add_details(const std::vector<RankSample>& seen, Diagnosis& diagnosis) {
    constexpr std::size_t max_details = 64;
    for (const RankGroup& group : diagnosis.groups) {
        for (const std::uint32_t number : group.ranks) {
            if (diagnosis.details.size() == max_details) return;
            diagnosis.details.push_back(
                rank_details(*std::ranges::find(seen, number, &RankSample::rank)));
            if (&group != &diagnosis.groups.back()) ++diagnosis.outliers;
        }
    }
}

}  // namespace

RankEvidence evidence_of_rank(const RankSample& rank) {
    RankEvidence evidence{evidence_of(*rank.node, *rank.process)};
    for (const ProcessSample* const process : rank.workers) {
        const Evidence worker = evidence_of(*rank.node, *process);
        if (worker.has_progress()) {
            if (!evidence.has_progress()) evidence.progress = Progress::children;
            evidence.is_polling = false;
        } else if (evidence.worker.empty() && has_own_code(worker.stack)) {
            evidence.worker = formatted("process {}, which is in {}, {}", process->pid,
                                        worker.site.text, name_of(worker.activity));
        }
    }
    if (evidence.has_progress()) evidence.worker.clear();
    return evidence;
}

RankDetails rank_details(const RankSample& rank) {
    const ProcessSample& process = *rank.process;
    const Evidence evidence = evidence_of(*rank.node, process);
    RankDetails details{.rank = rank.rank,
                        .node = rank.node->node,
                        .pid = process.pid,
                        .command = process.command,
                        .state = process.moments.back().state,
                        .wait_channel = process.moments.back().wait_channel,
                        .cpu = evidence.cpu,
                        .wakeups = evidence.wakeups,
                        .launchers = launchers_of(*rank.node, process),
                        .connections = process.connections,
                        .gpus = sampled_gpus(rank)};
    constexpr std::size_t max_children = 16;
    for (const ProcessSample& child : rank.node->processes) {
        if (child.parent != process.pid || details.children.size() == max_children) continue;
        const char state = child.moments.empty() ? '?' : child.moments.back().state;
        details.children.push_back(formatted("{} {} ({})", child.pid, child.name, state));
    }
    return details;
}

Diagnosis diagnose(const std::vector<NodeSample>& samples, const std::vector<std::string>& silent,
                   std::uint32_t tasks, bool is_component) {
    const Ranks ranks = find_ranks(samples, tasks, is_component);
    Diagnosis diagnosis;
    diagnosis.groups = group_ranks(ranks.seen);
    diagnosis.missing = ranks.missing;
    diagnosis.shared = ranks.shared;
    diagnosis.expected = ranks.expected;
    diagnosis.is_component = is_component;
    diagnosis.silent = silent;
    diagnosis.nodes = static_cast<std::uint32_t>(samples.size() + silent.size());
    for (const RankSample& rank : ranks.seen) {
        const auto silence = rank.process->silence;
        if (silence) diagnosis.silence = std::min(diagnosis.silence.value_or(*silence), *silence);
    }
    for (const NodeSample& sample : samples) {
        diagnosis.seconds = std::max(diagnosis.seconds, sample.seconds());
        if (!sample.nccl.empty()) diagnosis.nccl = sample.nccl;
        diagnosis.records.insert(diagnosis.records.end(), sample.records.begin(),
                                 sample.records.end());
        if (!sample.problem.empty() && std::ranges::count(diagnosis.notes, sample.problem) == 0) {
            diagnosis.notes.push_back(sample.problem);
        }
    }
    if (is_component) {
        diagnosis.notes.emplace_back(
            "this is one component of a heterogeneous step; look at the others too");
    }
    if (!ranks.missing.empty()) diagnosis.ended = find_zombies(samples);
    add_details(ranks.seen, diagnosis);
    add_findings(samples, diagnosis);
    if (diagnosis.kind == Diagnosis::Kind::moving) {
        diagnosis.stragglers = stragglers_of(ranks.seen);
    }
    return diagnosis;
}

}  // namespace distgpu
