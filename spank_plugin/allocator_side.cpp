#include "allocator_side.h"

#include "base/format.h"
#include "batch_script.h"
#include "mapping/frameworks/framework.h"
#include "mapping/request/request.h"
#include "mapping/spec/misplaced_option.h"
#include "mapping/spec/parse_spec.h"
#include "mapping/texts/variables.h"
#include "own_process.h"

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace distgpu {
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
