// The checks of a task's variables, its CPUs and limits, and the ports on which its program will
// listen.
#include "base/format.h"
#include "base/io/descriptor.h"
#include "base/values.h"
#include "check/checks.h"
#include "mapping/frameworks/framework.h"
#include "mapping/texts/variables.h"
#include "node/gpus.h"
#include "node/network.h"
#include "node/step_variables.h"
#include "node/task_environment.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <utility>

namespace distgpu {
namespace {

Findings check_differences(const Environment& environment, const OwnTask& own_task) {
    if (spec_without_plugin(environment)) {
        return {{Finding::Severity::fatal, missing_plugin_error(environment), "plugin"}};
    }
    const bool is_prepared = prepared_spec(environment).has_value();
    const std::string remedy =
        is_prepared
            ? "something changed it after distgpu: look for a wrapper script, a TaskProlog or "
              "a shell's start-up file"
            : formatted("start it with srun --distgpu={0}, or with distgpu exec {0}",
                        own_task.request.framework->mode);
    Findings findings;
    std::vector<std::string> missing;
    for (const Difference& each : differences_from_plan(environment, own_task.task())) {
        if (!each.planned) {
            findings.push_back(fatal(each.name, "is set, but would mislead the framework",
                                     "unset it in the script"));
        } else if (each.present) {
            findings.push_back(
                fatal(each.name, formatted("is {}, but should be {}", *each.present, *each.planned),
                      remedy));
        } else if (is_prepared) {
            findings.push_back(fatal(each.name, "not set", remedy));
        } else {
            missing.push_back(each.name);
        }
    }
    // In a task that was not prepared, all variables are missing for one reason. In a prepared one
    // each may have been removed separately.
    if (!missing.empty()) {
        findings.insert(findings.begin(), fatal(join(missing, ", "), "not set", remedy));
    }
    return findings;
}

// Adds the variables that the plugin found when it prepared this task, as container_notes() lists
// them.
void add_container_settings(const Environment& environment, Findings& findings) {
    const std::string notes = environment.text(container_variable);
    for (std::string_view rest = notes; !rest.empty();) {
        const std::string_view note = cut_until(rest, ' ');
        const std::string name(note.substr(0, note.find(':')));
        const bool is_exported = note.substr(name.size()) == ":export";
        findings.push_back(
            warning(excerpt(name),
                    formatted("the container overrides the value that {}; '{}' is used",
                              is_exported ? "you exported" : "distgpu would set",
                              excerpt(environment.text(name))),
                    is_exported ? "remove it from the image, or do not export it"
                                : "export the variable to choose, or remove it from the image"));
    }
}

// The ports besides the rendezvous port on which this task's program will listen.
std::vector<std::uint16_t> further_ports(const OwnTask& own_task) {
    const std::vector<std::uint16_t>& ports = own_task.plan.ports;
    const bool per_task = own_task.request.framework->port_per_task;
    const bool is_rank0 = own_task.task().rank == GlobalRank{0};
    if (per_task == is_rank0 || ports.empty()) return {};
    if (per_task) return {ports[own_task.place.local.value]};
    return {ports.begin() + 1, ports.end()};
}

// Why no file of shared memory can be made in the folder; nullopt if one can.
std::optional<std::string> shared_memory_problem(const std::string& folder) {
    // A file without a name goes with its descriptor.
    const UniqueFd file(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file.is_open()) return std::strerror(errno);
    // Docker's default is 64 MiB; NCCL takes about 10 MiB for two ranks of a node.
    constexpr std::uint64_t min_free = std::uint64_t{16} << 20U;
    struct statvfs system {};
    if (fstatvfs(file.fd(), &system) != 0) return std::nullopt;
    const std::uint64_t free = std::uint64_t{system.f_bavail} * system.f_frsize;
    if (system.f_blocks == 0 || free >= min_free) return std::nullopt;  // 0: without a limit
    return formatted("only {} MiB are free", free >> 20U);
}

}  // namespace

Error missing_plugin_error(const Environment& environment) {
    const std::string file = read_sent_step(environment).plugin_file;
    const std::string line =
        file.empty() ? "the line of spank_distgpu.so" : formatted("'required {}'", file);
    return {"plugin", "srun asked for distgpu, but this node's slurmd did not load its plugin",
            formatted("ask the administrator to add {} to plugstack.conf there, or to find in "
                      "slurmd's log why it was not loaded",
                      line)};
}

Findings check_variables(const Environment& environment, const OwnTask& own_task) {
    Findings findings = check_differences(environment, own_task);
    const std::string port = environment.text("MASTER_PORT");
    const std::uint16_t planned = own_task.plan.rendezvous.port;
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
    // A user who gave --cpus-per-task is not advised to give it.
    const auto requested = environment.number("SLURM_CPUS_PER_TASK");
    const bool has_fewer = requested && cpus.count() < *requested;
    if (has_fewer) {
        warn("CPUs",
             formatted("only {} of the {} that --cpus-per-task asks for", cpus.count(), *requested),
             "check --cpu-bind and what starts this program; give --cpus-per-task to srun too, "
             "which does not inherit sbatch's");
    }
    // With the requested CPUs, the next two might be fine.
    const auto threads = environment.number("OMP_NUM_THREADS");
    if (threads && *threads > cpus.count() && !(has_fewer && *threads <= *requested)) {
        warn("OMP_NUM_THREADS",
             formatted("{} for {}", counted(*threads, "thread"), counted(cpus.count(), "CPU")),
             requested ? "export a smaller value, or give a larger --cpus-per-task"
                       : "export a smaller value, or use srun --cpus-per-task=N");
    }
    if (cpus.count() == 1 && !has_fewer && !gpu_variables(environment).empty()) {
        warn("CPUs", "only one for a process with a GPU",
             requested ? "give a larger --cpus-per-task" : "use srun --cpus-per-task=N");
    }
    return findings;
}

const NamedCheck variables_check{
    "variables",
    "The task's variables are set, its ranks and sizes match Slurm's, and no variable is left that "
    "would mislead the framework.",
    applies_always,
    [](const CheckFacts& facts) {
        return CheckResult{check_variables(*facts.environment, *facts.own_task)};
    },
};

const NamedCheck cpus_check{
    "cpus",
    "The task's CPUs are enough for --cpus-per-task, for OMP_NUM_THREADS and for its GPU.",
    [](const CheckFacts& facts) { return !facts.cpus.empty(); },
    [](const CheckFacts& facts) { return CheckResult{check_cpus(*facts.environment, facts.cpus)}; },
};

Findings check_limits(std::uint64_t open_files, const MachineRoots& roots) {
    Findings findings;
    // For each peer the frameworks keep several connections; Python alone opens dozens of files.
    constexpr std::uint64_t min_open_files = 256;
    if (open_files < min_open_files) {
        findings.push_back(
            fatal("open files",
                  formatted("limited to {}, but NCCL and data loaders need more", open_files),
                  "raise it with ulimit -n in the script, or ask the "
                  "administrator for a higher LimitNOFILE of slurmd"));
    }
    const std::string shared = roots.dev + "/shm";
    const auto problem = shared_memory_problem(shared);
    if (problem) {
        findings.push_back(fatal(shared,
                                 formatted("{}; ranks of a node and data loaders exchange data "
                                           "there",
                                           *problem),
                                 "remove what earlier jobs have left in it, or ask the "
                                 "administrator to mount it with more space"));
    }
    return findings;
}

const NamedCheck limits_check{
    "limits",
    "The task may open enough files, and /dev/shm has room for the ranks' shared memory.",
    applies_always,
    [](const CheckFacts& /*facts*/) {
        rlimit files{};
        const bool is_known = getrlimit(RLIMIT_NOFILE, &files) == 0;
        return CheckResult{
            check_limits(is_known ? files.rlim_cur : std::numeric_limits<std::uint64_t>::max())};
    },
};

std::string port_in_use_remedy(const OwnTask& own_task) {
    // A prepared task has its port in MASTER_PORT, whoever chose it.
    const bool is_derived =
        own_task.plan.rendezvous.port == derived_port(own_task.place.step, default_ports, 1);
    return std::string(port_in_use_remedy(own_task.request.port ? PortSource::key
                                          : is_derived          ? PortSource::derived
                                                       : own_task.plan.rendezvous.port_source));
}

const NamedCheck ports_check{
    "ports",
    "The other ports on which the framework will listen are free on their node.",
    [](const CheckFacts& facts) { return !further_ports(*facts.own_task).empty(); },
    [](const CheckFacts& facts) {
        CheckResult result;
        for (const std::uint16_t port : further_ports(*facts.own_task)) {
            if (!is_port_taken(port)) continue;
            result.findings.push_back(
                fatal(formatted("port {} on {}", port, facts.own_task->plan.node_name),
                      "already in use", port_in_use_remedy(*facts.own_task)));
        }
        return result;
    },
};

}  // namespace distgpu
