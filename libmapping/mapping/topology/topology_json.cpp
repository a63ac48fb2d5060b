// Writes and reads distgpu.topo/1. Input is not trusted: its strings become parts of paths and of
// tasks' environments, its numbers become indices.
#include "mapping/topology/topology_json.h"

#include "base/format.h"
#include "base/json.h"
#include "base/values.h"

#include <algorithm>
#include <array>

namespace distgpu {
namespace {

constexpr std::string_view schema = "distgpu.topo/1";

// Unknown values have no name and are written as null.
constexpr EnumNames<GpuVendor> vendors{{"nvidia", "amd", "intel"}};
constexpr EnumNames<HcaKind> hca_kinds{{"verbs", "efa", "slingshot"}};
constexpr EnumNames<HcaPort::State> states{{"active", "down"}};
constexpr EnumNames<HcaPort::Link> links{{"infiniband", "ethernet"}};

constexpr std::size_t max_text_length = 4096;  // Linux's longest path
constexpr std::uint32_t id_limit = 1U << 16U;
constexpr std::uint32_t minor_limit = 1U << 20U;  // Linux's minor numbers have 20 bits
constexpr std::uint32_t port_limit = 256;         // InfiniBand's port numbers have 8 bits
constexpr double max_gbps = 1e6;

bool is_alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_control(char c) {
    return (c >= 0 && c < ' ') || c == '\x7f';
}

// True for text that is safe in a path and in a list of names: a letter or digit, then letters,
// digits and any of -_.:
bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= max_text_length && is_alphanumeric(text.front()) &&
           std::ranges::all_of(text, [](char c) {
               return is_alphanumeric(c) || std::string_view("-_.:").find(c) != std::string::npos;
           });
}

// A missing field or null is read as nullopt, the empty text or set, or 0, unless the function
// refuses it as "missing".
std::string read_line(const JsonFields& fields, const char* field) {
    const JsonValue value = fields.value(field);
    if (value.is_null()) return {};
    const auto text = value.text();
    if (text && text->size() <= max_text_length && std::ranges::none_of(*text, is_control)) {
        return std::string(*text);
    }
    fields.refuse(field, "not a line of text");
    return {};
}

std::string read_optional_name(const JsonFields& fields, const char* field) {
    std::string name = read_line(fields, field);
    if (name.empty() || is_name(name)) return name;
    fields.refuse(field, "not made of letters, digits and -_.:");
    return {};
}

std::string read_name(const JsonFields& fields, const char* field) {
    std::string name = read_optional_name(fields, field);
    if (name.empty()) fields.refuse(field, "missing");
    return name;
}

CpuSet read_cpus(const JsonFields& fields, const char* field) {
    const JsonValue value = fields.value(field);
    if (value.is_null()) return {};
    // Not read_line(): the list of a large node may be longer.
    const auto list = value.text();
    auto cpus = list ? CpuSet::parse(*list) : Result<CpuSet>(Error{});
    if (cpus) return *std::move(cpus);
    fields.refuse(field, "not a list of CPUs");
    return {};
}

// 0 .. limit
double read_rate(const JsonFields& fields, const char* field, double limit) {
    const JsonValue value = fields.value(field);
    if (value.is_null()) return 0;
    const double rate = value.number().value_or(-1);
    if (rate >= 0 && rate <= limit) return rate;
    fields.refuse(field, formatted("not a number from 0 to {}", limit));
    return 0;
}

template <class Choice>
std::optional<Choice> read_optional_enum(const JsonFields& fields, const char* field,
                                         const EnumNames<Choice>& known) {
    const std::string text = read_line(fields, field);
    const auto value = known.value_of(text);
    if (!text.empty() && !value) fields.refuse(field, "unknown value");
    return value;
}

template <class Value>
Value require(const JsonFields& fields, const char* field, const std::optional<Value>& value) {
    if (!value) fields.refuse(field, "missing");
    return value.value_or(Value{});
}

// 0 .. limit - 1
std::uint32_t read_number(const JsonFields& fields, const char* field, std::uint32_t limit) {
    return require(fields, field, fields.optional_index(field, limit));
}

// The index of the NUMA node with this id; the JSON refers to NUMA nodes by id.
std::uint32_t numa_index(const JsonFields& fields, std::uint32_t id,
                         const std::vector<NumaNode>& numas) {
    const auto numa = std::ranges::find(numas, id, &NumaNode::id);
    if (numa == numas.end()) fields.refuse("numa", "not one of \"numa\"");
    return static_cast<std::uint32_t>(numa - numas.begin());
}

std::optional<std::uint32_t> read_numa_id(const JsonFields& fields,
                                          const std::vector<NumaNode>& numas) {
    const auto id = fields.optional_index("numa", id_limit);
    if (id) numa_index(fields, *id, numas);
    return id;
}

Gpu read_gpu(const JsonFields& fields, std::size_t index, const std::vector<NumaNode>& numas) {
    if (read_number(fields, "index", id_limit) != index) fields.refuse("index", "not in order");
    Gpu gpu;
    gpu.pci = read_name(fields, "pci");
    gpu.partition = read_number(fields, "partition", id_limit);
    gpu.vendor = require(fields, "vendor", read_optional_enum(fields, "vendor", vendors));
    gpu.model = read_line(fields, "model");
    gpu.uuid = read_optional_name(fields, "uuid");
    gpu.minor = fields.optional_index("minor", minor_limit);
    gpu.numa = read_numa_id(fields, numas);
    gpu.cpus = read_cpus(fields, "cpus");
    fields.for_each("mig", [&](const JsonFields& instance) {
        gpu.mig.push_back({read_name(instance, "uuid"), read_line(instance, "profile")});
    });
    return gpu;
}

OtherGpu read_other_gpu(const JsonFields& fields) {
    return {read_name(fields, "pci"),
            require(fields, "vendor", read_optional_enum(fields, "vendor", vendors)),
            read_line(fields, "model")};
}

Hca read_hca(const JsonFields& fields, const std::vector<NumaNode>& numas) {
    Hca hca;
    hca.name = read_name(fields, "name");
    hca.pci = read_optional_name(fields, "pci");
    hca.kind = require(fields, "kind", read_optional_enum(fields, "kind", hca_kinds));
    hca.numa = read_numa_id(fields, numas);
    hca.cpus = read_cpus(fields, "cpus");
    fields.for_each("ports", [&](const JsonFields& port) {
        using State = HcaPort::State;
        using Link = HcaPort::Link;
        hca.ports.push_back({read_number(port, "port", port_limit),
                             read_optional_enum(port, "state", states).value_or(State::unknown),
                             read_optional_enum(port, "link", links).value_or(Link::unknown),
                             read_rate(port, "gbps", max_gbps)});
    });
    return hca;
}

std::vector<std::vector<Distance>> read_distances(const JsonFields& fields, std::size_t gpus,
                                                  std::size_t hcas) {
    std::vector<std::vector<Distance>> distances;
    const auto rows = fields.list("distance");
    bool fits = rows.size() == gpus;
    for (const JsonValue row : rows) {
        const auto items = row.list();
        fits = fits && items && items->size() == hcas;
        if (!fits) break;
        auto& in_row = distances.emplace_back();
        for (const JsonValue item : *items) {
            const auto distance = distance_names.value_of(item.text().value_or(""));
            if (!distance) fields.refuse("distance", "contains an unknown distance");
            in_row.push_back(distance.value_or(Distance::sys));
        }
    }
    if (!fits) fields.refuse("distance", "not a row for each GPU with a distance for each HCA");
    return distances;
}

NodeTopology read_topology(const JsonFields& fields) {
    NodeTopology topology;
    topology.host = read_line(fields, "host");
    topology.source = read_line(fields, "source");
    auto& numas = topology.numas;
    fields.for_each("numa", [&](const JsonFields& item) {
        const NumaNode numa{read_number(item, "id", id_limit), read_cpus(item, "cpus")};
        if (!numas.empty() && numa.id <= numas.back().id) item.refuse("id", "not in order");
        numas.push_back(numa);
    });
    CpuSet assigned;
    fields.for_each("cores", [&](const JsonFields& item) {
        const Core core{read_cpus(item, "cpus"),
                        numa_index(item, read_number(item, "numa", id_limit), numas),
                        read_number(item, "package", id_limit)};
        if (core.cpus.empty()) item.refuse("cpus", "names no CPU");
        if (core.cpus.intersects(assigned)) {
            item.refuse("cpus", "another core already has one of these CPUs");
        }
        assigned |= core.cpus;
        topology.cores.push_back(core);
    });
    if (topology.cores.empty()) fields.refuse("cores", "empty");
    fields.for_each("gpus", [&](const JsonFields& item) {
        topology.gpus.push_back(read_gpu(item, topology.gpus.size(), numas));
    });
    // Earlier releases did not write it.
    if (fields.has("other_gpus")) {
        topology.other_gpus = fields.objects("other_gpus", read_other_gpu);
    }
    fields.for_each(
        "hcas", [&](const JsonFields& item) { topology.hcas.push_back(read_hca(item, numas)); });
    topology.distances = read_distances(fields, topology.gpus.size(), topology.hcas.size());
    return topology;
}

MachineIdentity read_machine(const JsonFields& fields) {
    MachineIdentity machine{read_name(fields, "boot_id"), {}, fields.texts("drivers")};
    for (const JsonValue item : fields.list("pci")) {
        const std::string_view address = item.text().value_or("");
        if (!is_name(address)) fields.refuse("pci", "contains an invalid PCI address");
        machine.pci.emplace_back(address);
    }
    return machine;
}

SavedTopology read_saved(const JsonFields& fields) {
    if (read_line(fields, "schema") != schema) {
        fields.refuse("schema", "not distgpu.topo/1");
        return {};
    }
    return {read_topology(fields), fields.optional_object("machine", read_machine)};
}

JsonText cpus_json(const CpuSet& cpus) {
    return json_text_or_null(cpus.to_string());
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
            {"vendor", json_text_or_null(vendors.name_of(gpu.vendor))}};
}

