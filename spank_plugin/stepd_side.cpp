// See stepd_side.h.
#include "stepd_side.h"

#include "base/format.h"
#include "carried_step.h"
#include "foreign_launcher.h"
#include "het_step.h"
#include "node/host_name.h"
#include "node/prepare_task.h"
#include "node/step_environment.h"
#include "node/task_environment.h"
#include "node/variables.h"
#include "slurm_calls.h"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

namespace distgpu {
namespace {

LocalTasks component_tasks(spank_t spank) {
    LocalTasks local{NodeIndex{item(spank, S_JOB_NODEID).value_or(0)}, {}};
    const std::uint32_t count = item(spank, S_JOB_LOCAL_TASK_COUNT).value_or(0);
    for (std::uint32_t id = 0; id < count; ++id) {
        std::uint32_t task = 0;
        if (spank_get_item(spank, S_JOB_LOCAL_TO_GLOBAL_ID, id, &task) == ESPANK_SUCCESS) {
            local.tasks.push_back(TaskId{task});
        }
    }
    return local;
}

void tell(const std::string& line) {
    slurm_spank_log("%s", line.c_str());
}

// For dry-run. One write, so that the tasks' texts do not mix.
[[noreturn]] void print_and_end(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
        if (written <= 0) _exit(EXIT_FAILURE);
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    _exit(EXIT_SUCCESS);
}

}  // namespace

Outcome StepdSide::options_read(spank_t spank, const OptionState& option,
                                std::span<const char* const> arguments) {
    const auto step = item(spank, S_JOB_STEPID);
    if (!step || is_special_step(*step)) return Outcome::ok;
    auto spec = step_variable(spank, spec_variable);
    if (spec && spec->empty()) spec.reset();
    if (!spec && !option.spec) return Outcome::ok;
    if (is_foreign_launcher(program_arguments(spank))) {
        // mpirun's daemon hands its environment on to the ranks.
        StepVariables variables(spank);
        remove_request(variables);
        return Outcome::ok;
    }
    read_step(spank, *step);
    spec_ = spec ? *spec : *option.spec;
    auto request = parse_spec(spec ? spec_variable : "--distgpu", spec_);
    if (!request) {
        fail(request.error(), Teller::first_node);
        return Outcome::ok;
    }
    request_ = *std::move(request);
    if (request_.framework == nullptr) return Outcome::ok;
    arguments_ = parse_plugstack_arguments(arguments);
    for (const std::string& complaint : arguments_.complaints) slurm_error("%s", complaint.c_str());
    take_defaults(request_, arguments_);
    resolve_layout(spank);
    if (layout_) {
        collect_rendezvous_facts(spank);
        collect_addresses();
    }
    return Outcome::ok;
}

void StepdSide::read_step(spank_t spank, std::uint32_t step) {
    step_ = step;
    job_ = item(spank, S_JOB_ID).value_or(0);
    component_tasks_ = component_tasks(spank);
    const auto tasks = item(spank, S_JOB_TOTAL_TASK_COUNT);
    const auto step_tasks = step_number(spank, "SLURM_STEP_NUM_TASKS");
    heterogeneous_ = tasks && step_tasks && *tasks != *step_tasks;
}

// Takes the layout that srun sent. False where it sent none for this step, and
// the nodes have to find it themselves.
bool StepdSide::take_carried(spank_t spank) {
    const auto text = step_variable(spank, carried_variable);
    if (!text) return false;
    auto carried = decode(*text);
    if (!carried) {
        fail(carried.error(), Teller::first_node);
        return true;
    }
    if (!*carried || (*carried)->job != job_ || (*carried)->step != step_) return false;
    CarriedStep& step = **carried;
    user_bound_ = step.cpu_bind;
    if (step.refused) {
        fail({"step", "refused by srun", ""}, Teller::srun);
        return true;
    }
    // What srun knows of a heterogeneous step is one component of it.
    if (heterogeneous_) return false;
    facts_.rank0_address = step.rank0_address;
    if (!step.layout) return false;
    if (auto mismatch = check_layout(*step.layout, component_tasks_)) {
        fail(*std::move(mismatch), Teller::this_node);
        return true;
    }
    layout_ = std::move(step.layout);
    step_facts_.node_addresses = std::move(step.node_addresses);
    return true;
}

// Derives the layout from the step's environment. False where that does not
// hold it, or holds something else than Slurm started.
bool StepdSide::take_derived(spank_t spank) {
    if (heterogeneous_) return false;
    const auto variable = [spank](const char* name) {
        return step_variable(spank, name).value_or("");
    };
    auto derived =
        derive_layout({variable("SLURM_STEP_NODELIST"), variable("SLURM_STEP_TASKS_PER_NODE"),
                       variable("SLURM_DISTRIBUTION"), variable("SLURM_DIST_PLANESIZE")});
    if (!derived || !*derived || check_layout(**derived, component_tasks_)) return false;
    layout_ = *std::move(derived);
    return true;
}

void StepdSide::ask_slurmctld(spank_t spank) {
    auto asked = heterogeneous_ ? query_het_layout(spank, job_, step_)
                                : query_layout(job_, step_, std::nullopt);
    if (!asked) {
        fail(asked.error(), Teller::first_node);
        return;
    }
    if (!heterogeneous_) {
        if (auto mismatch = check_layout(*asked, component_tasks_)) {
            fail(*std::move(mismatch), Teller::this_node);
            return;
        }
    }
    layout_ = *std::move(asked);
}

void StepdSide::resolve_layout(spank_t spank) {
    if (!take_carried(spank) && !take_derived(spank)) ask_slurmctld(spank);
}

void StepdSide::collect_rendezvous_facts(spank_t spank) {
    // SLURM_JOB_ID is the leader's in every component of a heterogeneous job.
    const auto leader = heterogeneous_ ? step_number(spank, "SLURM_JOB_ID") : std::nullopt;
    // S_SLURM_RESTART_COUNT is 0 in a step of a requeued job (22.05); the batch
    // script's variable, which srun passes on, is right.
    facts_.step = {leader.value_or(job_), step_,
                   step_number(spank, "SLURM_RESTART_COUNT").value_or(0)};
    const StepVariables variables(spank);
    facts_.exported_address = exported(variables, "MASTER_ADDR");
    facts_.exported_port = exported(variables, "MASTER_PORT");
    // A heterogeneous step has the union of its components' ports, and one of
    // those may not be reserved on rank 0's node.
    if (!heterogeneous_) facts_.reserved_ports = step_variable(spank, "SLURM_STEP_RESV_PORTS");
    facts_.derived_ports = arguments_.ports;
    facts_.default_master = arguments_.master;
    step_facts_.cpus_per_node = step_variable(spank, "SLURM_JOB_CPUS_PER_NODE").value_or("");
    step_facts_.job_name = step_variable(spank, "SLURM_JOB_NAME").value_or("");
}

// What srun did not send, from slurm.conf.
void StepdSide::collect_addresses() {
    const HostList& hosts = layout_->hosts();
    if (facts_.rank0_address.empty()) {
        facts_.rank0_address = configured_node_address(hosts.name(rank0_node(*layout_)));
    }
    own_address_ =
        configured_node_address(heterogeneous_ ? host_name() : hosts.name(component_tasks_.node));
    if (request_.framework->names_all_nodes && step_facts_.node_addresses.empty()) {
        step_facts_.node_addresses = configured_node_addresses(hosts);
    }
}

// In a heterogeneous step, whose components SPANK numbers apart: rank 0's node is
// the one of that name that holds the leader's first task.
bool StepdSide::runs_rank0(spank_t spank) const {
    return step_number(spank, "SLURM_JOB_ID") == job_ && !component_tasks_.tasks.empty() &&
           component_tasks_.tasks.front() == TaskId{0} &&
           layout_->hosts().name(rank0_node(*layout_)) == host_name();
}

// What would fail in the tasks is found here, where the step can still be ended.
void StepdSide::check_plan(spank_t spank) {
    const NodeIndex node = heterogeneous_ ? rank0_node(*layout_) : component_tasks_.node;
    const auto node_plan =
        plan(request_, Step{*layout_, step_facts_, facts_}, NodeFacts{.node = node});
    if (!node_plan) {
        fail(node_plan.error(), Teller::first_node);
    } else if (!heterogeneous_ || runs_rank0(spank)) {
        if (auto taken = check_ports(*node_plan, node_plan->ports, tell)) {
            fail(*std::move(taken), Teller::this_node);
        }
    }
}

Outcome StepdSide::before_tasks(spank_t spank) {
    if (!active()) return Outcome::ok;
    if (!failure_) check_plan(spank);
    if (!failure_) {
        binding_.before_tasks(spank, request_, arguments_, component_tasks_.tasks.size(),
                              own_address_);
        return Outcome::ok;
    }
    if (failure_->teller == Teller::srun) return Outcome::ok;
    if (failure_->teller == Teller::first_node && component_tasks_.node != NodeIndex{0}) {
        return Outcome::ok;
    }
    slurm_error("%s", failure_->error.message().c_str());
    return Outcome::ok;
}

Outcome StepdSide::task_forked(spank_t spank) {
    if (active() && !failure_) binding_.task_forked(spank);
    return Outcome::ok;
}

Outcome StepdSide::in_task(spank_t spank) {
    if (!active()) return Outcome::ok;
    // This is the task's own process: ending it keeps Slurm from adding two
    // lines per task about a plugin that failed.
    if (failure_ || prepare(spank) == Outcome::refused) _exit(EXIT_FAILURE);
    return Outcome::ok;
}

NodeFacts StepdSide::node_facts(spank_t spank, LocalId local) const {
    NodeFacts facts = read_node_facts(StepVariables(spank));
    facts.cpus_per_task = item(spank, S_STEP_CPUS_PER_TASK).value_or(0);
    facts.address = own_address_;
    facts.user_bound = user_bound_;
    binding_.add_to(facts, spank, local.value);
    return facts;
}

Outcome StepdSide::prepare(spank_t spank) const {
    const auto task = step_number(spank, "SLURM_PROCID");
    const auto node = step_number(spank, "SLURM_NODEID");
    const auto local = step_number(spank, "SLURM_LOCALID");
    if (!task || !node || !local || *local >= component_tasks_.tasks.size()) {
        slurm_error(
            "distgpu: SLURM_PROCID, SLURM_NODEID or SLURM_LOCALID: not set by Slurm; run "
            "again without --distgpu");
        return Outcome::refused;
    }
    // Slurm sets these three over whatever was inherited. What they are ahead
    // of SPANK's own numbers is the share of the components before this one.
    const std::uint32_t offset = *task - component_tasks_.tasks[*local].value;
    LocalTasks started{NodeIndex{*node}, {}};
    for (const TaskId id : component_tasks_.tasks) started.tasks.push_back({id.value + offset});
    if (const auto mismatch = check_layout(*layout_, started)) {
        slurm_error("%s", mismatch->message().c_str());
        return Outcome::refused;
    }
    NodeFacts facts = node_facts(spank, LocalId{*local});
    facts.node = started.node;
    const auto node_plan = plan(request_, Step{*layout_, step_facts_, facts_}, facts);
    if (!node_plan) {
        slurm_error("%s", node_plan.error().message().c_str());
        return Outcome::refused;
    }
    StepVariables variables(spank);
    TaskProcess process{variables, tell};
    const auto prepared =
        prepare_task({request_, *layout_, facts, *node_plan, LocalId{*local}}, spec_, process);
    if (!prepared) {
        slurm_error("%s", prepared.error().message().c_str());
        return Outcome::refused;
    }
    if (!prepared->empty()) print_and_end(*prepared);
    return Outcome::ok;
}

Outcome StepdSide::after_tasks(spank_t /*spank*/) const {
    // The tasks of this node are gone, those of the others wait for them: with
    // KillOnBadExit=0 they would wait for ever.
    if (failure_) end_step(job_, step_);
    return Outcome::ok;
}

}  // namespace distgpu
