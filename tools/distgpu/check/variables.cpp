#include "check/variables.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/values.h"
#include "check/check_list.h"
#include "mapping/frameworks/framework.h"
#include "mapping/texts/variables.h"
#include "node/gpu_ownership.h"
#include "node/step_variables.h"
#include "node/task_environment.h"
#include "node/task_variables.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using Weight = Finding::Weight;

// What can be done about a variable that is not as planned.
std::string remedy(bool prepared, const Framework& framework) {
    if (prepared) {
        return "something changed it after distgpu: look for a wrapper script, a TaskProlog or a "
               "shell's start-up file";
    }
    return formatted("start it with srun --distgpu={0}, or with distgpu exec {0}", framework.mode);
}

bool is_missing(const Difference& difference) {
    return difference.planned && !difference.present;
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

// Where nothing prepared the task, all that it lacks has one cause. What a script removed from a
// prepared one has each its own.
void take_missing_as_one(std::vector<Difference>& found) {
    std::vector<std::string> names;
    for (const Difference& each : found) {
        if (is_missing(each)) names.push_back(each.name);
    }
    if (names.empty()) return;
    found.erase(std::remove_if(found.begin(), found.end(), is_missing), found.end());
    found.insert(found.begin(), {join(names, ", "), std::nullopt, ""});
}

Findings check_differences(const Environment& environment, const OwnTask& own) {
    if (unanswered_spec(environment)) return {{Weight::fatal, no_plugin(environment), "plugin"}};
    const bool prepared = prepared_spec(environment).has_value();
    std::vector<Difference> found = differences(environment, own.task());
    if (!prepared) take_missing_as_one(found);
    const std::string todo = remedy(prepared, *own.request.framework);
    Findings findings;
    for (const Difference& difference : found) {
        findings.push_back({Weight::fatal, error_of(difference, todo)});
    }
    return findings;
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

Error no_plugin(const Environment& environment) {
    const std::string file = sent_step(environment).plugin_file;
    const std::string line =
        file.empty() ? "the line of spank_distgpu.so" : formatted("'required {}'", file);
    return {"plugin", "srun asked for distgpu, but this node's slurmd did not load its plugin",
            formatted("let the administrator add {} to plugstack.conf there, or see in slurmd's "
                      "log why it was not loaded",
                      line)};
}

Findings check_variables(const Environment& environment, const OwnTask& own) {
    Findings findings = check_differences(environment, own);
    if (auto finding = another_port(environment, own.plan.rendezvous)) {
        findings.push_back(*std::move(finding));
    }
    add_container_settings(environment, findings);
    return findings;
}

Findings check_cpus(const Environment& environment, const CpuSet& cpus) {
    Findings findings;
    const auto warn = [&](const char* object, std::string problem, std::string remedy) {
        findings.push_back({Weight::warning, {object, std::move(problem), std::move(remedy)}});
    };
    // Who gave it is not told to give it.
    const auto asked = count(environment, "SLURM_CPUS_PER_TASK");
    const bool fewer = asked && cpus.count() < *asked;
    if (fewer) {
        warn("CPUs",
             formatted("only {} of the {} that --cpus-per-task asks for", cpus.count(), *asked),
             "check --cpu-bind and what starts this program; give --cpus-per-task to srun too, "
             "which does not inherit sbatch's");
    }
    // With as many CPUs as were asked for, both would be well.
    const auto threads = count(environment, "OMP_NUM_THREADS");
    if (threads && *threads > cpus.count() && !(fewer && *threads <= *asked)) {
        warn("OMP_NUM_THREADS",
             formatted("{} for {}", counted(*threads, "thread"), counted(cpus.count(), "CPU")),
             asked ? "export a smaller value, or give a larger --cpus-per-task"
                   : "export a smaller value, or use srun --cpus-per-task=N");
    }
    if (cpus.count() == 1 && !fewer && !gpu_variables(environment).empty()) {
        warn("CPUs", "only one for a process with a GPU",
             asked ? "give a larger --cpus-per-task" : "use srun --cpus-per-task=N");
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
