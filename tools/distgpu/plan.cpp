// See plan.h.
#include "plan.h"

#include "hwloc_environment.h"
#include "output.h"
#include "plan_json.h"
#include "shape.h"

#include <distgpu/discover.h>
#include <distgpu/request.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace distgpu {
namespace {

struct Arguments {
    std::string spec;
    ShapeOptions shape;
    std::string topology;
};

ExitCode complain(const Error& error, ExitCode code) {
    fmt::print(stderr, "{}\n", error.message());
    return code;
}

ExitCode run_plan(const Arguments& arguments) {
    const auto request = parse_spec("SPEC", arguments.spec);
    if (!request) return complain(request.error(), ExitCode::usage);
    if (request->framework == nullptr) {
        return complain({"SPEC=" + arguments.spec, "plans nothing", "give the mode of a framework"},
                        ExitCode::usage);
    }
    std::optional<NodeTopology> topology;
    if (!arguments.topology.empty()) {
        take_hwloc_environment();
        auto loaded = load_topology(arguments.topology);
        if (!loaded) return complain(loaded.error(), ExitCode::environment);
        topology = *std::move(loaded);
    }
    const auto shape = make_shape(arguments.shape, topology ? &*topology : nullptr);
    if (!shape) return complain(shape.error(), ExitCode::usage);
    const auto text = plan_json(*request, *shape, StepId{});
    if (!text) return complain(text.error(), ExitCode::usage);
    const auto printed = print(*text);
    return printed ? ExitCode::done : complain(printed.error(), ExitCode::environment);
}

}  // namespace

void add_plan(CLI::App& app, std::function<ExitCode()>& run) {
    const auto arguments = std::make_shared<Arguments>();
    ShapeOptions& shape = arguments->shape;
    CLI::App* const plan =
        app.add_subcommand("plan", "Show what each task of a step would get, as JSON.");
    plan->add_option("SPEC", arguments->spec, "What --distgpu= takes: MODE[,KEY[=VALUE]]...")
        ->required();
    const auto add = [&](const char* name, std::string& value, const char* type, const char* help) {
        return plan->add_option(name, value, help)->type_name(type);
    };
    add("--nodelist", shape.nodelist, "NODES", "The step's nodes, as node[01-02]")->required();
    add("--tasks-per-node", shape.tasks_per_node, "COUNTS", "Tasks of each node, as 4(x2),1");
    add("--distribution", shape.distribution, "HOW",
        "block (the default), cyclic, plane=N, or arbitrary=NODE,NODE,... for each task");
    add("--gpus-per-node", shape.gpus_per_node, "N", "The first N GPUs of each node (all)");
    add("--gpus", shape.gpus, "LIST", "Which GPUs of each node, as 2,3");
    add("--cpus-per-task", shape.cpus_per_task, "N", "CPUs that each task asked for (1)");
    add("--cpu-masks", shape.cpu_masks, "LISTS",
        "CPUs on which the tasks of a node may run, one list for all or one each, as 0-3:4-7 "
        "(all CPUs of the node)");
    add("--topology", arguments->topology, "FILE",
        "Every node's topology: XML of hwloc's lstopo, "
        "or JSON of distgpu topo; without it nothing is bound");
    plan->callback([arguments, &run] { run = [arguments] { return run_plan(*arguments); }; });
}

}  // namespace distgpu