JsonText other_gpu_json(const OtherGpu& gpu, std::size_t /*index*/) {
    return {{"model", json_text_or_null(gpu.model)},
            {"pci", gpu.pci},
            {"vendor", json_text_or_null(vendors.name_of(gpu.vendor))}};
}

JsonText port_json(const HcaPort& port, const PortEligibility& eligibility) {
    return {{"eligible", eligibility.eligible},
            {"gbps", port.gbps > 0 ? JsonText(port.gbps) : JsonText()},
            {"link", json_text_or_null(links.name_of(port.link))},
            {"port", port.number},
            {"state", json_text_or_null(states.name_of(port.state))},
            {"why", json_text_or_null(eligibility.reason)}};
}

JsonText hca_json(const Hca& hca, const std::vector<PortEligibility>& eligibility) {
    auto next = eligibility.begin();
    const auto json = [&](const HcaPort& port) { return port_json(port, *next++); };
    return {{"cpus", cpus_json(hca.cpus)},
            {"kind", json_text_or_null(hca_kinds.name_of(hca.kind))},
            {"name", hca.name},
            {"numa", hca.numa},
            {"pci", json_text_or_null(hca.pci)},
            {"ports", JsonText::list(hca.ports, json)}};
}

// `"name": [`, one line per item, `]`.
template <class Items, class ToJson>
std::string list_json(std::string_view name, const Items& items, ToJson&& json) {
    std::string text = formatted(",\n\"{}\": [", name);
    for (std::size_t i = 0; i < items.size(); ++i) {
        text += formatted("{}\n{}", i == 0 ? "" : ",", json(items[i], i).line());
    }
    return text + "]";
}

}  // namespace

