// See allocator_side.h.
#include "allocator_side.h"

#include "mapping/spec/request.h"
#include "node/variables.h"
#include "own_process.h"

#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace distgpu {
namespace {

// sbatch and salloc are one SPANK context; only their names tell them apart.
const char* twin_of_this_command() {
    return std::string_view(program_invocation_short_name) == "salloc" ? "SALLOC_DISTGPU"
                                                                       : "SBATCH_DISTGPU";
}

}  // namespace

Outcome hand_on_to_job(const OptionState& option) {
    const char* const twin = twin_of_this_command();
    const std::string spec = option.spec.value_or(own_variable(twin));
    if (!option.spec && spec.empty()) return Outcome::ok;
    const auto request = parse_spec(option.spec ? "--distgpu" : twin, spec);
    if (!request) {
        slurm_error("%s", request.error().message().c_str());
        return Outcome::refused;
    }
    if (!option.spec) setenv(spec_variable, spec.c_str(), 1);
    if (request->framework != nullptr) {
        slurm_spank_log("distgpu: %.*s applies to the srun steps inside the job",
                        static_cast<int>(request->framework->mode.size()),
                        request->framework->mode.data());
    }
    return Outcome::ok;
}

}  // namespace distgpu
