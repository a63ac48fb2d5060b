#include "srun_side.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/frameworks/launchers.h"
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
#include "step_reports.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace distgpu {
namespace {

// slurmstepd writes the container's config.json before it calls task_init, so variables set there
// never arrive.
constexpr bool containers_are_set_up_early = SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0);

// Unsets the variable if `value` is empty.
void set_or_unset(const char* variable, const std::string& value) {
    if (value.empty()) {
        unsetenv(variable);
    } else {
        setenv(variable, value.c_str(), 1);
    }
}

// Refuses the port that every node would refuse once the step has started. Only the nodes see
// changes by --export.
std::optional<Error> bad_exported_port(const Request& request,
                                       const std::vector<std::string>& command_line,
                                       const SlurmOptions& options) {
    const bool is_passed_on =
        passes_full_environment(options, process_variable("SLURM_EXPORT_ENV"));
    if (request.port || !is_passed_on || starts_mpi_daemon(command_line)) return std::nullopt;
    const auto text = exported(ProcessEnvironment(), "MASTER_PORT");
    if (!text) return std::nullopt;
    const auto port = parse_port("MASTER_PORT", *text);
    return port ? std::nullopt : std::optional(port.error());
}

// Sends a MASTER_ADDR that is not a host, in every component of a heterogeneous step: otherwise the
// tasks of a node that lacks the plugin would each train alone and exit successfully. Replaces an
// outer step's value, which is no better there. Not for mpirun's daemons, which would pass it on to
// their ranks, or for salloc's shell, because distgpu does not prepare these.
void set_placeholder_address(const Framework& framework,
                             const std::vector<std::string>& command_line,
                             const SlurmOptions& options) {
    const bool sets_address =
        std::ranges::count(framework.sets, std::string_view("MASTER_ADDR"), &SetVariable::name) > 0;
    if (!sets_address || exported(ProcessEnvironment(), "MASTER_ADDR")) return;
    if (starts_mpi_daemon(command_line) || options.has("interactive") ||
        export_sets(options, process_variable("SLURM_EXPORT_ENV"), "MASTER_ADDR")) {
        return;
    }
    setenv("MASTER_ADDR", not_loaded_address, 1);
}

// The warning about `inherited` variables; does not count distgpu's own, which come last.
std::string inherited_ranks_warning(
    const std::vector<std::pair<std::string, std::string>>& inherited) {
    const auto others = std::count_if(inherited.begin() + 1, inherited.end(), [](const auto& each) {
        return !each.first.starts_with("SLURM_DISTGPU_");
    });
    const std::string prepared = process_variable(prepared_variable);
    std::string_view spec = prepared;
    const std::string_view step = cut_until(spec, ' ');
    std::string names = inherited.front().first;
    if (others > 0) {
        names += formatted(" and {}", counted(static_cast<std::size_t>(others), "other variable"));
    }
    return Error{
        "this step",
        formatted("started without --distgpu in a task of step {}, so it does not inherit {}",
                  excerpt(step), names),
        formatted("if it trains, use srun --distgpu={}", excerpt(spec))}
        .message();
}

// `distgpu check`, also behind a wrapper script, prints why it fails.
bool reports_own_failure(std::span<const std::string> program) {
    return std::ranges::adjacent_find(program, [](const auto& word, const auto& next) {
               return file_name(word) == "distgpu" && next == "check";
           }) != program.end();
}

// For a step that requests distgpu: removes Slurm's variables that the outer task's mode replaced,
// because the step's own mode may not set them.
void remove_replaced_variables() {
    ProcessEnvironment own;
    for (const std::string& name : inherited_rank_variables(own)) {
        if (name.starts_with("SLURM_")) own.unset(name);
    }
    own.unset(job_name_variable);
}

}  // namespace

std::string command_path(const PlugstackArguments& site) {
    return site.command.empty() ? DISTGPU_COMMAND : site.command;
}

