// Writes a topology as distgpu.topo/1. See topology_json.h.
#include "mapping/topology/topology_json.h"

#include "base/format.h"
#include "mapping/binding/binding.h"
#include "mapping/topology/json_words.h"

#include <nlohmann/json.hpp>

namespace distgpu {
namespace {

using Json = nlohmann::json;
namespace words = json_words;

Json text_or_null(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

Json cpus_or_null(const CpuSet& cpus) {
    return text_or_null(cpus.to_string());
}

Json number_or_null(const std::optional<std::uint32_t>& number) {
    return number ? Json(*number) : Json();
}

template <class Words, class Value>
Json word_or_null(const Words& words, Value value) {
    const auto found = words::word_of(words, value);
    return found ? Json(*found) : Json();
}

Json numa_json(const NumaNode& numa) {
    return {{"id", numa.id}, {"cpus", cpus_or_null(numa.cpus)}};
}

Json core_json(const NodeTopology& topology, const Core& core) {
    return {{"cpus", core.cpus.to_string()},
            {"numa", topology.numas[core.numa].id},
            {"package", core.package}};
}

Json gpu_json(const Gpu& gpu, std::size_t index) {
    Json mig = Json::array();
    for (const MigInstance& instance : gpu.mig) {
        mig.push_back({{"uuid", instance.uuid}, {"profile", text_or_null(instance.profile)}});
    }
    return {{"index", index},
            {"pci", gpu.pci},
            {"partition", gpu.partition},
            {"vendor", word_or_null(words::vendors, gpu.vendor)},
            {"model", text_or_null(gpu.model)},
            {"uuid", text_or_null(gpu.uuid)},
            {"minor", number_or_null(gpu.minor)},
            {"numa", number_or_null(gpu.numa)},
            {"cpus", cpus_or_null(gpu.cpus)},
            {"mig", std::move(mig)}};
}

Json hca_json(const Hca& hca, const std::vector<PortVerdict>& verdicts) {
    Json ports = Json::array();
    for (std::size_t i = 0; i < hca.ports.size(); ++i) {
        const HcaPort& port = hca.ports[i];
        ports.push_back({{"port", port.number},
                         {"state", word_or_null(words::states, port.state)},
                         {"link", word_or_null(words::links, port.link)},
                         {"gbps", port.gbps > 0 ? Json(port.gbps) : Json()},
                         {"eligible", verdicts[i].eligible},
                         {"why", text_or_null(verdicts[i].why)}});
    }
    return {{"name", hca.name},
            {"pci", text_or_null(hca.pci)},
            {"kind", word_or_null(words::hca_kinds, hca.kind)},
            {"numa", number_or_null(hca.numa)},
            {"cpus", cpus_or_null(hca.cpus)},
            {"ports", std::move(ports)}};
}

// One line. Text that is not UTF-8 (a file of /proc may hold any byte) is mended, not thrown at.
std::string line(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// `"name": [`, an item a line, `]`; `item(i)` makes one.
template <class Item>
std::string list(std::string_view name, std::size_t count, Item&& item) {
    std::string text = formatted(",\n\"{}\": [", name);
    for (std::size_t i = 0; i < count; ++i) {
        text += formatted("{}\n{}", i == 0 ? "" : ",", line(item(i)));
    }
    return text + "]";
}

}  // namespace

std::string to_json(const NodeTopology& topology, const std::optional<MachineIdentity>& machine) {
    const auto verdicts = judge_ports(topology);
    const auto& [host, source, numas, cores, gpus, hcas, distances] = topology;
    std::string text = formatted("{{\n\"schema\": \"{}\",\n\"host\": {},\n\"source\": {}",
                                 words::schema, line(text_or_null(host)), line(Json(source)));
    if (machine) {
        const Json identity{{"boot_id", machine->boot_id}, {"pci", machine->pci}};
        text += formatted(",\n\"machine\": {}", line(identity));
    }
    text += list("numa", numas.size(), [&](std::size_t i) { return numa_json(topology.numas[i]); });
    text += list("cores", cores.size(),
                 [&](std::size_t i) { return core_json(topology, topology.cores[i]); });
    text += list("gpus", gpus.size(), [&](std::size_t i) { return gpu_json(topology.gpus[i], i); });
    text += list("hcas", hcas.size(),
                 [&](std::size_t i) { return hca_json(topology.hcas[i], verdicts[i]); });
    text += list("distance", distances.size(), [&](std::size_t i) {
        Json row = Json::array();
        for (const Distance distance : topology.distances[i]) row.push_back(word(distance));
        return row;
    });
    return text + "}\n";
}

}  // namespace distgpu
