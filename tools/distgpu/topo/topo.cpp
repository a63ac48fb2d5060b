// `distgpu topo`: a node's GPUs and HCAs, and how near they are to each other.
#include "base/format.h"
#include "mapping/topology/topology_json.h"
#include "node/discovery/discover.h"
#include "node/discovery/hwloc_environment.h"
#include "node/machine.h"
#include "output.h"
#include "picture/node_picture.h"
#include "subcommands.h"
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
    std::optional<std::string> svg;
};

Result<Done> draw_to(const std::string& path, const NodeTopology& node) {
    const NodePicture picture{
        node.host.empty() ? node.source : node.host,
        formatted("{}, {}, {}", counted(node.cores.size(), "core"),
                  counted(node.gpus.size(), "GPU"), counted(node.hcas.size(), "HCA")),
        &node,
        {}};
    return replace_file(path, draw(picture), Readers::by_umask);
}

Result<Done> show(const Arguments& arguments) {
    auto topology = arguments.topology ? load_topology(*arguments.topology) : discover();
    return std::move(topology).and_then([&](const NodeTopology& node) {
        if (arguments.svg) return draw_to(*arguments.svg, node);
        return print(arguments.format == "json" ? to_json(node, std::nullopt)
                                                : topo_table(node, wants_colour()));
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
                        {.name = "--svg",
                         .target = &arguments->svg,
                         .help = "Draw it into FILE instead, as an SVG picture",
                         .type = "FILE",
                         .excludes = {"--format"}},
                        {.name = "--save",
                         .target = &arguments->save,
                         .help = "Write the JSON to FILE, for all steps until the next boot",
                         .type = "FILE",
                         .excludes = {"--topology", "--format", "--svg"}}},
            .run = [arguments] { return run_topo(*arguments); }};
}

}  // namespace distgpu
