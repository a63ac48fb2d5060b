// The variables of one rank as lines for a POSIX shell.
#include "base/format.h"
#include "plan/plan_formats.h"
#include "slurm/shell_words.h"

#include <string>
#include <string_view>

namespace distgpu {
namespace {

// A pattern removes what the shell that reads the line has then.
std::string unset_line(std::string_view pattern) {
    if (pattern.back() != '*') return formatted("unset {}\n", pattern);
    pattern.remove_suffix(1);
    return formatted("unset $(env | sed -n 's/^\\({}[A-Za-z0-9_]*\\)=.*/\\1/p')\n", pattern);
}

}  // namespace

Result<Done> write_plan_shell(const PlanInput& input, const Writer& write) {
    const NodeVisitor write_node = [&](const NodePlan& node, const NodeFacts& /*facts*/) {
        std::string text;
        for (const TaskPlan& task : node.tasks) {
            for (const std::string& pattern : task.unset) text += unset_line(pattern);
            for (const auto& [name, value] : task.set) {
                text += formatted("export {}={}\n", name, shell_quoted(value));
            }
        }
        return write(text);
    };
    // Standard output is for the shell.
    return for_each_node(input, write_node).transform([](const Warnings& warnings) {
        for (const std::string& warning : warnings) say(warning);
        return Done{};
    });
}

}  // namespace distgpu