Outcome SrunSide::on_init() {
    ProcessEnvironment own;
    if (const auto inherited = own.get(inherited_variable)) {
        if (!own.get(spec_variable)) own.set(spec_variable, *inherited);
        own.unset(inherited_variable);
    }
    const auto job_name = original_job_name(own);
    const auto current_name = own.get(slurm_job_name_variable);
    if (!job_name || job_name == current_name) return Outcome::ok;
    task_job_name_ = current_name;
    own.set(slurm_job_name_variable, *job_name);
    return Outcome::ok;
}

Outcome SrunSide::on_init_post_opt(const std::optional<std::string>& option,
                                   std::span<const char* const> arguments,
                                   std::uint32_t components) {
    components_ = components;
    if (runs_unprepared_) return Outcome::ok;
    const std::string spec = option.value_or(process_variable(spec_variable));
    if (!option && spec.empty()) {
        remove_inherited_ranks();
        return Outcome::ok;
    }
    if (spec_.value_or(spec) != spec) {
        // Slurm sends the option of the last component to all of them.
        return refuse({formatted("--distgpu={}", excerpt(spec)),
                       formatted("another component of the step has --distgpu={}", excerpt(*spec_)),
                       "give all components the same value, or start them as separate steps"});
    }
    spec_ = spec;
    auto request = parse_spec(option ? "--distgpu" : spec_variable, spec);
    if (!request) return refuse(request.error());
    request_ = *std::move(request);
    if (request_.help) return refuse(help_variable_error(spec_variable));
    if (request_.framework == nullptr) {
        unsetenv(spec_variable);
        remove_inherited_ranks();
        return Outcome::ok;
    }
    command_line_ = own_command_line();
    const PlugstackArguments site = parse_plugstack_arguments(arguments);
    if (site.site_switch != SiteSwitch::on) return switch_off(site.site_switch, spec);
    if (!request_.fail) request_.fail = site.fail;
    if (!request_.signal) request_.signal = site.signal;
    command_ = command_path(site);
    asks_slurmctld_ = site.asks_slurmctld || process_variable(ask_variable) == "1";
    default_order_ = site.order;
    auto list = read_order_list(request_.order.value_or(RankOrder{}), ProcessEnvironment());
    if (!list) return refuse(list.error());
    order_list_ = *std::move(list);
    options_ = srun_options(command_line_);
    const auto bad_port = bad_exported_port(request_, command_line_, options_);
    if (bad_port) return refuse(*bad_port);
    set_request_variables(spec);
    return Outcome::ok;
}

// Called before Slurm copies the environment for each component.
void SrunSide::set_request_variables(const std::string& spec) {
    remove_replaced_variables();
    setenv(spec_variable, spec.c_str(), 1);
    // Set here, because only the first component of a heterogeneous step gets what
    // on_local_user_init() sets.
    if (!std::exchange(tried_secret_, true)) {
        const auto secret = draw_secret();
        set_or_unset(secret_variable, secret ? secret->to_string() : "");
        ProcessEnvironment own;
        listener_.open(own);
        // Not for a step that a task starts.
        run_report_ = own.text(run_report_variable);
        own.unset(run_report_variable);
    }
    // In a heterogeneous step the choice of one component applies to all.
    const bool binds_cpus = chooses_cpus(options_, process_variable("SLURM_CPU_BIND"));
    set_or_unset(cpu_bind_variable, binds_cpus ? "1" : "");
    set_placeholder_address(*request_.framework, command_line_, options_);
    // Read now, because srun later sets SLURM_NTASKS for its own allocation too.
    inherits_ntasks_ = !process_variable("SLURM_NTASKS").empty();
    allocated_nodes_ = ProcessEnvironment().number("SLURM_JOB_NUM_NODES").value_or(0);
    // A step without its own port reservation would pass on that of the step around it, whose ports
    // are in use.
    unsetenv("SLURM_STEP_RESV_PORTS");
}

// mpirun's daemons inherit their job's request, but the nodes recognize them and prepare nothing.
Outcome SrunSide::switch_off(SiteSwitch site_switch, const std::string& spec) {
    const Error error = switched_off_error(site_switch, spec, "on this cluster");
    request_ = Request{};
    if (starts_mpi_daemon(command_line_)) return Outcome::ok;
    if (site_switch == SiteSwitch::refused) return refuse(error);
    runs_unprepared_ = true;
    print_to_user(error.message());
    remove_inherited_ranks();
    // On the nodes this takes precedence over the option.
    setenv(spec_variable, "off", 1);
    return Outcome::ok;
}

