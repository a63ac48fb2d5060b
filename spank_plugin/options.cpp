#include "options.h"

#include "base/format.h"
#include "mapping/frameworks/framework.h"
#include "mapping/request/request.h"
#include "mapping/spec/misplaced_option.h"
#include "mapping/spec/parse_spec.h"
#include "mapping/texts/variables.h"
#include "slurm/batch_script.h"
#include "spank_access.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {
namespace {

void inherit_from_allocation() {
    const char* const inherited = std::getenv(inherited_variable);
    if (inherited == nullptr) return;
    constexpr int keep_the_users_own = 0;
    setenv(spec_variable, inherited, keep_the_users_own);
    unsetenv(inherited_variable);
}

// The first argument of sbatch or salloc.
bool asks_for_help(const std::vector<std::string>& command_line) {
    return command_line.size() > 1 && command_line[1] == "--distgpu=help";
}

// "distgpu 0.1.0, a plugin for Slurm 22.05", in no other of which it loads.
std::string version_line() {
    return formatted("distgpu {}, a plugin for Slurm {}.{:02}\n", DISTGPU_VERSION,
                     SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
                     SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER));
}

}  // namespace

void print_help_and_exit() {
    const std::string help = spec_help() + "\n" + version_line();
    const bool printed = std::fputs(help.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    std::exit(printed ? EXIT_SUCCESS : EXIT_FAILURE);
}

Error help_by_variable(const char* variable) {
    return {formatted("{}=help", variable), "a question, and no mode: no step would run",
            formatted("unset {}, and ask with srun --distgpu=help", variable)};
}

Outcome register_option(spank_t spank, spank_opt_cb_f callback) {
    const spank_context_t context = spank_context();
    if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR && context != S_CTX_REMOTE) {
        return Outcome::ok;
    }
    if (context == S_CTX_LOCAL) inherit_from_allocation();
    if (context == S_CTX_ALLOCATOR && asks_for_help(own_command_line())) print_help_and_exit();
    // SPANK's interface takes pointers to non-const char although it copies the texts.
    std::string name = "distgpu";
    std::string placeholder = "MODE[,KEY[=VALUE]]...";
    std::string usage = "launch distributed GPU training (--distgpu=help lists modes and keys)";
    constexpr int has_argument = 1;
    spank_option option{name.data(), placeholder.data(), usage.data(), has_argument, 0, callback};
    if (spank_option_register(spank, &option) != ESPANK_SUCCESS) {
        slurm_error(
            "distgpu: option --distgpu: could not be registered; is the plugin listed "
            "twice in plugstack.conf?");
    }
    return Outcome::ok;
}

Outcome take_option(OptionState& state, const char* value, bool in_stepd) {
    if (value == nullptr) return Outcome::ok;
    state.spec = value;
    if (!in_stepd && *state.spec == "help") print_help_and_exit();
    return Outcome::ok;
}

namespace {

// sbatch and salloc are one SPANK context; only their names tell them apart.
bool is_salloc() {
    return std::string_view(program_invocation_short_name) == "salloc";
}

// A job that would train on the first node of its allocation alone.
std::optional<Error> without_srun(const Request& request) {
    const auto script = is_salloc() ? find_python_of_salloc(own_command_line())
                                    : find_batch_script(own_command_line());
    const ScriptFiles files = [path = own_variable("PATH")](std::string_view name) {
        return read_script_file(name, path);
    };
    if (!script || !starts_no_step(script->text, files)) return std::nullopt;
    return Error{script->name,
                 formatted("it has no srun, and {} prepares only what srun starts, so "
                           "the program trains alone, as rank 0 of 1",
                           option_of(request)),
                 "write srun before the program"};
}

// Reads the script again, of a job that did not ask: once a job, in sbatch, before it waits for the
// controller. No step has anything to do with it.
void tell_of_late_directive() {
    if (is_salloc()) return;
    const auto script = find_batch_script(own_command_line());
    if (!script) return;
    auto late = late_directive(script->text);
    if (!late) return;
    late->object = formatted("{}: {}", script->name, late->object);
    tell(late->message());
}

}  // namespace

Outcome AllocatorSide::options_read(const OptionState& option) {
    const char* const twin = is_salloc() ? "SALLOC_DISTGPU" : "SBATCH_DISTGPU";
    const std::string spec = option.spec.value_or(own_variable(twin));
    if (!option.spec && spec.empty()) {
        tell_of_late_directive();
        return Outcome::ok;
    }
    const auto request = parse_spec(option.spec ? "--distgpu" : twin, spec);
    if (!request) {
        slurm_error("%s", request.error().message().c_str());
        return Outcome::refused;
    }
    if (request->help) {
        slurm_error("%s", help_by_variable(twin).message().c_str());
        return Outcome::refused;
    }
    if (!option.spec) setenv(spec_variable, spec.c_str(), 1);
    if (request->framework == nullptr || warned_) return Outcome::ok;
    if (const auto warning = without_srun(*request)) {
        tell(warning->message());
        warned_ = true;
    }
    return Outcome::ok;
}

}  // namespace distgpu
