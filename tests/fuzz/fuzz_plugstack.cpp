// The plugin's arguments in plugstack.conf, one a line: each counts, or is ignored aloud.
#include "mapping/spec/parse_spec.h"
#include "plan_promises.h"
#include "require.h"
#include "slurm/plugstack_arguments.h"
#include "target.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {

void try_text(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t end =
            std::min(text.find_first_of(std::string_view("\n\0", 2)), text.size());
        words.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    std::vector<const char*> arguments;
    arguments.reserve(words.size());
    for (const std::string& word : words) arguments.push_back(word.c_str());
    const PlugstackArguments read = parse_plugstack_arguments(arguments);
    require(read.complaints.size() <= words.size(), "one complaint each at most");
    for (const Error& complaint : read.complaints) {
        require(ignored_argument(complaint).find('\n') == std::string::npos, "of one line");
    }
    require(read.topology.empty() || read.topology.front() == '/', "an absolute path");
    require(read.command.empty() || read.command.front() == '/', "an absolute path");
    require(read.ports.first >= 1024 && read.ports.first < read.ports.last, "ports of users");
    auto request = parse_spec("SPEC", "pytorch");
    take_defaults(*request, read);
    auto layout = StepLayout::from_task_map(*HostList::parse("n[1-2]"), {TaskMapBlock{0, 2, 2, 1}});
    Step step{*std::move(layout)};
    step.rendezvous.derived_ports = read.ports;
    step.rendezvous.default_master = read.master;
    require_complete_plans(*request, step, {});
}

}  // namespace distgpu
