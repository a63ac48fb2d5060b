// The verdict in lines of the step that it was asked for, before its program starts.
#include "base/format.h"
#include "check/verdict.h"

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace distgpu {
namespace {

constexpr std::string_view mark = "distgpu: check: ";

// More lines than these nobody reads; `distgpu check` has them all.
constexpr std::size_t most_lines = 16;

std::string ready_line(const Verdict& verdict) {
    return formatted("{}{} on {} ready in {:.1f} s\n", mark, counted(verdict.ranks, "rank"),
                     counted(verdict.nodes.size(), "node"),
                     std::chrono::duration<double>(verdict.took).count());
}

std::string not_ready_line(const Verdict& verdict) {
    if (verdict.exclude.empty()) return formatted("{}not ready\n", mark);
    return formatted("{}not ready; the other nodes are, with --exclude={}\n", mark,
                     verdict.exclude.to_string());
}

}  // namespace

std::string verdict_brief(const Verdict& verdict) {
    std::string text;
    std::size_t lines = 0;
    for (const SharedFinding& shared : verdict.findings) {
        if (++lines > most_lines) continue;
        const std::string_view weight = is_fatal(shared.finding) ? "" : "warning: ";
        text += formatted("{}{}{}\n", mark, weight, line_of(shared));
    }
    if (lines > most_lines) {
        text += formatted("{}{} more; run distgpu check in place of the program to see all\n", mark,
                          counted(lines - most_lines, "finding"));
    }
    if (!verdict.missing.empty()) {
        text += formatted("{}{}; a slurmd without distgpu's plugin does not report either\n", mark,
                          missing_line(verdict));
    }
    return text + (verdict.code == ExitCode::done ? ready_line(verdict) : not_ready_line(verdict));
}

}  // namespace distgpu
