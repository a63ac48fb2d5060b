#include "srun_side.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/plan/plan.h"
#include "mapping/rendezvous/rendezvous.h"
#include "mapping/spec/misplaced_option.h"
#include "mapping/spec/parse_spec.h"
#include "mapping/texts/plan_text.h"
#include "mapping/texts/variables.h"
#include "node/machine.h"
#include "node/step_variables.h"
#include "node/task_environment.h"
#include "slurm_calls.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace distgpu {
namespace {

// slurmstepd writes the container's config.json before it calls task_init, so what is set there
// never arrives.
constexpr bool containers_are_set_up_early = SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0);

// Empty: unsets it.
void set_or_remove(const char* variable, const std::string& value) {
    if (value.empty()) {
        unsetenv(variable);
    } else {
        setenv(variable, value.c_str(), 1);
    }
}

// Every node would refuse it, when the step has started. What --export changes, the nodes see.
std::optional<Error> bad_exported_port(const Request& request,
                                       const std::vector<std::string>& command_line,
                                       const SlurmOptions& options) {
    const bool arrives = hands_on_environment(options, own_variable("SLURM_EXPORT_ENV"));
    if (request.port || !arrives || starts_foreign_launcher(command_line)) return std::nullopt;
    const auto text = exported(ProcessEnvironment(), "MASTER_PORT");
    if (!text) return std::nullopt;
    const auto port = parse_port("MASTER_PORT", *text);
    return port ? std::nullopt : std::optional(port.error());
}

// Where a node lacks the plugin, its tasks would each train alone and end well: this is in the way
// of their rendezvous, in every component of a heterogeneous step. What an outer step's distgpu
// gave is no better there. mpirun's daemons, which would hand on to their ranks what they get, and
// the shell of salloc are not prepared.
void send_address(const Framework& framework, const std::vector<std::string>& command_line,
                  const SlurmOptions& options) {
    const bool sets_address =
        std::ranges::count(framework.sets, std::string_view("MASTER_ADDR"), &SetVariable::name) > 0;
    if (!sets_address || exported(ProcessEnvironment(), "MASTER_ADDR")) return;
    if (starts_foreign_launcher(command_line) || options.has("interactive") ||
        export_sets(options, own_variable("SLURM_EXPORT_ENV"), "MASTER_ADDR")) {
        return;
    }
    setenv("MASTER_ADDR", not_loaded_address, 1);
}

// Those of `inherited` that are not between our own parts, which come last.
std::string ranks_left_behind(const std::vector<std::pair<std::string, std::string>>& inherited) {
    const auto others = std::count_if(inherited.begin() + 1, inherited.end(), [](const auto& each) {
        return !each.first.starts_with("SLURM_DISTGPU_");
    });
    const std::string prepared = own_variable(prepared_variable);
    std::string_view spec = prepared;
    const std::string_view step = take_until(spec, ' ');
    std::string what = inherited.front().first;
    if (others > 0) {
        what += formatted(" and {}", counted(static_cast<std::size_t>(others), "other variable"));
    }
    return Error{
        "this step",
        formatted("started without --distgpu in a task of step {}, whose {} it does not get",
                  excerpt(step), what),
        formatted("if it is a training, use srun --distgpu={}", excerpt(spec))}
        .message();
}

// Of a step that did not ask: a look at words that srun holds already, without a copy of them.
void tell_of_lost_option(spank_t spank) {
    int count = 0;
    char** words = nullptr;
    if (spank_get_item(spank, S_JOB_ARGV, &count, &words) != ESPANK_SUCCESS || words == nullptr) {
        return;
    }
    constexpr std::string_view option = "--distgpu=";
    const bool is_there = std::any_of(words, words + count, [option](const char* word) {
        return std::strncmp(word, option.data(), option.size()) == 0;
    });
    if (!is_there) return;
    if (const auto lost = option_behind_program(program_arguments(spank))) tell(lost->message());
}

// Of a step that asks: its mode may leave alone what that of the task around replaced.
void take_replaced_names() {
    ProcessEnvironment own;
    for (const std::string& name : inherited_ranks(own)) {
        if (name.starts_with("SLURM_")) own.unset(name);
    }
    own.unset(job_name_variable);
}

}  // namespace

void SrunSide::started() {
    ProcessEnvironment own;
    const auto jobs_name = own_job_name(own);
    const auto tasks_name = own.get(slurms_job_name);
    if (!jobs_name || jobs_name == tasks_name) return;
    tasks_job_name_ = tasks_name;
    own.set(slurms_job_name, *jobs_name);
}

