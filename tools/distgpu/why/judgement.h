// Judges what the nodes of a step saw: which findings a diagnosis has, whether the step stands
// still, and whether that proves a hang. Nothing else decides it.
#pragma once

#include "inspect/look.h"
#include "why/diagnosis.h"

#include <cstdint>
#include <vector>

namespace distgpu {

// Adds the findings, the most important first, and the kind of the first one, to a diagnosis of
// `looks` that is complete but for these.
void add_findings(const std::vector<NodeLook>& looks, Diagnosis& diagnosis);

enum class Stillness : std::uint8_t {
    still,
    unclear,  // of some ranks nobody can tell
    moves,
};

// Whether the ranks that `now` has, and their worker processes, are where they were `before` on the
// same node.
Stillness compare(const NodeLook& before, const NodeLook& now);

// Whether no rank of the step moved, and no node was at work (is_at_work()), while all nodes were
// looked at. `diagnosis`: of `looks`.
Stillness judge(const std::vector<NodeLook>& looks, const Diagnosis& diagnosis);

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
