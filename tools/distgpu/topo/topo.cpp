// `distgpu topo`: shows a node's GPUs and HCAs, and the distances between them.
#include "topo/topo.h"

#include "base/format.h"
#include "base/io/descriptor.h"
#include "command_line.h"
#include "mapping/topology/topology_json.h"
#include "node/discovery/discover.h"
#include "node/machine.h"
#include "node/node_topology.h"
#include "output.h"
#include "picture/picture.h"
#include "table.h"

#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>

namespace distgpu {
namespace {

constexpr std::string_view distance_legend =
    "  PIX  = across one PCI bridge at most\n"
    "  PXB  = across several PCI bridges, not through the CPU\n"
    "  PHB  = through a PCI host bridge, that is through the CPU\n"
    "  NODE = through two host bridges of one NUMA node\n"
    "  SYS  = between NUMA nodes\n";

std::string or_unknown(const std::string& text) {
    return text.empty() ? "N/A" : text;
}

std::string matrix(const NodeTopology& topology, bool colour) {
    std::vector<Row> rows{{""}};
    for (std::size_t i = 0; i < topology.hcas.size(); ++i) {
        rows[0].push_back(formatted("NIC{}", i));
    }
    rows[0].insert(rows[0].end(), {"CPU Affinity", "NUMA Affinity"});
    for (std::size_t i = 0; i < topology.gpus.size(); ++i) {
        const Gpu& gpu = topology.gpus[i];
        Row& row = rows.emplace_back(Row{formatted("GPU{}", i)});
        for (const Distance distance : topology.distances[i])
            row.emplace_back(distance_name(distance));
        row.push_back(or_unknown(gpu.cpus.to_string()));
        row.push_back(gpu.numa ? std::to_string(*gpu.numa) : "N/A");
    }
    return table(std::move(rows), {.bold_heading = colour});
}

std::string gpu_legend(const NodeTopology& topology) {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < topology.gpus.size(); ++i) {
        const Gpu& gpu = topology.gpus[i];
        rows.push_back(
            {formatted("  GPU{}:", i), gpu.pci, or_unknown(gpu.model), or_unknown(gpu.uuid)});
        for (const MigInstance& mig : gpu.mig) {
            rows.push_back({"", "", "  MIG " + or_unknown(mig.profile), mig.uuid});
        }
    }
    return table(std::move(rows));
}

void add_port(Row& row, const HcaPort& port, const PortEligibility& eligibility) {
    using State = HcaPort::State;
    using Link = HcaPort::Link;
    row.insert(row.end(),
               {formatted("port {}", port.number),
                port.state == State::unknown  ? "N/A"
                : port.state == State::active ? "ACTIVE"
                                              : "DOWN",
                port.link == Link::unknown      ? "N/A"
                : port.link == Link::infiniband ? "InfiniBand"
                                                : "Ethernet",
                port.gbps > 0 ? formatted("{} Gb/s", port.gbps) : "N/A",
                eligibility.eligible ? "eligible" : "not eligible: " + eligibility.reason});
}

std::string nic_legend(const NodeTopology& topology) {
    const auto eligibility = port_eligibility(topology);
    std::vector<Row> rows;
    for (std::size_t i = 0; i < topology.hcas.size(); ++i) {
        const Hca& hca = topology.hcas[i];
        Row head{formatted("  NIC{}:", i), hca.name, or_unknown(hca.pci)};
        if (hca.ports.empty()) rows.push_back(head);
        for (std::size_t p = 0; p < hca.ports.size(); ++p) {
            add_port(rows.emplace_back(head), hca.ports[p], eligibility[i][p]);
        }
    }
    return table(std::move(rows));
}

}  // namespace

