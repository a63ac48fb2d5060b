// Reads distgpu.topo/1. The text is distrusted: its strings become parts of paths and of tasks'
// environments, its numbers become indices. See topology_json.h.
#include "mapping/topology/json_words.h"
#include "mapping/topology/topology_fields.h"
#include "mapping/topology/topology_json.h"

#include <algorithm>

namespace distgpu {
namespace {

namespace words = json_words;

constexpr std::uint32_t id_limit = 1U << 16U;
constexpr std::uint32_t minor_limit = 1U << 20U;  // Linux's minor numbers have 20 bits
constexpr std::uint32_t port_limit = 256;         // InfiniBand's port numbers have 8 bits
constexpr double fastest_gbps = 1e6;

void read_numa(const JsonFields& fields, std::vector<NumaNode>& numas) {
    const NumaNode numa{number(fields, "id", id_limit), cpus(fields, "cpus")};
    if (!numas.empty() && numa.id <= numas.back().id) fields.refuse("id", "not in order");
    numas.push_back(numa);
}

// In the text a NUMA node is named by the operating system's number.
std::uint32_t numa_index(const JsonFields& fields, std::uint32_t id,
                         const std::vector<NumaNode>& numas) {
    const auto numa = std::find_if(numas.begin(), numas.end(),
                                   [&](const NumaNode& node) { return node.id == id; });
    if (numa == numas.end()) fields.refuse("numa", "not one of \"numa\"");
    return static_cast<std::uint32_t>(numa - numas.begin());
}

std::optional<std::uint32_t> read_numa_id(const JsonFields& fields,
                                          const std::vector<NumaNode>& numas) {
    const auto id = optional_number(fields, "numa", id_limit);
    if (id) numa_index(fields, *id, numas);
    return id;
}

void read_core(const JsonFields& fields, const std::vector<NumaNode>& numas, CpuSet& of_others,
               std::vector<Core>& cores) {
    const Core core{cpus(fields, "cpus"),
                    numa_index(fields, number(fields, "numa", id_limit), numas),
                    number(fields, "package", id_limit)};
    if (core.cpus.empty()) fields.refuse("cpus", "names no CPU");
    if (core.cpus.intersects(of_others))
        fields.refuse("cpus", "another core already has one of these CPUs");
    of_others |= core.cpus;
    cores.push_back(core);
}

Gpu read_gpu(const JsonFields& fields, std::size_t index, const std::vector<NumaNode>& numas) {
    if (number(fields, "index", id_limit) != index) fields.refuse("index", "not in order");
    Gpu gpu;
    gpu.pci = name(fields, "pci");
    gpu.partition = number(fields, "partition", id_limit);
    gpu.vendor = word(fields, "vendor", words::vendors);
    gpu.model = line(fields, "model");
    gpu.uuid = optional_name(fields, "uuid");
    gpu.minor = optional_number(fields, "minor", minor_limit);
    gpu.numa = read_numa_id(fields, numas);
    gpu.cpus = cpus(fields, "cpus");
    fields.each("mig", [&](const JsonFields& instance) {
        gpu.mig.push_back({name(instance, "uuid"), line(instance, "profile")});
    });
    return gpu;
}

HcaPort read_port(const JsonFields& fields) {
    HcaPort port;
    port.number = number(fields, "port", port_limit);
    port.state = optional_word(fields, "state", words::states).value_or(HcaPort::State::unknown);
    port.link = optional_word(fields, "link", words::links).value_or(HcaPort::Link::unknown);
    port.gbps = rate(fields, "gbps", fastest_gbps);
    return port;
}

Hca read_hca(const JsonFields& fields, const std::vector<NumaNode>& numas) {
    Hca hca;
    hca.name = name(fields, "name");
    hca.pci = optional_name(fields, "pci");
    hca.kind = word(fields, "kind", words::hca_kinds);
    hca.numa = read_numa_id(fields, numas);
    hca.cpus = cpus(fields, "cpus");
    fields.each("ports", [&](const JsonFields& port) { hca.ports.push_back(read_port(port)); });
    return hca;
}

// Nothing: not a row of so many HCAs' words.
std::optional<std::vector<Distance>> read_row(const JsonFields& fields, JsonValue row,
                                              std::size_t hcas) {
    const auto items = row.list();
    if (!items || items->size() != hcas) return std::nullopt;
    std::vector<Distance> distances;
    for (const JsonValue item : *items) {
        const auto distance = words::value_of(words::distances, item.text().value_or(""));
        if (!distance) fields.refuse("distance", "contains an unknown word");
        distances.push_back(distance.value_or(Distance::sys));
    }
    return distances;
}

std::vector<std::vector<Distance>> read_distances(const JsonFields& fields, std::size_t gpus,
                                                  std::size_t hcas) {
    std::vector<std::vector<Distance>> distances;
    const auto rows = fields.list("distance");
    bool fits = rows.size() == gpus;
    for (std::size_t i = 0; fits && i < rows.size(); ++i) {
        auto row = read_row(fields, rows[i], hcas);
        fits = row.has_value();
        if (row) distances.push_back(*std::move(row));
    }
    if (!fits) fields.refuse("distance", "not a row for each GPU with a word for each HCA");
    return distances;
}

NodeTopology read_topology(const JsonFields& fields) {
    NodeTopology topology;
    topology.host = line(fields, "host");
    topology.source = line(fields, "source");
    auto& numas = topology.numas;
    fields.each("numa", [&](const JsonFields& item) { read_numa(item, numas); });
    CpuSet taken;
    fields.each("cores",
                [&](const JsonFields& item) { read_core(item, numas, taken, topology.cores); });
    if (topology.cores.empty()) fields.refuse("cores", "empty");
    fields.each("gpus", [&](const JsonFields& item) {
        topology.gpus.push_back(read_gpu(item, topology.gpus.size(), numas));
    });
    fields.each("hcas",
                [&](const JsonFields& item) { topology.hcas.push_back(read_hca(item, numas)); });
    topology.distances = read_distances(fields, topology.gpus.size(), topology.hcas.size());
    return topology;
}

MachineIdentity read_machine(const JsonFields& fields) {
    MachineIdentity machine{name(fields, "boot_id"), {}};
    for (const JsonValue item : fields.list("pci")) {
        const std::string_view address = item.text().value_or("");
        if (!is_name(address)) fields.refuse("pci", "contains an invalid PCI address");
        machine.pci.emplace_back(address);
    }
    return machine;
}

SavedTopology read_saved(const JsonFields& fields) {
    if (line(fields, "schema") != words::schema) {
        fields.refuse("schema", "not distgpu.topo/1");
        return {};
    }
    return {read_topology(fields), fields.optional_object("machine", read_machine)};
}

}  // namespace

Result<SavedTopology> parse_topology(std::string_view origin, std::string_view text) {
    SavedTopology saved;
    const auto problem =
        read_json(text, [&](const JsonFields& fields) { saved = read_saved(fields); });
    if (!problem) return saved;
    return Error{std::string(origin), problem->message(), "write it again with distgpu topo"};
}

}  // namespace distgpu