Outcome SrunSide::options_read(const std::optional<std::string>& option,
                               std::span<const char* const> arguments) {
    ++components_;
    if (runs_unprepared_) return Outcome::ok;
    const std::string spec = option.value_or(own_variable(spec_variable));
    if (!option && spec.empty()) {
        take_inherited_ranks();
        return Outcome::ok;
    }
    if (spec_.value_or(spec) != spec) {
        // Slurm sends the option of the last component to all of them.
        return refuse({formatted("--distgpu={}", excerpt(spec)),
                       formatted("another component of the step has --distgpu={}", excerpt(*spec_)),
                       "give all components the same, or start them as steps of their own"});
    }
    spec_ = spec;
    auto request = parse_spec(option ? "--distgpu" : spec_variable, spec);
    if (!request) return refuse(request.error());
    request_ = *std::move(request);
    if (request_.help) return refuse(help_by_variable(spec_variable));
    if (request_.framework == nullptr) {
        unsetenv(spec_variable);
        take_inherited_ranks();
        return Outcome::ok;
    }
    const PlugstackArguments site = parse_plugstack_arguments(arguments);
    if (site.site_switch != SiteSwitch::on) return switch_off(site.site_switch, spec);
    default_order_ = site.order;
    auto list = read_order_list(request_.order.value_or(RankOrder{}), ProcessEnvironment());
    if (!list) return refuse(list.error());
    order_list_ = *std::move(list);
    const std::vector<std::string> command_line = own_command_line();
    const SlurmOptions options = srun_options(command_line);
    const auto bad_port = bad_exported_port(request_, command_line, options);
    if (bad_port) return refuse(*bad_port);
    send_ahead(spec, command_line, options);
    return Outcome::ok;
}

// Before Slurm copies the environment for each component.
void SrunSide::send_ahead(const std::string& spec, const std::vector<std::string>& command_line,
                          const SlurmOptions& options) {
    take_replaced_names();
    setenv(spec_variable, spec.c_str(), 1);
    // The tasks have it from here: of a heterogeneous step only the first component gets what
    // step_created() sets.
    if (!std::exchange(has_secret_, true)) {
        const auto secret = draw_secret();
        set_or_remove(secret_variable, secret ? secret->to_string() : "");
    }
    // In a heterogeneous step the choice of one component holds for all.
    const bool binds_cpus = chooses_cpus(options, own_variable("SLURM_CPU_BIND"));
    set_or_remove(cpu_bind_variable, binds_cpus ? "1" : "");
    send_address(*request_.framework, command_line, options);
    // Later srun sets it for an allocation of its own too.
    inherits_ntasks_ = !own_variable("SLURM_NTASKS").empty();
    allocated_nodes_ = ProcessEnvironment().number("SLURM_JOB_NUM_NODES").value_or(0);
    // A step without a reservation of its own would pass on that of the step
    // around it, whose ports are in use.
    unsetenv("SLURM_STEP_RESV_PORTS");
}

// mpirun's daemons did not ask, though their job did; the nodes know them and prepare nothing.
Outcome SrunSide::switch_off(SiteSwitch site_switch, const std::string& spec) {
    const Error told = switched_off(site_switch, spec, "on this cluster");
    request_ = Request{};
    if (starts_foreign_launcher(own_command_line())) return Outcome::ok;
    if (site_switch == SiteSwitch::refused) return refuse(told);
    runs_unprepared_ = true;
    tell(told.message());
    take_inherited_ranks();
    // The nodes take it before the option.
    setenv(spec_variable, "off", 1);
    return Outcome::ok;
}

Outcome SrunSide::step_created(spank_t spank) {
    if (!spec_) tell_of_lost_option(spank);
    if (request_.framework == nullptr) {
        if (!inherited_.empty()) judge_inherited_ranks(spank);
        return Outcome::ok;
    }
    const auto job = item(spank, S_JOB_ID);
    const auto step_id = item(spank, S_JOB_STEPID);
    const std::vector<std::string> program = program_arguments(spank);
    if (!job || !step_id || is_special_step(*step_id) || is_foreign_launcher(program)) {
        return Outcome::ok;
    }
    SentStep step;
    step.job = *job;
    step.step = *step_id;
    step.plugin_file = own_plugin_file();
    const SlurmOptions options = srun_options(own_command_line(), program.size());
    step.cpu_bind = chooses_cpus(options, own_variable("SLURM_CPU_BIND"));
    step.gpus = asked_gpus(options).value_or(0);
    // Slurm's own kind of container; pyxis's options begin with --container- and are others.
    if (containers_are_set_up_early &&
        (options.has("container") || !own_variable("SLURM_CONTAINER").empty())) {
        complain({"--container", "this release of Slurm does not let --distgpu set variables in it",
                  "use --container-image of pyxis, or start the container within the step"});
        step.refused = true;
    } else if (auto layout = query_layout(*job, *step_id, std::nullopt)) {
        // Of a heterogeneous step this is one component; its nodes find the whole.
        if (own_variable("SLURM_NTASKS") == std::to_string(layout->task_count())) {
            auto ordered = order_nodes(*std::move(layout));
            if (ordered) {
                const std::string order = ordered->text;
                add_layout(step, *std::move(ordered));
                judge(step, order, program, options);
            } else {
                complain(ordered.error());
                step.refused = true;
            }
        }
    } else {
        slurm_debug("%s", layout.error().message().c_str());
    }
    setenv(sent_variable, encode(step).c_str(), 1);
    return Outcome::ok;
}

