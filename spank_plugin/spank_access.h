// SPANK's items and environment as C++ values.
#pragma once

// spank.h declares the callbacks outside its own extern "C" block.
extern "C" {
#include <slurm/spank.h>
}

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// What a callback reports to Slurm.
enum class Outcome { ok, refused };

// Batch, interactive and extern steps run no tasks of the user's:
// SLURM_INTERACTIVE_STEP 0xfffffffa, SLURM_BATCH_SCRIPT 0xfffffffb and
// SLURM_EXTERN_CONT 0xfffffffc in slurm.h.
constexpr bool is_special_step(std::uint32_t step) {
    return step >= 0xfffffffa;
}

// An item of type uint32_t; nothing where this context or release lacks it.
std::optional<std::uint32_t> item(spank_t spank, spank_item_t which);

// The program and its arguments as srun got them; empty where not available.
std::vector<std::string> program_arguments(spank_t spank);

// A variable of the step's environment (stepd only). The value may have any length.
std::optional<std::string> step_variable(spank_t spank, const char* name);

// A variable that holds a number; nothing where it is unset or does not begin with one.
std::optional<std::uint32_t> step_number(spank_t spank, const char* name);

// The step's environment as NAME=VALUE views, valid until the next change.
std::vector<std::string_view> step_variables(spank_t spank);

}  // namespace distgpu
