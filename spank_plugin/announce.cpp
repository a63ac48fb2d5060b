// See announce.h.
#include "announce.h"

#include "node/announcement.h"
#include "spank_access.h"

#include <string_view>
#include <unistd.h>

namespace distgpu {
namespace {

// One write, so that the tasks' texts do not mix.
[[noreturn]] void print_and_end(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
        if (written <= 0) _exit(1);
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    _exit(0);
}

}  // namespace

void announce_task(const Request& request, const StepLayout& layout, const NodeFacts& node,
                   const NodePlan& plan, LocalId local) {
    const Announcement said = announcement(request, layout, node, plan, local);
    for (const std::string& line : said.lines) slurm_spank_log("%s", line.c_str());
    if (!said.dry_run.empty()) print_and_end(said.dry_run);
}

}  // namespace distgpu