// Each task of a step that did not ask would take itself for the one around srun. Here, because
// what is unset once the step is created reaches its tasks all the same (22.05).
void SrunSide::take_inherited_ranks() {
    ProcessEnvironment own;
    std::vector<std::string> names = inherited_ranks(own);
    if (!inherited_.empty() || (names.empty() && !tasks_job_name_)) return;
    if (tasks_job_name_) inherited_.emplace_back(slurms_job_name, *tasks_job_name_);
    names.insert(names.end(), {ranks_variable, job_name_variable});
    for (const std::string& name : names) {
        const auto value = own.get(name);
        if (value) inherited_.emplace_back(name, *value);
        own.unset(name);
    }
}

// A single task may be a helper that reads them, and mpirun's daemons get their environment from
// mpirun.
void SrunSide::judge_inherited_ranks(spank_t spank) {
    const std::uint32_t tasks = item(spank, S_JOB_TOTAL_TASK_COUNT).value_or(1);
    const bool is_single = components_ == 1 && tasks == 1;
    if (is_single || is_foreign_launcher(program_arguments(spank))) {
        ProcessEnvironment own;
        for (const auto& [name, value] : inherited_) own.set(name, value);
    } else if (!spec_) {  // who wrote off knows
        tell(ranks_left_behind(inherited_));
    }
}

// In the user's order, else in the administrator's where that can be.
Result<OrderedLayout> SrunSide::order_nodes(StepLayout layout) const {
    if (reorders(request_)) {
        return put_in_order(*request_.order, order_list_, layout, ProcessEnvironment());
    }
    const bool by_default = !request_.order && default_order_ != RankOrder{};
    if (!by_default || !request_.framework->own_ranks.empty()) {
        return OrderedLayout{std::move(layout), ""};
    }
    auto ordered = put_in_order(default_order_, {}, layout, ProcessEnvironment());
    if (ordered) return ordered;
    slurm_debug("%s", ordered.error().message().c_str());
    return OrderedLayout{std::move(layout), ""};
}

void SrunSide::add_layout(SentStep& step, OrderedLayout ordered) const {
    const HostList& hosts = ordered.layout.hosts();
    step.rank0_address = node_address(hosts.name(rank0_node(ordered.layout)));
    step.node_addresses = request_.framework->names_all_nodes ? node_addresses(hosts)
                                                              : configured_node_addresses(hosts);
    step.layout = std::move(ordered.layout);
}

// Tells what makes the step impossible, else what may not have been meant and what `verbose` wants
// before the nodes speak.
void SrunSide::judge(SentStep& step, const std::string& order, std::vector<std::string> program,
                     const SlurmOptions& options) {
    const ChosenSize chosen = chosen_size(options);
    Step known{*step.layout};
    if (options.has("ntasks")) {
        known.facts.tasks_from = TasksFrom::line;
    } else if (inherits_ntasks_) {
        known.facts.tasks_from = TasksFrom::job;
    }
    step.ntasks = known.facts.tasks_from != TasksFrom::nodes;
    step.helper =
        step.layout->task_count() == 1 && (chosen.tasks || chosen.nodes) && !options.has("distgpu");
    known.facts.mpi_type = own_variable("SLURM_MPI_TYPE");
    known.facts.cpus_per_node = own_variable("SLURM_JOB_CPUS_PER_NODE");
    known.facts.node_addresses = step.node_addresses;
    known.facts.puts_exec_in_front = has_words_in_front;
    known.facts.allocated_nodes = chosen.nodes ? 0 : allocated_nodes_;
    known.facts.size_by_default = allocated_nodes_ == 0 && chosen == ChosenSize{};
    known.rendezvous.rank0_address = step.rank0_address;
    // What --export changes, the nodes see.
    if (hands_on_environment(options, own_variable("SLURM_EXPORT_ENV"))) {
        known.rendezvous.exported_address = exported(ProcessEnvironment(), "MASTER_ADDR");
    }
    // Those of --multi-prog's file, whose text srun puts behind its name, or the one that stands on
    // the command line.
    std::vector<std::vector<std::string>> programs;
    if (program.size() > 1 && options.has("multi-prog")) programs = programs_in(program[1]);
    if (programs.empty()) programs.push_back(std::move(program));
    std::optional<std::vector<Error>> warnings;  // what holds for each of the programs
    for (std::vector<std::string>& each : programs) {
        known.facts.program = std::move(each);
        if (const auto error = refusal(request_, known)) {
            complain(*error);
            step.refused = true;
            return;
        }
        std::vector<Error> own = step_warnings(request_, known);
        if (!warnings) warnings = own;
        std::erase_if(*warnings, [&](const Error& warning) {
            return std::ranges::find(own, warning) == own.end();
        });
    }
    for (const Error& warning : *warnings) tell(warning.message());
    if ((request_.verbose || request_.dry_run) && !order.empty()) tell("distgpu: " + order);
    if (!request_.verbose || request_.dry_run) return;
    for (const std::string& line : step_lines(request_, *step.layout)) tell(line);
    ProcessEnvironment own;
    verbose_rows_.collect(own, step.layout->node_count(), step.layout->max_tasks_per_node());
}

Outcome SrunSide::step_ended() {
    verbose_rows_.finish();
    return Outcome::ok;
}

}  // namespace distgpu
