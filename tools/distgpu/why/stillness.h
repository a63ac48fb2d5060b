// Whether a step hangs, from what was seen of it: the CPUs and GPUs of ranks that wait for each
// other are as busy as those of ranks that work.
#pragma once

#include "inspect/look.h"
#include "why/diagnosis.h"

#include <cstdint>
#include <vector>

namespace distgpu {

enum class Stillness : std::uint8_t {
    moves,
    still,
    unclear,  // of some ranks nobody can tell
};

// The last that was seen of it. Null: none was.
const Stack* last_stack(const NodeLook& look, const ProcessLook& process);

// The same process, and not another one with its number. Null: it is not there.
const ProcessLook* find_in(const NodeLook& look, const ProcessLook& wanted);

// Whether the ranks that `now` has, and their worker processes, are where they were `before` on the
// same node.
Stillness compare(const NodeLook& before, const NodeLook& now);

// Whether no rank of the step moved, and no node was at work (traffic.h), while all nodes were
// looked at. `diagnosis`: of `looks`.
Stillness judge(const std::vector<NodeLook>& looks, const Diagnosis& diagnosis);

}  // namespace distgpu