std::string topo_table(const NodeTopology& topology, bool colour) {
    if (topology.gpus.empty() && topology.hcas.empty()) {
        return "no GPU and no HCA here; for a compute node: srun -N1 --gres=gpu:1 distgpu topo\n";
    }
    std::string text = matrix(topology, colour);
    const auto add_legend = [&](std::string_view heading, std::string_view legend) {
        text += formatted("\n{}\n\n{}", styled(colour, "1", heading), legend);
    };
    if (!topology.gpus.empty() && !topology.hcas.empty()) add_legend("Legend:", distance_legend);
    if (!topology.gpus.empty()) add_legend("GPU Legend:", gpu_legend(topology));
    if (const std::string others = left_out_gpus(topology); !others.empty()) {
        text += formatted("\nOther GPUs: {}\n", others);
    }
    if (!topology.hcas.empty()) add_legend("NIC Legend:", nic_legend(topology));
    return text;
}

namespace {

struct Arguments {
    std::optional<std::string> topology;
    std::string format = "table";
    std::optional<std::string> save;
    bool if_needed = false;
    std::optional<std::string> svg;
};

Result<Done> show_topology(const Arguments& arguments) {
    auto topology = arguments.topology ? load_topology(*arguments.topology) : discover();
    return std::move(topology).and_then([&](const NodeTopology& node) {
        if (arguments.svg) {
            const NodePicture picture{
                node.host.empty() ? node.source : node.host,
                formatted("{}, {}, {}", counted(node.cores.size(), "core"),
                          counted(node.gpus.size(), "GPU"), counted(node.hcas.size(), "HCA")),
                &node,
                {}};
            return replace_file(*arguments.svg, draw(picture), Readers::by_umask);
        }
        return print(arguments.format == "json" ? to_json(node, std::nullopt)
                                                : topo_table(node, has_colour_output()));
    });
}

// A lock of the file's folder, so that only one process discovers; not open if another has it.
UniqueFd lock_folder_of(const std::string& path) {
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    constexpr mode_t searchable_by_all = 0755;
    mkdir(folder.c_str(), searchable_by_all);
    UniqueFd lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const bool is_locked = lock.is_open() && flock(lock.fd(), LOCK_EX | LOCK_NB) == 0;
    return is_locked ? std::move(lock) : UniqueFd();
}

Result<Done> save_topology(const std::string& path) {
    // Before the discovery: a device that is added meanwhile then makes the saved text stale, not
    // wrong.
    const auto identity = machine_identity();
    if (!identity) return identity.error();
    // The steps of all users read it.
    return discover().and_then([&](const NodeTopology& node) {
        return replace_file(path, to_json(node, *identity), Readers::everyone);
    });
}

ExitCode run_topo(const Arguments& arguments) {
    unset_hwloc_variables();
    UniqueFd lock;
    if (arguments.save && arguments.if_needed) {
        lock = lock_folder_of(*arguments.save);
        if (!lock.is_open() || !needs_save(*arguments.save)) return ExitCode::done;
    }
    const auto done = arguments.save ? save_topology(*arguments.save) : show_topology(arguments);
    return done ? ExitCode::done : report_error(done.error(), ExitCode::environment);
}

}  // namespace

Subcommand topo_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    return {.name = "topo",
            .help = "Show this node's GPUs and HCAs, and the distances between them.",
            .options = {{"--topology", &arguments->topology,
                         "Show the machine in FILE instead: XML from hwloc's lstopo, or "
                         "JSON from distgpu topo",
                         "FILE"},
                        format_option(arguments->format),
                        {.name = "--svg",
                         .target = &arguments->svg,
                         .help = "Write an SVG picture to FILE instead",
                         .value_name = "FILE",
                         .excludes = {"--format"}},
                        {.name = "--save",
                         .target = &arguments->save,
                         .help = "Write the JSON to FILE, for all steps until the next boot",
                         .value_name = "FILE",
                         .excludes = {"--topology", "--format", "--svg"}},
                        {.name = "--if-needed",
                         .target = &arguments->if_needed,
                         .help = "Save it only if FILE is not of this boot, or devices or drivers "
                                 "have appeared since"}},
            .run = [arguments] { return run_topo(*arguments); }};
}

}  // namespace distgpu
