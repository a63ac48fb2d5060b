#include "base/format.h"
#include "base/io/files.h"
#include "mapping/frameworks/framework.h"
#include "mapping/request/request.h"
#include "mapping/spec/misplaced_option.h"
#include "mapping/spec/parse_spec.h"
#include "mapping/texts/variables.h"
#include "slurm/batch_script.h"
#include "slurm/script_lines.h"
#include "spank_access.h"
#include "srun_side.h"

#include <cerrno>
#include <cstdlib>
#include <unistd.h>

namespace distgpu {
namespace {

// Ends srun, sbatch or salloc. Never called in stepd.
[[noreturn]] void print_help_and_exit() {
    // "distgpu 0.1.0, a plugin for Slurm 22.05": no other release loads it.
    const std::string help = formatted("{}\ndistgpu {}, a plugin for Slurm {}.{:02}\n", spec_help(),
                                       DISTGPU_VERSION, SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
                                       SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER));
    std::exit(write_all(STDOUT_FILENO, help) ? EXIT_SUCCESS : EXIT_FAILURE);
}

// sbatch and salloc have the same SPANK context; only their names differ.
bool is_salloc() {
    return std::string_view(program_invocation_short_name) == "salloc";
}

// Warns of a script whose --signal reaches no rank.
void warn_of_deaf_ranks(const std::optional<BatchScript>& script, const PlugstackArguments& site) {
    if (!script || script->text.find("distgpu") == std::string::npos) return;
    const auto lines = read_script_lines(script->name, script->text);
    if (!lines || !lines->deaf_ranks) return;
    const bool site_passes_on = site.signal.value_or(SignalChoice{}).on;
    if (site_passes_on && !lines->deaf_ranks->is_for_batch_script) return;
    print_to_user(lines->deaf_ranks->error.message());
}

}  // namespace

Error help_variable_error(const char* variable) {
    return {formatted("{}=help", variable), "not a mode, so no step would run",
            formatted("unset {}, and run srun --distgpu=help", variable)};
}

Outcome AllocatorSide::on_init() {
    const std::vector<std::string> words = own_command_line();
    if (words.size() > 1 && words[1] == "--distgpu=help") print_help_and_exit();
    return Outcome::ok;
}

Outcome store_option(std::optional<std::string>& option, const char* value, bool in_stepd) {
    if (value == nullptr) return Outcome::ok;
    option = value;
    if (!in_stepd && *option == "help") print_help_and_exit();
    return Outcome::ok;
}

Outcome AllocatorSide::on_init_post_opt(const std::optional<std::string>& option,
                                        std::span<const char* const> arguments) {
    const char* const variable = is_salloc() ? "SALLOC_DISTGPU" : "SBATCH_DISTGPU";
    const std::string spec = option.value_or(process_variable(variable));
    if (!option && spec.empty()) {
        // Rereads the script of a job that does not use distgpu: once per job, in sbatch, before it
        // waits for slurmctld. Costs no step anything.
        const auto script = is_salloc() ? std::nullopt : find_batch_script(own_command_line());
        warn_of_deaf_ranks(script, parse_plugstack_arguments(arguments));
        auto late = script ? directive_after_command(script->text) : std::nullopt;
        if (!late) return Outcome::ok;
        late->object = formatted("{}: {}", script->name, late->object);
        print_to_user(late->message());
        return Outcome::ok;
    }
    const auto request = parse_spec(option ? "--distgpu" : variable, spec);
    if (!request) return refuse(request.error());
    if (request->help) return refuse(help_variable_error(variable));
    if (!option) setenv(spec_variable, spec.c_str(), 1);
    if (request->framework == nullptr || has_warned_) return Outcome::ok;
    // Warns of a job that would train only on the first node of its allocation.
    const std::vector<std::string> words = own_command_line();
    const auto script = is_salloc() ? find_salloc_python(words) : find_batch_script(words);
    if (!is_salloc()) warn_of_deaf_ranks(script, parse_plugstack_arguments(arguments));
    if (!script || !starts_no_step(script->text, process_variable("PATH"))) return Outcome::ok;
    has_warned_ = true;
    print_to_user(
        Error{script->name,
              formatted("it has no srun, and {} prepares only what srun starts, so the program "
                        "trains alone, as rank 0 of 1",
                        option_of(*request)),
              "write srun before the program"}
            .message());
    return Outcome::ok;
}

}  // namespace distgpu
