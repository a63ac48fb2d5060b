#include "run/attempt.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/layout/hostlist.h"
#include "slurm/slurm_options.h"

#include <algorithm>
#include <array>
#include <set>

namespace distgpu {
namespace {

std::optional<std::uint32_t> number_of(const SlurmOptions& options, std::string_view name) {
    const auto value = options.value(name);
    return value ? whole_number(*value) : std::nullopt;
}

// With them, the user and not `distgpu run` would choose the nodes of an attempt.
std::optional<Error> chosen_nodes(const SlurmOptions& options) {
    constexpr std::array choices{"nodelist", "exclude", "relative", "nodefile", "jobid"};
    const auto* const choice =
        std::ranges::find_if(choices, [&](const char* name) { return options.has(name); });
    if (choice == choices.end()) return std::nullopt;
    return Error{formatted("--{}", *choice), "distgpu run chooses the nodes of each attempt itself",
                 "leave it out; give it to sbatch for the whole job"};
}

// Tasks on each node, by srun's options or the job's.
std::optional<std::uint32_t> tasks_per_node(const SlurmOptions& options, const Environment& job,
                                            std::uint32_t job_nodes) {
    if (const auto typed = number_of(options, "ntasks-per-node")) return typed;
    if (const auto of_job = job.number("SLURM_NTASKS_PER_NODE")) return of_job;
    const std::uint32_t tasks = job.number("SLURM_NTASKS").value_or(job_nodes);
    return tasks % job_nodes == 0 ? std::optional(tasks / job_nodes) : std::nullopt;
}

}  // namespace

Result<Training> read_training(std::vector<std::string> words, const Environment& job,
                               std::optional<std::uint32_t> spares) {
    if (words.empty() || file_name(words.front()) != "srun") {
        return Error{words.empty() ? "command" : excerpt(words.front()), "not srun",
                     "write distgpu run -- srun --distgpu=MODE train.py"};
    }
    std::vector<std::string> names = node_names(job.text("SLURM_JOB_NODELIST"));
    if (names.empty()) {
        return Error{"SLURM_JOB_NODELIST", "not the nodes of a job of Slurm",
                     "run it in a batch script, or in salloc's shell"};
    }
    const auto job_nodes = static_cast<std::uint32_t>(names.size());
    const SlurmOptions options = parse_slurm_line(words, SlurmCommand::srun).options;
    if (auto error = chosen_nodes(options)) return *std::move(error);
    const auto typed = number_of(options, "nodes");
    if (options.has("nodes") && !typed) {
        return Error{formatted("--nodes={}", excerpt(*options.value("nodes"))),
                     "distgpu run needs one number of nodes", "write one, as in --nodes=2"};
    }
    const std::uint32_t wanted_spares =
        spares.value_or(typed && *typed <= job_nodes ? job_nodes - *typed : 0);
    if (wanted_spares >= job_nodes) {
        return Error{formatted("--spares {}", wanted_spares),
                     formatted("the job has only {}", counted(job_nodes, "node")),
                     "write fewer, or give sbatch more --nodes"};
    }
    Training training{std::move(words), std::move(names), job_nodes - wanted_spares};
    if (typed && *typed != training.nodes) {
        return Error{formatted("--nodes={}", *typed),
                     formatted("the job has {}, and --spares {} leaves {}",
                               counted(job_nodes, "node"), wanted_spares, training.nodes),
                     "leave --nodes out, or give sbatch as many more nodes as there are spares"};
    }
    training.is_exclusive = options.has("exclusive");
    if (options.has("ntasks")) return training;
    const auto each = tasks_per_node(options, job, job_nodes);
    if (!each) {
        return Error{"--ntasks",
                     formatted("not given, and the job's {} tasks do not divide by its {}",
                               job.number("SLURM_NTASKS").value_or(0), counted(job_nodes, "node")),
                     "write --ntasks-per-node=N"};
    }
    training.tasks = *each * training.nodes;
    return training;
}

std::vector<std::string> node_names(std::string_view host_list) {
    std::vector<std::string> names;
    const auto hosts = HostList::parse(host_list);
    const std::uint64_t count = hosts ? hosts->size() : 0;
    for (std::uint32_t i = 0; i < count; ++i) names.push_back(hosts->name(NodeIndex{i}));
    return names;
}

std::vector<std::string> nodes_without(std::vector<std::string> nodes,
                                       const std::vector<std::string>& others) {
    const std::set<std::string> removed(others.begin(), others.end());
    std::erase_if(nodes, [&](const std::string& node) { return removed.contains(node); });
    return nodes;
}

std::vector<std::string> attempt_nodes(const Training& training,
                                       const std::vector<std::string>& left_out) {
    std::vector<std::string> nodes = nodes_without(training.job_nodes, left_out);
    nodes.resize(std::min<std::size_t>(nodes.size(), training.nodes));
    return nodes;
}

std::vector<std::string> attempt_words(const Training& training,
                                       const std::vector<std::string>& nodes, bool has_lost_nodes) {
    std::vector<std::string> words{training.words.front(), formatted("--nodes={}", training.nodes)};
    if (training.tasks) words.push_back(formatted("--ntasks={}", *training.tasks));
    const std::vector<std::string> others = nodes_without(training.job_nodes, nodes);
    if (!others.empty()) {
        words.push_back("--exclude=" + HostList::from_names(others).to_string());
    }
    if (has_lost_nodes && !training.is_exclusive) words.emplace_back("--overlap");
    words.insert(words.end(), training.words.begin() + 1, training.words.end());
    return words;
}

}  // namespace distgpu
