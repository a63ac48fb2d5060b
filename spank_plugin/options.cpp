// See options.h.
#include "options.h"

#include "variables.h"

#include <distgpu/request.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace distgpu {
namespace {

// SPANK's interface takes pointers to non-const char although it copies the texts.
char name[] = "distgpu";
char placeholder[] = "MODE[,KEY[=VALUE]]...";
char usage[] = "launch distributed GPU training (--distgpu=help lists modes and keys)";

void inherit_from_allocation() {
    const char* const inherited = std::getenv(inherited_variable);
    if (inherited == nullptr) return;
    constexpr int keep_the_users_own = 0;
    setenv(spec_variable, inherited, keep_the_users_own);
    unsetenv(inherited_variable);
}

// The first argument of this process, empty if it has none.
std::string first_argument() {
    std::ifstream command_line("/proc/self/cmdline");
    std::string argument;
    std::getline(command_line, argument, '\0');
    argument.clear();
    std::getline(command_line, argument, '\0');
    return argument;
}

}  // namespace

void print_help_and_exit() {
    std::fputs(spec_help().c_str(), stdout);
    std::fflush(stdout);
    std::exit(0);
}

std::string twin_value(const char* variable) {
    const char* const value = std::getenv(variable);
    return value == nullptr ? "" : value;
}

Outcome register_option(spank_t spank, spank_opt_cb_f callback) {
    const spank_context_t context = spank_context();
    if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR && context != S_CTX_REMOTE) {
        return Outcome::ok;
    }
    if (context == S_CTX_LOCAL) inherit_from_allocation();
    if (context == S_CTX_ALLOCATOR && first_argument() == "--distgpu=help") print_help_and_exit();
    constexpr int has_argument = 1;
    spank_option option{name, placeholder, usage, has_argument, 0, callback};
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

}  // namespace distgpu
