// Reads distgpu.topo/1. The text is distrusted: its strings become parts of paths and of tasks'
// environments, its numbers become indices. See topology_json.h.
#include "mapping/topology/json_fields.h"
#include "mapping/topology/json_words.h"
#include "mapping/topology/topology_json.h"

#include <algorithm>

namespace distgpu {
namespace {

namespace words = json_words;

constexpr std::uint32_t id_limit = 1U << 16U;
constexpr std::uint32_t minor_limit = 1U << 20U;  // Linux's minor numbers have 20 bits
constexpr std::uint32_t port_limit = 256;         // InfiniBand's port numbers have 8 bits
constexpr double fastest_gbps = 1e6;

void read_numa(const Fields& fields, std::vector<NumaNode>& numas) {
    const NumaNode numa{fields.number("id", id_limit), fields.cpus("cpus")};
    if (!numas.empty() && numa.id <= numas.back().id) fields.refuse("id", "not in order");
    numas.push_back(numa);
}

// In the text a NUMA node is named by the operating system's number.
std::uint32_t numa_index(const Fields& fields, std::uint32_t id,
                         const std::vector<NumaNode>& numas) {
    const auto numa = std::find_if(numas.begin(), numas.end(),
                                   [&](const NumaNode& node) { return node.id == id; });
    if (numa == numas.end()) fields.refuse("numa", "not one of \"numa\"");
    return static_cast<std::uint32_t>(numa - numas.begin());
}

std::optional<std::uint32_t> read_numa_id(const Fields& fields,
                                          const std::vector<NumaNode>& numas) {
    const auto id = fields.optional_number("numa", id_limit);
    if (id) numa_index(fields, *id, numas);
    return id;
}

void read_core(const Fields& fields, const std::vector<NumaNode>& numas, CpuSet& of_others,
               std::vector<Core>& cores) {
    const Core core{fields.cpus("cpus"), numa_index(fields, fields.number("numa", id_limit), numas),
                    fields.number("package", id_limit)};
    if (core.cpus.empty()) fields.refuse("cpus", "names no CPU");
    if (core.cpus.intersects(of_others)) fields.refuse("cpus", "another core has one of them");
    of_others |= core.cpus;
    cores.push_back(core);
}

Gpu read_gpu(const Fields& fields, std::size_t index, const std::vector<NumaNode>& numas) {
    if (fields.number("index", id_limit) != index) fields.refuse("index", "not in order");
    Gpu gpu;
    gpu.pci = fields.name("pci");
    gpu.partition = fields.number("partition", id_limit);
    gpu.vendor = fields.word("vendor", words::vendors);
    gpu.model = fields.text("model");
    gpu.uuid = fields.optional_name("uuid");
    gpu.minor = fields.optional_number("minor", minor_limit);
    gpu.numa = read_numa_id(fields, numas);
    gpu.cpus = fields.cpus("cpus");
    fields.each("mig", [&](const Fields& instance, std::size_t) {
        gpu.mig.push_back({instance.name("uuid"), instance.text("profile")});
    });
    return gpu;
}

HcaPort read_port(const Fields& fields) {
    HcaPort port;
    port.number = fields.number("port", port_limit);
    port.state = fields.optional_word("state", words::states).value_or(HcaPort::State::unknown);
    port.link = fields.optional_word("link", words::links).value_or(HcaPort::Link::unknown);
    port.gbps = fields.optional_rate("gbps", fastest_gbps);
    return port;
}

Hca read_hca(const Fields& fields, const std::vector<NumaNode>& numas) {
    Hca hca;
    hca.name = fields.name("name");
    hca.pci = fields.optional_name("pci");
    hca.kind = fields.word("kind", words::hca_kinds);
    hca.numa = read_numa_id(fields, numas);
    hca.cpus = fields.cpus("cpus");
    fields.each("ports",
                [&](const Fields& port, std::size_t) { hca.ports.push_back(read_port(port)); });
    return hca;
}

std::optional<Distance> distance_of(const Json& json) {
    const auto* const word = json.get_ptr<const std::string*>();
    if (word == nullptr) return std::nullopt;
    const auto found = std::find_if(words::distances.begin(), words::distances.end(),
                                    [&](const auto& entry) { return entry.word == *word; });
    return found == words::distances.end() ? std::nullopt : std::optional(found->value);
}

std::vector<std::vector<Distance>> read_distances(const Fields& fields, std::size_t gpus,
                                                  std::size_t hcas) {
    std::vector<std::vector<Distance>> distances;
    const Json& rows = fields.array("distance");
    bool fits = rows.size() == gpus;
    for (const Json& row : rows) {
        fits = fits && row.is_array() && row.size() == hcas;
        if (!fits) break;
        auto& of_gpu = distances.emplace_back();
        for (const Json& item : row) {
            const auto distance = distance_of(item);
            if (!distance) fields.refuse("distance", "holds what is none of its words");
            of_gpu.push_back(distance.value_or(Distance::sys));
        }
    }
    if (!fits) fields.refuse("distance", "not a row for each GPU with a word for each HCA");
    return distances;
}

NodeTopology read_topology(const Fields& fields) {
    NodeTopology topology;
    topology.host = fields.text("host");
    topology.source = fields.text("source");
    auto& numas = topology.numas;
    fields.each("numa", [&](const Fields& item, std::size_t) { read_numa(item, numas); });
    CpuSet taken;
    fields.each("cores", [&](const Fields& item, std::size_t) {
        read_core(item, numas, taken, topology.cores);
    });
    if (topology.cores.empty()) fields.refuse("cores", "empty");
    fields.each("gpus", [&](const Fields& item, std::size_t index) {
        topology.gpus.push_back(read_gpu(item, index, numas));
    });
    fields.each("hcas", [&](const Fields& item, std::size_t) {
        topology.hcas.push_back(read_hca(item, numas));
    });
    topology.distances = read_distances(fields, topology.gpus.size(), topology.hcas.size());
    return topology;
}

MachineIdentity read_machine(const Fields& fields) {
    MachineIdentity machine{fields.name("boot_id"), {}};
    for (const Json& item : fields.array("pci")) {
        const auto* const address = item.get_ptr<const std::string*>();
        if (address == nullptr || !is_name(*address)) {
            fields.refuse("pci", "holds what is no PCI address");
            break;
        }
        machine.pci.push_back(*address);
    }
    return machine;
}

}  // namespace

Result<SavedTopology> parse_topology(std::string_view origin, std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    std::optional<std::string> problem;
    SavedTopology saved;
    const Fields fields(json, "", problem);
    if (!json.is_object()) {
        problem = "not a JSON object";
    } else if (fields.text("schema") != words::schema) {
        fields.refuse("schema", "not distgpu.topo/1");
    } else {
        saved.topology = read_topology(fields);
        fields.optional_object("machine",
                               [&](const Fields& item) { saved.machine = read_machine(item); });
    }
    if (!problem) return saved;
    return Error{std::string(origin), *problem, "write it anew with distgpu topo"};
}

}  // namespace distgpu