Outcome SrunSide::on_local_user_init(spank_t spank, const char* plugin_file) {
    if (!spec_) {
        const auto misplaced = option_after_program(program_arguments(spank));
        if (misplaced) print_to_user(misplaced->message());
    }
    if (request_.framework == nullptr) {
        if (!inherited_.empty()) restore_or_report_inherited_ranks(spank);
        return Outcome::ok;
    }
    const auto job = read_item(spank, S_JOB_ID);
    const auto step_id = read_item(spank, S_JOB_STEPID);
    const std::vector<std::string> program = program_arguments(spank);
    if (!job || !step_id || is_special_step(*step_id) || is_mpi_daemon(program)) {
        return Outcome::ok;
    }
    SentStep step;
    step.job = *job;
    step.step = *step_id;
    step.plugin_file = plugin_file;
    // Now srun has found the program, where an unknown option left that open.
    if (std::ranges::any_of(options_.list, &SlurmOption::may_take_next_word)) {
        options_ = srun_options(command_line_, program.size());
    }
    step.cpu_bind = chooses_cpus(options_, process_variable("SLURM_CPU_BIND"));
    step.gpus = requested_gpus(options_).value_or(0);
    step.debugger = is_debugged();
    // Slurm's own containers; pyxis's options, which begin with --container-, are different.
    if (containers_are_set_up_early &&
        (options_.has("container") || !process_variable("SLURM_CONTAINER").empty())) {
        print_error({"--container",
                     "this release of Slurm does not let --distgpu set variables in it",
                     "use --container-image of pyxis, or start the container within the step"});
        step.refused = true;
    } else if (auto layout = find_layout(spank, step)) {
        // In a heterogeneous step this is one component's layout; the nodes query the whole one.
        if (process_variable("SLURM_NTASKS") == std::to_string(layout->task_count())) {
            auto ordered = order_nodes(*std::move(layout));
            if (ordered) {
                const std::string order = ordered->text;
                add_layout(step, *std::move(ordered));
                check_and_announce(step, order, program);
            } else {
                print_error(ordered.error());
                step.refused = true;
            }
        }
    } else {
        slurm_debug("%s", layout.error().message().c_str());
    }
    if (!step.refused) listen_to_nodes(spank, step, program);
    setenv(sent_step_variable, encode(step).c_str(), 1);
    return Outcome::ok;
}

// With these, each task of a step that did not request distgpu would act as the task around srun.
// Removed now, because variables unset after the step's creation still reach its tasks (22.05).
void SrunSide::remove_inherited_ranks() {
    ProcessEnvironment own;
    std::vector<std::string> names = inherited_rank_variables(own);
    if (!inherited_.empty() || (names.empty() && !task_job_name_)) return;
    if (task_job_name_) inherited_.emplace_back(slurm_job_name_variable, *task_job_name_);
    names.insert(names.end(), {ranks_variable, job_name_variable});
    for (const std::string& name : names) {
        const auto value = own.get(name);
        if (value) inherited_.emplace_back(name, *value);
        own.unset(name);
    }
}

// Restores them for a single task, which may be a helper that reads them, and for mpirun's daemons,
// which get their environment from mpirun.
void SrunSide::restore_or_report_inherited_ranks(spank_t spank) {
    const std::uint32_t tasks = read_item(spank, S_JOB_TOTAL_TASK_COUNT).value_or(1);
    const bool is_single = components_ == 1 && tasks == 1;
    if (is_single || is_mpi_daemon(program_arguments(spank))) {
        ProcessEnvironment own;
        for (const auto& [name, value] : inherited_) own.set(name, value);
    } else if (!spec_) {  // no warning if the user wrote --distgpu=off
        print_to_user(inherited_ranks_warning(inherited_));
    }
}

