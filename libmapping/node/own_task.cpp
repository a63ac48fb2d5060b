// See own_task.h.
#include "node/own_task.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "mapping/frameworks/framework.h"
#include "node/task_environment.h"
#include "slurm/rank_order.h"

#include <array>
#include <string>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

// What the launcher does not tell, and the user has to.
std::optional<Error> unknown_nodes(const Request& request, const Place& place,
                                   const Environment& environment) {
    if (place.knows_hosts) return std::nullopt;
    const std::string launcher(name_of(place.launcher));
    if (request.framework->names_all_nodes) {
        return Error{option_of(request),
                     formatted("TF_CONFIG names every node, but {} does not name them", launcher),
                     "start it with srun"};
    }
    const bool given = request.master && request.master->form == Master::Form::host;
    if (given || exported(environment, "MASTER_ADDR")) return std::nullopt;
    return Error{"MASTER_ADDR", formatted("{} does not say which node runs rank 0", launcher),
                 "give the key master=HOST, or export MASTER_ADDR"};
}

// Of a task that is prepared already, as it was prepared; else as the user exported it.
std::optional<std::string> rendezvous_variable(const Environment& environment, const char* name) {
    if (!prepared_spec(environment)) return exported(environment, name);
    auto value = environment.get(name);
    return value && !value->empty() ? value : std::nullopt;
}

RendezvousFacts rendezvous_facts(const Environment& environment, const Place& place) {
    RendezvousFacts facts;
    facts.step = place.step;
    facts.rank0_address = place.rank0_address;
    facts.exported_address = rendezvous_variable(environment, "MASTER_ADDR");
    facts.exported_port = rendezvous_variable(environment, "MASTER_PORT");
    if (place.launcher == Launcher::slurm) {
        facts.reserved_ports = environment.get("SLURM_STEP_RESV_PORTS");
    }
    return facts;
}

StepFacts step_facts(const Environment& environment, const Place& place,
                     const std::vector<std::string>& program) {
    StepFacts facts;
    facts.program = program;
    if (place.launcher == Launcher::slurm) {
        facts.mpi_type = environment.get("SLURM_MPI_TYPE").value_or("");
    }
    facts.cpus_per_node = environment.get("SLURM_JOB_CPUS_PER_NODE").value_or("");
    facts.job_name = environment.get("SLURM_JOB_NAME").value_or("");
    return facts;
}

Step step_of(const Environment& environment, const Place& place,
             const std::vector<std::string>& program) {
    return {place.layout, step_facts(environment, place, program),
            rendezvous_facts(environment, place)};
}

}  // namespace

std::string own_command() {
    std::array<char, 4096> path{};
    const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
    return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : "distgpu";
}

std::optional<Error> refused(const Request& request, const Place& place,
                             const Environment& environment,
                             const std::vector<std::string>& program) {
    if (auto error = unknown_nodes(request, place, environment)) return error;
    return refusal(request, step_of(environment, place, program));
}

Result<std::string> order_nodes(const Request& request, Place& place,
                                const Environment& environment) {
    if (!reorders(request) || !place.layout.order().empty()) return std::string{};
    const std::string key = formatted("order={}", excerpt(to_string(*request.order)));
    if (!place.knows_hosts) {
        return Error{key, formatted("{} does not name the nodes", name_of(place.launcher)),
                     "start it with srun"};
    }
    if (request.order->source == RankOrder::Source::switches &&
        place.layout.task_count() > most_asking_tasks) {
        return Error{key,
                     formatted("at most {} tasks may ask slurmctld, but the step has {}",
                               most_asking_tasks, place.layout.task_count()),
                     "name the nodes in a file (order=./FILE), or use srun --distgpu"};
    }
    return read_order_list(*request.order, environment)
        .and_then([&](const HostList& list) {
            return put_in_order(*request.order, list, place.layout, environment);
        })
        .transform([&](OrderedLayout ordered) {
            place.layout = std::move(ordered.layout);
            return std::move(ordered.text);
        });
}

Result<OwnTask> plan_own_task(Request request, Place place, const Environment& environment,
                              const std::vector<std::string>& program) {
    OwnNode node = find_own_node(environment, request, place, own_command());
    return plan(request, step_of(environment, place, program), node.facts)
        .transform([&](NodePlan planned) {
            return OwnTask{std::move(request), std::move(place), std::move(node),
                           std::move(planned)};
        });
}

}  // namespace distgpu
