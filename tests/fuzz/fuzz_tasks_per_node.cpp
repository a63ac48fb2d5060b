// Counts of tasks per node, and the layouts that are made of them.
#include "mapping/layout/step_layout.h"
#include "require.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace distgpu;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto runs = parse_tasks_per_node(text);
    if (!runs) return 0;
    std::uint64_t nodes = 0;
    std::uint64_t tasks = 0;
    for (const TasksRun& run : *runs) {
        require(run.tasks > 0 && run.nodes > 0, "no zero count");
        nodes += run.nodes;
        tasks += std::uint64_t{run.tasks} * run.nodes;
    }
    require(nodes <= StepLayout::max_nodes, "no more nodes than the bound");
    require(tasks <= StepLayout::max_tasks, "no more tasks than the bound");
    // Cyclic over uneven counts takes a block a round.
    if (nodes > 64 || tasks > 4096) return 0;
    using Kind = Distribution::Kind;
    for (const Distribution distribution :
         {Distribution{Kind::block, 0}, Distribution{Kind::cyclic, 0},
          Distribution{Kind::plane, 3}}) {
        auto hosts = HostList::parse("n[1-" + std::to_string(nodes) + "]");
        const auto layout = StepLayout::distribute(*std::move(hosts), *runs, distribution);
        require(layout.has_value(), "counts for every host make a layout");
        require(layout->task_count() == tasks, "every task is placed");
        for (TaskId task{0}; task.value < tasks; ++task.value) {
            const Placement place = layout->place(task);
            require(layout->task(place.node, place.local_rank) == task, "task() undoes place()");
        }
    }
    return 0;
}