// Prints why the step is refused; otherwise the warnings, and the lines of `verbose` that come
// before those of the nodes.
void SrunSide::check_and_announce(SentStep& step, const std::string& order,
                                  std::vector<std::string> program) {
    const ChosenSize chosen = chosen_size(options_);
    Step known{*step.layout};
    if (options_.has("ntasks")) {
        known.facts.task_count_source = TaskCountSource::command_line;
    } else if (inherits_ntasks_) {
        known.facts.task_count_source = TaskCountSource::job;
    }
    step.ntasks = known.facts.task_count_source != TaskCountSource::per_node;
    step.helper = step.layout->task_count() == 1 && (chosen.tasks || chosen.nodes) &&
                  !options_.has("distgpu");
    known.facts.mpi_type = process_variable("SLURM_MPI_TYPE");
    known.facts.cpus_per_node = process_variable("SLURM_JOB_CPUS_PER_NODE");
    known.facts.node_addresses = step.node_addresses;
    known.facts.inserts_exec = can_prepend_to_program;
    known.facts.allocated_nodes = chosen.nodes ? 0 : allocated_nodes_;
    known.facts.has_default_size = allocated_nodes_ == 0 && chosen == ChosenSize{};
    known.rendezvous.rank0_address = step.rank0_address;
    // Only the nodes see changes by --export.
    if (passes_full_environment(options_, process_variable("SLURM_EXPORT_ENV"))) {
        known.rendezvous.exported_address = exported(ProcessEnvironment(), "MASTER_ADDR");
    }
    // The programs of --multi-prog's file, whose text srun appends to its name, or the one on the
    // command line.
    std::vector<std::vector<std::string>> programs;
    if (program.size() > 1 && options_.has("multi-prog")) programs = programs_in(program[1]);
    if (programs.empty()) programs.push_back(std::move(program));
    std::optional<std::vector<Error>> warnings;  // those that apply to all programs
    for (std::vector<std::string>& each : programs) {
        known.facts.program = std::move(each);
        if (const auto error = refusal(request_, known)) {
            print_error(*error);
            step.refused = true;
            return;
        }
        std::vector<Error> own = step_warnings(request_, known);
        if (!warnings) warnings = own;
        std::erase_if(*warnings, [&](const Error& warning) {
            return std::ranges::find(own, warning) == own.end();
        });
    }
    for (const Error& warning : *warnings) print_to_user(warning.message());
    if ((request_.verbose || request_.dry_run) && !order.empty()) {
        print_to_user("distgpu: " + order);
    }
    if (!request_.verbose || request_.dry_run) return;
    for (const std::string& line : step_lines(request_, *step.layout)) print_to_user(line);
}

// Once, for all components of a heterogeneous step.
void SrunSide::listen_to_nodes(spank_t spank, const SentStep& step,
                               std::vector<std::string> program) {
    const bool has_rows = request_.verbose && step.layout;
    const SignalChoice signal = request_.signal.value_or(SignalChoice{});
    const std::uint32_t tasks = read_item(spank, S_JOB_TOTAL_TASK_COUNT).value_or(1);
    // One task has no other that would wait for it.
    const bool has_failures = (components_ > 1 || tasks > 1) && !reports_own_failure(program);
    const bool is_idle = !has_failures && !has_rows && signal.name.empty() && run_report_.empty();
    if (request_.dry_run || listener_.is_started() || is_idle) return;
    std::optional<VerboseRows> rows;
    std::size_t max_lines = 3;  // of a task that has ended
    if (has_rows) {
        const std::size_t max_rows = step.layout->max_tasks_per_node();
        rows = VerboseRows(step.layout->node_count(), max_rows);
        max_lines = std::max(max_lines, max_rows + 1);
    }
    std::optional<FailedTask> failed;
    if (has_failures) {
        StepFacts facts;
        facts.program = std::move(program);
        const bool is_elastic =
            step.layout && may_lose_nodes({request_, *step.layout, facts, facts.node_addresses});
        failed = FailedTask(!is_elastic && ends_step_on_failure(request_, options_));
    }
    listener_.start(
        std::make_unique<StepReports>(StepReports::Step{step.job, step.step, command_, run_report_},
                                      std::move(failed), std::move(rows), signal),
        max_lines);
}

Outcome SrunSide::on_exit() {
    listener_.finish();
    return Outcome::ok;
}

}  // namespace distgpu
