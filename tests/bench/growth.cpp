// How time and peak memory grow with the ranks of a step, 8 on each node, from 10 to a million:
//   growth [--benchmark_filter=REGEX ...]    as every program of Google Benchmark
// Google Benchmark fits the growth (BigO); `memory` is the peak in bytes of one run, `carried` the
// bytes that srun sends to each node.
#include "base/format.h"
#include "counted_memory.h"
#include "mapping/plan/plan.h"
#include "mapping/spec/parse_spec.h"
#include "mapping/texts/sent_step.h"
#include "node/discovery/discover.h"
#include "whole_node.h"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace distgpu;
using benchmark::DoNotOptimize;
using benchmark::State;

constexpr std::uint32_t per_node = 8;

std::uint32_t ranks_of(const State& state) {
    return static_cast<std::uint32_t>(state.range(0));
}

// Times `work` and says what memory it takes.
template <class Work>
void measure(State& state, Work&& work) {
    state.counters["memory"] =
        benchmark::Counter(static_cast<double>(bench::peak_bytes(work)),
                           benchmark::Counter::kDefaults, benchmark::Counter::kIs1024);
    for (auto _ : state) DoNotOptimize(work());
    state.SetComplexityN(state.range(0));
}

// For what has no error here.
template <class Value>
Value checked(Result<Value> result) {
    if (!result) std::abort();
    return *std::move(result);
}

HostList hosts(std::uint32_t ranks) {
    return checked(HostList::parse(formatted("n[1-{}]", (ranks + per_node - 1) / per_node)));
}

StepLayout dealt(std::uint32_t ranks, Distribution distribution) {
    std::vector<TasksRun> counts;
    if (ranks >= per_node) counts.push_back({per_node, ranks / per_node});
    if (ranks % per_node != 0) counts.push_back({ranks % per_node, 1});
    return checked(StepLayout::distribute(hosts(ranks), counts, distribution));
}

// The worst that -m arbitrary can do: no two tasks in a row are on one node or on neighbours.
std::vector<std::uint32_t> interleaved(std::uint32_t ranks) {
    const std::uint32_t nodes = (ranks + per_node - 1) / per_node;
    std::vector<std::uint32_t> node_of_task(ranks);
    for (std::uint32_t task = 0; task < ranks; ++task) {
        const std::uint32_t turn = task % nodes;
        node_of_task[task] = turn % 2 == 0 ? turn / 2 : nodes - 1 - turn / 2;
    }
    return node_of_task;
}

void layout_block(State& state) {
    measure(state, [&] { return dealt(ranks_of(state), {}); });
}

void layout_cyclic(State& state) {
    measure(state, [&] { return dealt(ranks_of(state), {Distribution::Kind::cyclic, 0}); });
}

void layout_interleaved(State& state) {
    const auto nodes = interleaved(ranks_of(state));
    measure(state,
            [&] { return checked(StepLayout::from_assignment(hosts(ranks_of(state)), nodes)); });
}

// What srun makes of the layout, and what each node does with it.
void carry(State& state, StepLayout layout) {
    const StepSize size{layout.node_count(), layout.task_count()};
    const SentStep step{1, 0, std::move(layout), "10.0.0.1", false};
    const std::string text = encode(step);
    state.counters["carried"] = static_cast<double>(text.size());
    measure(state, [&] { return decode(encode(step), {1, 0, size}); });
}

void carried_block(State& state) {
    carry(state, dealt(ranks_of(state), {}));
}

void carried_interleaved(State& state) {
    const auto nodes = interleaved(ranks_of(state));
    carry(state, checked(StepLayout::from_assignment(hosts(ranks_of(state)), nodes)));
}

NodeTopology big_node() {
    return checked(load_topology(DISTGPU_SOURCE_DIR "/tests/topologies/h200-8numa.xml"));
}

// Of the node in the middle, with its 8 tasks.
void plan_of(State& state, const char* spec, const StepLayout& layout, NodeFacts facts) {
    const Request request = checked(parse_spec("SPEC", spec));
    const Step step{layout};
    facts.node = NodeIndex{layout.node_count() / 2};
    measure(state, [&] { return plan(request, step, facts); });
}

void plan_pytorch(State& state) {
    plan_of(state, "pytorch", dealt(ranks_of(state), {}), {});
}

void plan_interleaved(State& state) {
    const auto nodes = interleaved(ranks_of(state));
    const auto layout = checked(StepLayout::from_assignment(hosts(ranks_of(state)), nodes));
    plan_of(state, "pytorch", layout, {});
}

void plan_with_binding(State& state) {
    const NodeTopology topology = big_node();
    const StepLayout layout = dealt(ranks_of(state), {});
    const NodeIndex node{layout.node_count() / 2};
    plan_of(state, "pytorch", layout, bench::whole_node(topology, layout.tasks_on(node)));
}

// TF_CONFIG names all tasks in each; where it cannot hold them, this is the refusal.
void plan_tf_config(State& state) {
    plan_of(state, "tensorflow", dealt(ranks_of(state), {}), {});
}

// By tasks of one node instead: each has CPUs of its own, so that GPUs are assigned by distance.
void bind_tasks(State& state) {
    const NodeTopology topology = big_node();
    const NodeFacts facts = bench::whole_node(topology, ranks_of(state));
    const SlurmShare share = bench::bound_by_slurm(topology, facts.share);
    measure(state, [&] { return bind(topology, {}, share); });
}

void to_a_million(benchmark::internal::Benchmark* each) {
    each->RangeMultiplier(10)->Range(10, 1'000'000)->Complexity()->Unit(benchmark::kMicrosecond);
}

BENCHMARK(layout_block)->Apply(to_a_million);
BENCHMARK(layout_cyclic)->Apply(to_a_million);
BENCHMARK(layout_interleaved)->Apply(to_a_million);
BENCHMARK(carried_block)->Apply(to_a_million);
BENCHMARK(carried_interleaved)->Apply(to_a_million);
BENCHMARK(plan_pytorch)->Apply(to_a_million);
BENCHMARK(plan_interleaved)->Apply(to_a_million);
BENCHMARK(plan_with_binding)->Apply(to_a_million);
BENCHMARK(plan_tf_config)->Apply(to_a_million);
BENCHMARK(bind_tasks)
    ->RangeMultiplier(2)
    ->Range(8, 128)
    ->Complexity()
    ->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
