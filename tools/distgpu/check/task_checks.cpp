// The checks of what a task was given beside its devices: its variables, its CPUs, and the ports on
// which its program will listen.
#include "base/format.h"
#include "base/values.h"
#include "check/checks.h"
#include "mapping/frameworks/framework.h"
#include "mapping/texts/variables.h"
#include "node/gpus.h"
#include "node/network.h"
#include "node/step_variables.h"
#include "node/task_environment.h"

#include <algorithm>
#include <utility>

namespace distgpu {
namespace {

Findings check_differences(const Environment& environment, const OwnTask& own) {
    if (unanswered_spec(environment)) {
        return {{Finding::Weight::fatal, no_plugin(environment), "plugin"}};
    }
    const bool prepared = prepared_spec(environment).has_value();
    const std::string remedy =
        prepared ? "something changed it after distgpu: look for a wrapper script, a TaskProlog or "
                   "a shell's start-up file"
                 : formatted("start it with srun --distgpu={0}, or with distgpu exec {0}",
                             own.request.framework->mode);
    Findings findings;
    std::vector<std::string> missing;
    for (const Difference& each : differences(environment, own.task())) {
        if (!each.planned) {
            findings.push_back(fatal(each.name, "is set, but would mislead the framework",
                                     "unset it in the script"));
        } else if (each.present) {
            findings.push_back(
                fatal(each.name, formatted("is {}, but should be {}", *each.present, *each.planned),
                      remedy));
        } else if (prepared) {
            findings.push_back(fatal(each.name, "not set", remedy));
        } else {
            missing.push_back(each.name);
        }
    }
    // Where nothing prepared the task, all that it lacks has one cause. What a script removed from
    // a prepared one has each its own.
    if (!missing.empty()) {
        findings.insert(findings.begin(), fatal(join(missing, ", "), "not set", remedy));
    }
    return findings;
}

// What the plugin found when it prepared this task, and left in the words of container_notes().
void add_container_settings(const Environment& environment, Findings& findings) {
    const std::string marks = environment.text(container_variable);
    for (std::string_view rest = marks; !rest.empty();) {
        const std::string_view mark = take_until(rest, ' ');
        const std::string name(mark.substr(0, mark.find(':')));
        const bool exported = mark.substr(name.size()) == ":export";
        findings.push_back(warning(
            excerpt(name),
            formatted("the container sets another value than {}; '{}' is used",
                      exported ? "you exported" : "distgpu would", excerpt(environment.text(name))),
            exported ? "remove it from the image, or do not export it"
                     : "export the variable to choose, or remove it from the image"));
    }
}

std::vector<std::uint16_t> further_ports(const OwnTask& own) {
    const std::vector<std::uint16_t>& ports = own.plan.ports;
    const bool per_task = own.request.framework->port_per_task;
    const bool is_rank0 = own.task().rank == GlobalRank{0};
    if (per_task == is_rank0 || ports.empty()) return {};
    if (per_task) return {ports[own.place.local.value]};
    return {ports.begin() + 1, ports.end()};
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
    const std::string port = environment.text("MASTER_PORT");
    const std::uint16_t planned = own.plan.rendezvous.port;
    if (!port.empty() && port != std::to_string(planned)) {
        findings.push_back(fatal("MASTER_PORT",
                                 formatted("is {}, but port= gives {}", port, planned),
                                 "set it in only one place"));
    }
    add_container_settings(environment, findings);
    return findings;
}

Findings check_cpus(const Environment& environment, const CpuSet& cpus) {
    Findings findings;
    const auto warn = [&](const char* object, const std::string& problem, const char* remedy) {
        findings.push_back(warning(object, problem, remedy));
    };
    // Who gave it is not told to give it.
    const auto asked = environment.number("SLURM_CPUS_PER_TASK");
    const bool fewer = asked && cpus.count() < *asked;
    if (fewer) {
        warn("CPUs",
             formatted("only {} of the {} that --cpus-per-task asks for", cpus.count(), *asked),
             "check --cpu-bind and what starts this program; give --cpus-per-task to srun too, "
             "which does not inherit sbatch's");
    }
    // With as many CPUs as were asked for, both would be well.
    const auto threads = environment.number("OMP_NUM_THREADS");
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

std::string taken_port_remedy(const OwnTask& own) {
    // A prepared task has its port in MASTER_PORT, whoever chose it.
    const bool is_derived =
        own.plan.rendezvous.port == derived_port(own.place.step, default_ports, 1);
    return std::string(taken_port_remedy(own.request.port ? PortSource::key
                                         : is_derived     ? PortSource::derived
                                                          : own.plan.rendezvous.port_source));
}

const NamedCheck ports_check{
    "ports",
    "The other ports on which the framework will listen are free on their node.",
    [](const CheckFacts& facts) { return !further_ports(*facts.own).empty(); },
    [](const CheckFacts& facts) {
        CheckResult result;
        for (const std::uint16_t port : further_ports(*facts.own)) {
            if (!is_port_taken(port)) continue;
            result.findings.push_back(
                fatal(formatted("port {} on {}", port, facts.own->plan.node_name), "already in use",
                      taken_port_remedy(*facts.own)));
        }
        return result;
    },
};

}  // namespace distgpu
