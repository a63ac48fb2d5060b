#include "base/format.h"
#include "mapping/frameworks/framework.h"
#include "mapping/request/request.h"
#include "mapping/spec/misplaced_option.h"
#include "mapping/spec/parse_spec.h"
#include "mapping/texts/variables.h"
#include "slurm/batch_script.h"
#include "spank_access.h"
#include "srun_side.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace distgpu {
namespace {

// Ends srun, sbatch or salloc. Never called in stepd.
[[noreturn]] void print_help_and_exit() {
    // "distgpu 0.1.0, a plugin for Slurm 22.05", in no other of which it loads.
    const std::string help = formatted("{}\ndistgpu {}, a plugin for Slurm {}.{:02}\n", spec_help(),
                                       DISTGPU_VERSION, SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
                                       SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER));
    const bool printed = std::fputs(help.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    std::exit(printed ? EXIT_SUCCESS : EXIT_FAILURE);
}

// sbatch and salloc are one SPANK context; only their names tell them apart.
bool is_salloc() {
    return std::string_view(program_invocation_short_name) == "salloc";
}

}  // namespace

Error help_by_variable(const char* variable) {
    return {formatted("{}=help", variable), "a question, and no mode: no step would run",
            formatted("unset {}, and ask with srun --distgpu=help", variable)};
}

Outcome register_option(spank_t spank, spank_opt_cb_f callback) {
    const spank_context_t context = spank_context();
    if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR && context != S_CTX_REMOTE) {
        return Outcome::ok;
    }
    const bool is_srun = context == S_CTX_LOCAL;
    const char* const inherited = is_srun ? std::getenv(inherited_variable) : nullptr;
    if (inherited != nullptr) {
        constexpr int keep_the_users_own = 0;
        setenv(spec_variable, inherited, keep_the_users_own);
        unsetenv(inherited_variable);
    }
    if (context == S_CTX_ALLOCATOR) {
        const std::vector<std::string> words = own_command_line();
        if (words.size() > 1 && words[1] == "--distgpu=help") print_help_and_exit();
    }
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

Outcome take_option(std::optional<std::string>& option, const char* value, bool in_stepd) {
    if (value == nullptr) return Outcome::ok;
    option = value;
    if (!in_stepd && *option == "help") print_help_and_exit();
    return Outcome::ok;
}

Outcome AllocatorSide::options_read(const std::optional<std::string>& option) {
    const char* const twin = is_salloc() ? "SALLOC_DISTGPU" : "SBATCH_DISTGPU";
    const std::string spec = option.value_or(own_variable(twin));
    if (!option && spec.empty()) {
        // Reads the script again, of a job that did not ask: once a job, in sbatch, before it waits
        // for the controller. No step has anything to do with it.
        const auto script = is_salloc() ? std::nullopt : find_batch_script(own_command_line());
        auto late = script ? late_directive(script->text) : std::nullopt;
        if (!late) return Outcome::ok;
        late->object = formatted("{}: {}", script->name, late->object);
        tell(late->message());
        return Outcome::ok;
    }
    const auto request = parse_spec(option ? "--distgpu" : twin, spec);
    if (!request) return refuse(request.error());
    if (request->help) return refuse(help_by_variable(twin));
    if (!option) setenv(spec_variable, spec.c_str(), 1);
    if (request->framework == nullptr || warned_) return Outcome::ok;
    // A job that would train on the first node of its allocation alone.
    const std::vector<std::string> words = own_command_line();
    const auto script = is_salloc() ? find_python_of_salloc(words) : find_batch_script(words);
    if (!script || !starts_no_step(script->text, own_variable("PATH"))) return Outcome::ok;
    warned_ = true;
    tell(Error{script->name,
               formatted("it has no srun, and {} prepares only what srun starts, so the program "
                         "trains alone, as rank 0 of 1",
                         option_of(*request)),
               "write srun before the program"}
             .message());
    return Outcome::ok;
}

}  // namespace distgpu
