#include "node/prepare_task.h"

#include "base/format.h"
#include "base/io/write.h"
#include "mapping/frameworks/framework.h"
#include "mapping/texts/announcement.h"
#include "mapping/texts/bound_record.h"
#include "mapping/texts/variables.h"
#include "node/port_check.h"
#include "node/task_environment.h"

#include <algorithm>
#include <unistd.h>
#include <variant>

namespace distgpu {
namespace {

void narrow_cpus(const PlannedTask& task, const TaskProcess& process) {
    const auto& binding = task.task().binding;
    if (!binding || binding->cpus == task.facts.share.masks[task.local.value]) return;
    if (process.restrict_to(binding->cpus)) return;
    process.tell(formatted("distgpu: rank {}: the kernel refused CPUs {}; they stay as they were",
                           task.task().rank.value, binding->cpus.to_string()));
}

// Not a thing that the task needs: where the environment does not take it, nobody is told.
void record_binding(const PlannedTask& task, Environment& environment) {
    KernelCpuSet cpus{};
    const bool is_known = read_affinity(0, cpus);
    environment.set(bound_variable,
                    bound_text(is_known ? CpuSet::from_words(cpus) : CpuSet{}, task.facts));
}

std::string named_port(std::uint16_t port, const NodePlan& plan) {
    return formatted("port {} (from {}) on {}", port, source_of_port(plan.rendezvous),
                     plan.node_name);
}

std::string claimed_port_remedy(PortSource source) {
    switch (source) {
        case PortSource::key:
            return "give each step a port of its own, or leave port= out";
        case PortSource::exported:
            return "export another MASTER_PORT for each step, or unset it";
        default:
            return std::string(taken_port_remedy(source));
    }
}

}  // namespace

std::vector<std::uint16_t> ports_of(const PlannedTask& task) {
    const std::vector<std::uint16_t>& ports = task.plan.ports;
    if (task.request.framework->ports_on_all_nodes) return ports;
    if (task.request.framework->port_per_task) return {ports[task.local.value]};
    return task.task().rank == GlobalRank{0} ? ports : std::vector<std::uint16_t>{};
}

std::optional<Error> check_ports(const NodePlan& plan, std::span<const std::uint16_t> ports,
                                 std::vector<Error>& warnings) {
    const auto is_taken = [](std::uint16_t port) { return check_port(port) == PortState::taken; };
    const auto port = std::find_if(ports.begin(), ports.end(), is_taken);
    if (port == ports.end()) return std::nullopt;
    const bool is_exported = plan.rendezvous.port_source == PortSource::exported;
    Error taken{named_port(*port, plan), "already in use",
                std::string(taken_port_remedy(plan.rendezvous.port_source))};
    if (!is_exported) return taken;
    warnings.push_back(std::move(taken));
    return std::nullopt;
}

std::optional<Error> claim_ports(const NodePlan& plan, std::span<const std::uint16_t> ports,
                                 const std::string& step, PortClaims& claims) {
    for (const std::uint16_t port : ports) {
        if (const auto holder = claims.take(port, step)) {
            return Error{named_port(port, plan), formatted("{} has it", *holder),
                         claimed_port_remedy(plan.rendezvous.port_source)};
        }
    }
    return std::nullopt;
}

void show_on_stderr(const std::string& lines) {
    static_cast<void>(write_all(STDERR_FILENO, lines + '\n'));
}

Result<std::string> prepare_task(const PlannedTask& task, std::string_view spec,
                                 TaskProcess& process) {
    Announcement said = announcement(task.request, task.layout, task.facts, task.plan, task.local,
                                     task.told_by_srun, task.first_of_component);
    if (!said.table.empty()) process.show(said.table);
    for (const std::string& line : said.lines) process.tell(line);
    if (!said.dry_run.empty()) return std::move(said.dry_run);
    narrow_cpus(task, process);
    record_binding(task, process.environment);
    return set_task_environment(process.environment, spec, task.plan, task.local)
        .transform([](std::monostate) { return std::string{}; });
}

}  // namespace distgpu
