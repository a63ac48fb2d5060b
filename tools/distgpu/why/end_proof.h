// Whether a step may be ended: whether one of its ranks did nothing at all, by the kernel's
// counters, from one look at all nodes to another.
#pragma once

#include "inspect/look.h"

#include <vector>

namespace distgpu {

// Takes what `look`, one in between, made the processes do out of the account that begins with
// `begin`.
void discount(std::vector<NodeLook>& begin, const NodeLook& look);

// Whether a rank that waits for nothing (may_wait()) stood still from the end of the looks `begin`
// to the beginning of the looks `end`, and no rank did anything outside a collective. A rank stood
// still if its stack is the same and neither its main thread nor any process below it was switched
// to by the kernel, or had a tick of CPU. Other threads of a rank count for nothing: those of NCCL
// and of the frameworks spin and poll, hung or not.
bool proves_hang(const std::vector<NodeLook>& begin, const std::vector<NodeLook>& end);

}  // namespace distgpu
