// An explanation as text and as JSON (schema distgpu.explain/1).
#pragma once

#include "explain/explanation.h"

#include <optional>
#include <string>

namespace distgpu {

// `step`: its name, for the heading. What is otherwise, a table of the groups, and what could not
// be seen. `colour`: for a terminal.
std::string explanation_text(const std::string& step, const Explanation& explanation, bool colour);

std::string explanation_json(const std::string& step, const Explanation& explanation);

// All of one rank. Nothing: it was not seen.
std::optional<std::string> rank_text(const Explanation& explanation, std::uint32_t rank,
                                     bool colour);
std::optional<std::string> rank_json(const std::string& step, const Explanation& explanation,
                                     std::uint32_t rank);

}  // namespace distgpu
