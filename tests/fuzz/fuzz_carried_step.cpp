// SLURM_DISTGPU_STEP, which a user can forge.
#include "carried_step.h"
#include "node/layout_check.h"
#include "require.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace distgpu;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    // Most inputs are spent behind the version, the rest on it.
    const bool whole = size > 0 && data[0] == 'v';
    const auto decoded = decode(whole ? std::string(text) : "v1:" + std::string(text));
    if (!decoded || !*decoded) return 0;
    const CarriedStep& step = **decoded;
    const auto again = decode(encode(step));
    require(again && *again, "encode() is read back");
    require((*again)->job == step.job && (*again)->step == step.step, "to the same step");
    require(!(*again)->layout || (*again)->layout == step.layout, "and the same layout");
    if (!step.layout) return 0;
    const StepLayout& layout = *step.layout;
    const NodeIndex last{layout.node_count() - 1};
    require(layout.tasks_on(last) > 0, "every node has a task");
    const TaskId end{layout.task_count() - 1};
    const Placement place = layout.place(end);
    require(layout.task(place.node, place.local_rank) == end, "task() undoes place()");
    const bool one_task = layout.tasks_on(last) == 1;
    const auto refusal = check_layout(layout, {last, {layout.task(last, LocalRank{0})}});
    require(refusal.has_value() != one_task, "the check accepts what the layout says alone");
    return 0;
}
