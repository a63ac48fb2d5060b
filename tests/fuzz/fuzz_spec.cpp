// SPEC, the value of --distgpu, and the plans that it asks for.
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"
#include "plan_promises.h"
#include "require.h"
#include "target.h"

#include <array>
#include <cstdint>
#include <utility>

namespace distgpu {
namespace {

// Two nodes with so many tasks each.
Step step_of(std::uint32_t tasks) {
    auto layout =
        StepLayout::from_task_map(*HostList::parse("n[1-2]"), {TaskMapBlock{0, 2, tasks, 1}});
    return {*std::move(layout)};
}

}  // namespace

void try_text(std::string_view text) {
    const auto request = parse_spec("--distgpu", text);
    if (!request) {
        require_line(request.error().message());
        require(request.error().message().size() < 2048, "a refusal is short");
        return;
    }
    require(text.size() <= max_spec_length, "the length is bounded");
    require(!request->port || *request->port >= 1024, "a port of users");
    require(!request->nproc || (*request->nproc >= 1 && *request->nproc <= 4096),
            "a possible number of processes");
    require(!request->help || request->framework == nullptr, "help is no framework");
    if (request->framework == nullptr) return;
    NodeFacts facts;
    facts.gpus = 4;
    facts.cpus = 8;
    for (const std::uint32_t tasks : {1U, 4U}) {
        require_complete_plans(*request, step_of(tasks), facts);
    }
}

}  // namespace distgpu
