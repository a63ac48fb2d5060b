// See variables.h.
#include "check/variables.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/values.h"
#include "check/check_list.h"
#include "mapping/frameworks/framework.h"
#include "node/gpu_ownership.h"
#include "node/task_environment.h"
#include "node/variables.h"
#include "task/task_variables.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace distgpu {
namespace {

using Weight = Finding::Weight;

// What can be done about a variable that is not as planned.
std::string remedy(const Environment& environment, const Framework& framework) {
    if (prepared_spec(environment)) {
        return "something changed it after distgpu: look for a wrapper script, a TaskProlog or a "
               "shell's start-up file";
    }
    return formatted("start it with srun --distgpu={0}, or with distgpu exec {0}", framework.mode);
}

Error error_of(const Difference& difference, const std::string& remedy) {
    if (!difference.planned) {
        return {difference.name, "is set, but would mislead the framework",
                "unset it in the script"};
    }
    if (!difference.present) return {difference.name, "not set", remedy};
    return {difference.name,
            formatted("is {}, but should be {}", *difference.present, *difference.planned), remedy};
}

// A port that the SPEC gives is not what the task has.
std::optional<Finding> another_port(const Environment& environment, const Rendezvous& rendezvous) {
    const auto port = environment.get("MASTER_PORT");
    if (!port || port->empty() || *port == std::to_string(rendezvous.port)) return std::nullopt;
    return Finding{Weight::fatal,
                   {"MASTER_PORT", formatted("is {}, but port= gives {}", *port, rendezvous.port),
                    "set it in only one place"}};
}

std::optional<std::uint32_t> count(const Environment& environment, const char* name) {
    return whole_number(environment.get(name).value_or(""));
}

// What the plugin found when it prepared this task, and left in the words of container_mark().
void add_container_settings(const Environment& environment, Findings& findings) {
    const std::string marks = environment.get(container_variable).value_or("");
    for (std::string_view rest = marks; !rest.empty();) {
        const std::string_view mark = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(rest.size(), mark.size() + 1));
        const std::string name(mark.substr(0, mark.find(':')));
        const bool exported = mark.substr(name.size()) == ":export";
        findings.push_back(
            {Weight::warning,
             {excerpt(name),
              formatted("the container sets another value than {}; '{}' is used",
                        exported ? "you exported" : "distgpu would",
                        excerpt(environment.get(name).value_or(""))),
              exported ? "remove it from the image, or do not export it"
                       : "export the variable to choose, or remove it from the image"}});
    }
}

}  // namespace

Findings check_variables(const Environment& environment, const OwnTask& own) {
    Findings findings;
    const std::string todo = remedy(environment, *own.request.framework);
    for (const Difference& difference : differences(environment, own.task())) {
        findings.push_back({Weight::fatal, error_of(difference, todo)});
    }
    if (auto finding = another_port(environment, own.plan.rendezvous)) {
        findings.push_back(*std::move(finding));
    }
    add_container_settings(environment, findings);
    return findings;
}

Findings check_cpus(const Environment& environment, const CpuSet& cpus) {
    Findings findings;
    const auto asked = count(environment, "SLURM_CPUS_PER_TASK");
    if (asked && cpus.count() < *asked) {
        findings.push_back(
            {Weight::warning,
             {"CPUs",
              formatted("only {} of the {} that --cpus-per-task asks for", cpus.count(), *asked),
              "check --cpu-bind and what starts this program"}});
    }
    const auto threads = count(environment, "OMP_NUM_THREADS");
    if (threads && *threads > cpus.count()) {
        findings.push_back(
            {Weight::warning,
             {"OMP_NUM_THREADS", formatted("{} threads for {} CPUs", *threads, cpus.count()),
              "export a smaller value, or use --cpus-per-task"}});
    }
    if (cpus.count() == 1 && !gpu_variables(environment).empty()) {
        findings.push_back(
            {Weight::warning,
             {"CPUs", "only one for a process with a GPU", "use srun --cpus-per-task=N"}});
    }
    return findings;
}

const NamedCheck variables_check{
    "variables",
    "The task's variables are set, its ranks and sizes match Slurm's, and no variable is left that "
    "would mislead the framework.",
    always,
    [](const CheckFacts& facts) {
        return CheckResult{check_variables(*facts.environment, *facts.own)};
    },
};

const NamedCheck cpus_check{
    "cpus",
    "The task's CPUs are enough for --cpus-per-task, for OMP_NUM_THREADS and for its GPU.",
    [](const CheckFacts& facts) { return !facts.cpus.empty(); },
    [](const CheckFacts& facts) { return CheckResult{check_cpus(*facts.environment, facts.cpus)}; },
};

}  // namespace distgpu
