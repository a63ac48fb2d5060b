// Writes a topology as distgpu.topo/1. See topology_json.h.
#include "mapping/topology/topology_json.h"

#include "base/format.h"
#include "base/json_text.h"
#include "mapping/topology/json_words.h"
#include "mapping/topology/port_verdicts.h"

namespace distgpu {
namespace {

namespace words = json_words;

JsonText cpus_json(const CpuSet& cpus) {
    return json_text_or_null(cpus.to_string());
}

JsonText numa_json(const NumaNode& numa) {
    return {{"cpus", cpus_json(numa.cpus)}, {"id", numa.id}};
}

JsonText core_json(const NodeTopology& topology, const Core& core) {
    return {{"cpus", core.cpus.to_string()},
            {"numa", topology.numas[core.numa].id},
            {"package", core.package}};
}

JsonText mig_json(const MigInstance& instance) {
    return {{"profile", json_text_or_null(instance.profile)}, {"uuid", instance.uuid}};
}

JsonText gpu_json(const Gpu& gpu, std::size_t index) {
    return {{"cpus", cpus_json(gpu.cpus)},
            {"index", index},
            {"mig", JsonText::list(gpu.mig, mig_json)},
            {"minor", gpu.minor},
            {"model", json_text_or_null(gpu.model)},
            {"numa", gpu.numa},
            {"partition", gpu.partition},
            {"pci", gpu.pci},
            {"uuid", json_text_or_null(gpu.uuid)},
            {"vendor", words::word_of(words::vendors, gpu.vendor)}};
}

JsonText port_json(const HcaPort& port, const PortVerdict& verdict) {
    return {{"eligible", verdict.eligible},
            {"gbps", port.gbps > 0 ? JsonText(port.gbps) : JsonText()},
            {"link", words::word_of(words::links, port.link)},
            {"port", port.number},
            {"state", words::word_of(words::states, port.state)},
            {"why", json_text_or_null(verdict.why)}};
}

JsonText hca_json(const Hca& hca, const std::vector<PortVerdict>& verdicts) {
    auto verdict = verdicts.begin();
    const auto json = [&](const HcaPort& port) { return port_json(port, *verdict++); };
    return {{"cpus", cpus_json(hca.cpus)},
            {"kind", words::word_of(words::hca_kinds, hca.kind)},
            {"name", hca.name},
            {"numa", hca.numa},
            {"pci", json_text_or_null(hca.pci)},
            {"ports", JsonText::list(hca.ports, json)}};
}

// `"name": [`, an item a line, `]`; `item(i)` makes one.
template <class Item>
std::string list(std::string_view name, std::size_t count, Item&& item) {
    std::string text = formatted(",\n\"{}\": [", name);
    for (std::size_t i = 0; i < count; ++i) {
        text += formatted("{}\n{}", i == 0 ? "" : ",", item(i).line());
    }
    return text + "]";
}

}  // namespace

std::string to_json(const NodeTopology& topology, const std::optional<MachineIdentity>& machine) {
    const auto verdicts = port_verdicts(topology);
    const auto& [host, source, numas, cores, gpus, hcas, distances] = topology;
    std::string text =
        formatted("{{\n\"schema\": \"{}\",\n\"host\": {},\n\"source\": {}", words::schema,
                  json_text_or_null(host).line(), JsonText(source).line());
    if (machine) {
        const JsonText identity{{"boot_id", machine->boot_id},
                                {"pci", JsonText::list(machine->pci)}};
        text += formatted(",\n\"machine\": {}", identity.line());
    }
    text += list("numa", numas.size(), [&](std::size_t i) { return numa_json(topology.numas[i]); });
    text += list("cores", cores.size(),
                 [&](std::size_t i) { return core_json(topology, topology.cores[i]); });
    text += list("gpus", gpus.size(), [&](std::size_t i) { return gpu_json(topology.gpus[i], i); });
    text += list("hcas", hcas.size(),
                 [&](std::size_t i) { return hca_json(topology.hcas[i], verdicts[i]); });
    text += list("distance", distances.size(), [&](std::size_t i) {
        return JsonText::list(topology.distances[i], [](Distance step) { return word(step); });
    });
    return text + "}\n";
}

}  // namespace distgpu
