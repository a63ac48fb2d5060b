// `distgpu topo`: a node's GPUs and HCAs, and how near they are to each other.
#include "mapping/topology/topology_json.h"
#include "node/discovery/discover.h"
#include "node/machine.h"
#include "output.h"
#include "subcommands.h"
#include "topo/hwloc_environment.h"
#include "topo/topo_table.h"

#include <memory>
#include <optional>
#include <string>

namespace distgpu {
namespace {

struct Arguments {
    std::optional<std::string> topology;
    std::string format = "table";
    std::optional<std::string> save;
};

Result<Done> show(const Arguments& arguments) {
    auto topology = arguments.topology ? load_topology(*arguments.topology) : discover();
    return std::move(topology).and_then([&](const NodeTopology& node) {
        return print(arguments.format == "json" ? to_json(node, std::nullopt) : topo_table(node));
    });
}

Result<Done> save(const std::string& path) {
    // Before the discovery: what is plugged in meanwhile makes the text stale, not wrong.
    const auto identity = machine_identity();
    if (!identity) return identity.error();
    // The steps of every user read it.
    return discover().and_then([&](const NodeTopology& node) {
        return replace_file(path, to_json(node, *identity), Readers::everyone);
    });
}

ExitCode run_topo(const Arguments& arguments) {
    take_hwloc_environment();
    const auto done = arguments.save ? save(*arguments.save) : show(arguments);
    if (done) return ExitCode::done;
    return complain(done.error(), ExitCode::environment);
}

}  // namespace

Subcommand topo_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    return {.name = "topo",
            .help = "Show this node's GPUs and HCAs, and the distances between them.",
            .options = {{.name = "--topology",
                         .target = &arguments->topology,
                         .help = "Show the machine in FILE instead: XML from hwloc's lstopo, or "
                                 "JSON from distgpu topo",
                         .type = "FILE"},
                        {.name = "--format",
                         .target = &arguments->format,
                         .help = "table (the default) or json",
                         .type = "FORMAT",
                         .words = {"table", "json"}},
                        {.name = "--save",
                         .target = &arguments->save,
                         .help = "Write the JSON to FILE, for all steps until the next boot",
                         .type = "FILE",
                         .excludes = {"--topology", "--format"}}},
            .run = [arguments] { return run_topo(*arguments); }};
}

}  // namespace distgpu
