#include "topo/topo_table.h"

#include "base/format.h"
#include "mapping/binding/binding.h"
#include "mapping/topology/port_verdicts.h"
#include "output.h"
#include "table.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

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
        for (const Distance distance : topology.distances[i]) row.emplace_back(word(distance));
        row.push_back(or_unknown(gpu.cpus.to_string()));
        row.push_back(gpu.numa ? std::to_string(*gpu.numa) : or_unknown(""));
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

std::string_view state_word(HcaPort::State state) {
    if (state == HcaPort::State::unknown) return "N/A";
    return state == HcaPort::State::active ? "ACTIVE" : "DOWN";
}

std::string_view link_word(HcaPort::Link link) {
    if (link == HcaPort::Link::unknown) return "N/A";
    return link == HcaPort::Link::infiniband ? "InfiniBand" : "Ethernet";
}

Row port_row(const HcaPort& port, const PortVerdict& verdict) {
    return {formatted("port {}", port.number), std::string(state_word(port.state)),
            std::string(link_word(port.link)),
            port.gbps > 0 ? formatted("{} Gb/s", port.gbps) : or_unknown(""),
            verdict.eligible ? "eligible" : "not eligible: " + verdict.why};
}

std::string nic_legend(const NodeTopology& topology) {
    const auto verdicts = port_verdicts(topology);
    std::vector<Row> rows;
    for (std::size_t i = 0; i < topology.hcas.size(); ++i) {
        const Hca& hca = topology.hcas[i];
        Row head{formatted("  NIC{}:", i), hca.name, or_unknown(hca.pci)};
        if (hca.ports.empty()) rows.push_back(head);
        for (std::size_t p = 0; p < hca.ports.size(); ++p) {
            Row row = port_row(hca.ports[p], verdicts[i][p]);
            row.insert(row.begin(), head.begin(), head.end());
            rows.push_back(std::move(row));
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
    const auto add = [&](std::string_view heading, std::string_view legend) {
        text += formatted("\n{}\n\n{}", styled(colour, "1", heading), legend);
    };
    if (!topology.gpus.empty() && !topology.hcas.empty()) add("Legend:", distance_legend);
    if (!topology.gpus.empty()) add("GPU Legend:", gpu_legend(topology));
    if (!topology.hcas.empty()) add("NIC Legend:", nic_legend(topology));
    return text;
}

}  // namespace distgpu
