// How long the binding and the whole plan of a node of 8 tasks take from a loaded topology:
//   plan_times FILE...      XML of lstopo or JSON of distgpu topo
// Prints the least and the median of many runs in microseconds; one task's task_init makes the
// whole node's plan once.
#include "base/format.h"
#include "mapping/plan/plan.h"
#include "mapping/spec/parse_spec.h"
#include "node/discovery/discover.h"
#include "whole_node.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace distgpu;

constexpr std::uint32_t tasks = 8;
constexpr int runs = 2000;

// "least / median".
template <class Work>
std::string microseconds(Work&& work) {
    using Clock = std::chrono::steady_clock;
    std::vector<double> times;
    for (int i = 0; i < runs; ++i) {
        const auto begin = Clock::now();
        work();
        times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    std::sort(times.begin(), times.end());
    return formatted("{:.1f} / {:.1f}", times.front(), times[times.size() / 2]);
}

std::string plan_time(NodeFacts facts, std::uint32_t nodes) {
    const auto request = parse_spec("SPEC", "pytorch");
    const auto layout = HostList::parse(formatted("n[1-{}]", nodes)).and_then([&](HostList list) {
        const std::vector<TasksRun> counts{{tasks, nodes}};
        return StepLayout::distribute(std::move(list), counts, {});
    });
    if (!layout) std::exit(1);
    const Step step{*layout};
    facts.node = NodeIndex{nodes / 2};
    return microseconds([&] {
        if (!plan(*request, step, facts)) std::exit(1);
    });
}

}  // namespace

int main(int argc, char** argv) {
    std::cout << distgpu::formatted("{:<24} {:>16} {:>16} {:>16} {:>16} {:>16}\n",
                                    "8 tasks, least / median", "one mask", "own masks",
                                    "plan, 1 node", "plan, 1000", "plan, 10000");
    for (int i = 1; i < argc; ++i) {
        const auto topology = load_topology(argv[i]);
        if (!topology) {
            std::fputs((topology.error().message() + "\n").c_str(), stderr);
            return 1;
        }
        const NodeFacts facts = bench::whole_node(*topology, tasks);
        const SlurmShare own = bench::bound_by_slurm(*topology, facts.share);
        const std::string path = argv[i];
        std::cout << distgpu::formatted(
            "{:<24} {:>16} {:>16} {:>16} {:>16} {:>16}\n", path.substr(path.rfind('/') + 1),
            microseconds([&] { bind(*topology, {}, facts.share); }),
            microseconds([&] { bind(*topology, {}, own); }), plan_time(facts, 1),
            plan_time(facts, 1000), plan_time(facts, 10000));
    }
    return 0;
}
