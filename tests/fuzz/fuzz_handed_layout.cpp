// SLURM_DISTGPU_LAYOUT, which a task may have changed: read, handed on, and read again.
#include "base/environment_copy.h"
#include "mapping/texts/variables.h"
#include "node/step_variables.h"
#include "plan_promises.h"
#include "require.h"
#include "target.h"

#include <string>

namespace distgpu {

void try_text(std::string_view text) {
    EnvironmentCopy environment({{"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", "0"}});
    // Most inputs are spent behind the step, the rest on it.
    const bool whole = !text.empty() && text.front() == '1';
    environment.set(layout_variable, (whole ? "" : "17.0 ") + std::string(text));
    const auto layout = handed_layout(environment);
    if (!layout) return;
    if (!*layout) return require_line(layout->error().message());
    hand_on_layout(environment, **layout);
    const auto again = handed_layout(environment);
    require(!again || *again, "what is handed on is read back");
    require(!again || **again == **layout, "to the same layout");
    require(again || text.size() > 100'000, "it is handed on unless it is long");
    if (is_small(**layout)) require_complete_plans({**layout}, {});
}

}  // namespace distgpu