Result<SavedTopology> parse_topology(std::string_view origin, std::string_view text) {
    SavedTopology saved;
    const auto problem =
        read_json(text, [&](const JsonFields& fields) { saved = read_saved(fields); });
    if (!problem) return saved;
    return Error{std::string(origin), problem->message(), "write it again with distgpu topo"};
}

std::string to_json(const NodeTopology& topology, const std::optional<MachineIdentity>& machine) {
    const auto eligibility = port_eligibility(topology);
    std::string text =
        formatted("{{\n\"schema\": \"{}\",\n\"host\": {},\n\"source\": {}", schema,
                  json_text_or_null(topology.host).line(), JsonText(topology.source).line());
    if (machine) {
        const JsonText identity{{"boot_id", machine->boot_id},
                                {"pci", JsonText::list(machine->pci)},
                                {"drivers", JsonText::list(machine->drivers)}};
        text += formatted(",\n\"machine\": {}", identity.line());
    }
    text += list_json("numa", topology.numas, [](const NumaNode& numa, std::size_t) {
        return JsonText{{"cpus", cpus_json(numa.cpus)}, {"id", numa.id}};
    });
    text += list_json("cores", topology.cores, [&](const Core& core, std::size_t) {
        return JsonText{{"cpus", core.cpus.to_string()},
                        {"numa", topology.numas[core.numa].id},
                        {"package", core.package}};
    });
    text += list_json("gpus", topology.gpus, gpu_json);
    text += list_json("other_gpus", topology.other_gpus, other_gpu_json);
    text += list_json("hcas", topology.hcas,
                      [&](const Hca& hca, std::size_t i) { return hca_json(hca, eligibility[i]); });
    text += list_json("distance", topology.distances, [](const auto& row, std::size_t) {
        return JsonText::list(row, distance_name);
    });
    return text + "}\n";
}

}  // namespace distgpu
