#include "base/exit_code.h"
#include "base/format.h"
#include "base/io/socket.h"
#include "mapping/layout/layout_text.h"
#include "mapping/plan/plan.h"
#include "mapping/spec/parse_spec.h"
#include "meet/munge.h"
#include "node/discovery/discover.h"
#include "node/machine.h"
#include "node/nvidia_driver.h"
#include "node/own_task.h"
#include "node/process_environment.h"
#include "node/step_variables.h"
#include "self_test/probe.h"
#include "slurm/slurm_command.h"
#include "slurm/step_query.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

namespace distgpu {
namespace {

using namespace std::chrono_literals;
using State = ProbeResult::State;

ProbeResult system_probe(Deadline /*deadline*/) {
    utsname system{};
    uname(&system);
    return {State::ok, formatted("{} {} on {}, C library {}", system.sysname, system.release,
                                 system.machine, gnu_get_libc_version())};
}

// The numbers follow from the rules of a block distribution.
ProbeResult plan_probe(Deadline /*deadline*/) {
    const auto request = parse_spec("SPEC", "pytorch,port=29500");
    const auto layout = parse_layout({.nodelist = "node[01-02]", .tasks_per_node = "4"});
    if (!request || !layout) return {State::failed, "a plain step cannot be read"};
    const auto planned = plan(*request, Step{*layout, {}}, NodeFacts{.node = NodeIndex{1}});
    if (!planned) return {State::failed, planned.error().message()};
    const auto& set = planned->tasks.at(1).set;
    const auto has = [&](const char* name, const char* value) {
        return std::find(set.begin(), set.end(),
                         std::pair<std::string, std::string>(name, value)) != set.end();
    };
    const bool right = has("RANK", "5") && has("LOCAL_RANK", "1") && has("WORLD_SIZE", "8") &&
                       has("MASTER_ADDR", "node01") && has("MASTER_PORT", "29500");
    const auto refused = parse_spec("SPEC", "pytroch");
    if (!right || refused) return {State::failed, "a plain step is planned wrongly"};
    return {State::ok, "2 nodes with 4 tasks each are planned as they should be"};
}

ProbeResult network_probe(Deadline deadline) {
    const auto listener = listen_on(0);
    if (!listener) return {State::failed, listener.error().message()};
    const auto client = connect_to("127.0.0.1", port_of(*listener), deadline);
    if (!client) return {State::failed, client.error().message()};
    return {State::ok, "a process can listen here and be reached by 127.0.0.1"};
}

std::string devices_text(const NodeTopology& node) {
    std::size_t ports = 0;
    for (const Hca& hca : node.hcas) ports += hca.ports.size();
    return formatted("{} in {}, {}, {} with {}", counted(node.cores.size(), "core"),
                     counted(node.numas.size(), "NUMA node"), counted(node.gpus.size(), "GPU"),
                     counted(node.hcas.size(), "HCA"), counted(ports, "port"));
}

// A driver may keep a process that looks at its devices.
ProbeResult devices_probe(Deadline deadline) {
    const auto node = within(deadline, [] { return discover(); });
    if (!node) return {State::failed, "looking at the devices did not end"};
    if (!*node) return {State::failed, node->error().message()};
    return {State::ok, devices_text(**node)};
}

ProbeResult driver_probe(Deadline /*deadline*/) {
    if (!drives_gpus(MachineRoots{}.proc)) return {State::absent, "no GPU of NVIDIA's driver"};
    void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) {
        return {State::failed,
                "the kernel has GPUs, but libcuda.so.1 cannot be loaded; in a "
                "container, start it with its GPU support"};
    }
    dlclose(library);
    return {State::ok, "libcuda.so.1 can be loaded"};
}

ProbeResult slurm_probe(Deadline /*deadline*/) {
    const auto version = run_slurm_command(ProcessEnvironment(), {"srun", "--version"}, 2s);
    if (!version) {
        return {State::absent, formatted("srun --version: {}", version.error().problem)};
    }
    return {State::ok, version->substr(0, version->find('\n'))};
}

ProbeResult plugin_probe(Deadline /*deadline*/) {
    const auto help = run_slurm_command(ProcessEnvironment(), {"srun", "--help"}, 2s);
    if (help && help->find("--distgpu") != std::string::npos) {
        return {State::ok, "srun has --distgpu=MODE"};
    }
    return {State::absent, "srun has no --distgpu: write srun ... distgpu exec MODE -- PROGRAM"};
}

ProbeResult step_probe(Deadline /*deadline*/) {
    const ProcessEnvironment environment;
    const auto place = find_place(environment, host_name(), ask_slurm(environment));
    if (!place) return {State::failed, place.error().message()};
    if (place->launcher == Launcher::none) return {State::absent, "this is no task of a step"};
    const StepLayout& layout = place->layout;
    const GlobalRank rank = layout.rank(place->node, place->local);
    return {State::ok, formatted("rank {} of {} on {}, started by {}", rank.value,
                                 layout.task_count(), host_name(), name_of(place->launcher))};
}

ProbeResult munge_probe(Deadline deadline) {
    const auto credential = within(deadline, [] { return munge_encode("self-test"); });
    if (credential && *credential) return {State::ok, "answers"};
    return {State::absent,
            "does not answer: distgpu check believes reports only where the plugin prepared the "
            "step"};
}

}  // namespace

std::span<const Probe> all_probes() {
    static constexpr std::array probes{
        Probe{"system", system_probe},   Probe{"plan", plan_probe},
        Probe{"network", network_probe}, Probe{"devices", devices_probe},
        Probe{"driver", driver_probe},   Probe{"slurm", slurm_probe},
        Probe{"plugin", plugin_probe},   Probe{"step", step_probe},
        Probe{"munge", munge_probe},
    };
    return probes;
}

}  // namespace distgpu
