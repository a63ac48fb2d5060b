// distgpu.topo/1, read and written. The text is distrusted: its strings become parts of paths and
// of tasks' environments, its numbers become indices.
#include "mapping/topology/topology_json.h"

#include "base/format.h"
#include "base/json.h"
#include "base/values.h"

#include <algorithm>
#include <array>

namespace distgpu {
namespace {

constexpr std::string_view schema = "distgpu.topo/1";

// What is not known has no word: null.
constexpr EnumWords<GpuVendor> vendors{{"nvidia", "amd", "intel"}};
constexpr EnumWords<HcaKind> hca_kinds{{"verbs", "efa", "slingshot"}};
constexpr EnumWords<HcaPort::State> states{{"active", "down"}};
constexpr EnumWords<HcaPort::Link> links{{"infiniband", "ethernet"}};

constexpr std::size_t longest_text = 4096;  // Linux's longest path
constexpr std::uint32_t id_limit = 1U << 16U;
constexpr std::uint32_t minor_limit = 1U << 20U;  // Linux's minor numbers have 20 bits
constexpr std::uint32_t port_limit = 256;         // InfiniBand's port numbers have 8 bits
constexpr double fastest_gbps = 1e6;

bool is_alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_control(char c) {
    return (c >= 0 && c < ' ') || c == '\x7f';
}

// What may stand in a path and in a list of names: a letter or digit, then also any of -_.:
bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= longest_text && is_alphanumeric(text.front()) &&
           std::ranges::all_of(text, [](char c) {
               return is_alphanumeric(c) || std::string_view("-_.:").find(c) != std::string::npos;
           });
}

// The readers of fields: a missing field and null are nothing, the empty text or set, and 0, unless
// they are refused as "missing".
std::string line(const JsonFields& fields, const char* field) {
    const JsonValue value = fields.value(field);
    if (value.is_null()) return {};
    const auto text = value.text();
    if (text && text->size() <= longest_text && std::ranges::none_of(*text, is_control)) {
        return std::string(*text);
    }
    fields.refuse(field, "not a line of text");
    return {};
}

std::string optional_name(const JsonFields& fields, const char* field) {
    std::string name = line(fields, field);
    if (name.empty() || is_name(name)) return name;
    fields.refuse(field, "not made of letters, digits and -_.:");
    return {};
}

std::string name(const JsonFields& fields, const char* field) {
    std::string name = optional_name(fields, field);
    if (name.empty()) fields.refuse(field, "missing");
    return name;
}

CpuSet cpus(const JsonFields& fields, const char* field) {
    const JsonValue value = fields.value(field);
    if (value.is_null()) return {};
    // Not line(): on a large node a list has more than its bytes.
    const auto list = value.text();
    auto cpus = list ? CpuSet::parse(*list) : Result<CpuSet>(Error{});
    if (cpus) return *std::move(cpus);
    fields.refuse(field, "not a list of CPUs");
    return {};
}

// 0 .. limit
double rate(const JsonFields& fields, const char* field, double limit) {
    const JsonValue value = fields.value(field);
    if (value.is_null()) return 0;
    const double rate = value.number().value_or(-1);
    if (rate >= 0 && rate <= limit) return rate;
    fields.refuse(field, formatted("not a number from 0 to {}", limit));
    return 0;
}

// 0 .. limit - 1
std::optional<std::uint32_t> optional_number(const JsonFields& fields, const char* field,
                                             std::uint32_t limit) {
    if (fields.value(field).is_null()) return std::nullopt;
    return static_cast<std::uint32_t>(fields.index(field, limit));
}

template <class Choice>
std::optional<Choice> optional_word(const JsonFields& fields, const char* field,
                                    const EnumWords<Choice>& known) {
    const std::string text = line(fields, field);
    const auto value = known.value_of(text);
    if (!text.empty() && !value) fields.refuse(field, "not one of the known words");
    return value;
}

template <class Value>
Value needed(const JsonFields& fields, const char* field, const std::optional<Value>& value) {
    if (!value) fields.refuse(field, "missing");
    return value.value_or(Value{});
}

std::uint32_t number(const JsonFields& fields, const char* field, std::uint32_t limit) {
    return needed(fields, field, optional_number(fields, field, limit));
}

// In the text a NUMA node is named by the operating system's number.
std::uint32_t numa_index(const JsonFields& fields, std::uint32_t id,
                         const std::vector<NumaNode>& numas) {
    const auto numa = std::ranges::find(numas, id, &NumaNode::id);
    if (numa == numas.end()) fields.refuse("numa", "not one of \"numa\"");
    return static_cast<std::uint32_t>(numa - numas.begin());
}

std::optional<std::uint32_t> read_numa_id(const JsonFields& fields,
                                          const std::vector<NumaNode>& numas) {
    const auto id = optional_number(fields, "numa", id_limit);
    if (id) numa_index(fields, *id, numas);
    return id;
}

Gpu read_gpu(const JsonFields& fields, std::size_t index, const std::vector<NumaNode>& numas) {
    if (number(fields, "index", id_limit) != index) fields.refuse("index", "not in order");
    Gpu gpu;
    gpu.pci = name(fields, "pci");
    gpu.partition = number(fields, "partition", id_limit);
    gpu.vendor = needed(fields, "vendor", optional_word(fields, "vendor", vendors));
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

Hca read_hca(const JsonFields& fields, const std::vector<NumaNode>& numas) {
    Hca hca;
    hca.name = name(fields, "name");
    hca.pci = optional_name(fields, "pci");
    hca.kind = needed(fields, "kind", optional_word(fields, "kind", hca_kinds));
    hca.numa = read_numa_id(fields, numas);
    hca.cpus = cpus(fields, "cpus");
    fields.each("ports", [&](const JsonFields& port) {
        using State = HcaPort::State;
        using Link = HcaPort::Link;
        hca.ports.push_back({number(port, "port", port_limit),
                             optional_word(port, "state", states).value_or(State::unknown),
                             optional_word(port, "link", links).value_or(Link::unknown),
                             rate(port, "gbps", fastest_gbps)});
    });
    return hca;
}

std::vector<std::vector<Distance>> read_distances(const JsonFields& fields, std::size_t gpus,
                                                  std::size_t hcas) {
    std::vector<std::vector<Distance>> read;
    const auto rows = fields.list("distance");
    bool fits = rows.size() == gpus;
    for (const JsonValue row : rows) {
        const auto items = row.list();
        fits = fits && items && items->size() == hcas;
        if (!fits) break;
        auto& words = read.emplace_back();
        for (const JsonValue item : *items) {
            const auto distance = distance_words.value_of(item.text().value_or(""));
            if (!distance) fields.refuse("distance", "contains an unknown word");
            words.push_back(distance.value_or(Distance::sys));
        }
    }
    if (!fits) fields.refuse("distance", "not a row for each GPU with a word for each HCA");
    return read;
}

NodeTopology read_topology(const JsonFields& fields) {
    NodeTopology topology;
    topology.host = line(fields, "host");
    topology.source = line(fields, "source");
    auto& numas = topology.numas;
    fields.each("numa", [&](const JsonFields& item) {
        const NumaNode numa{number(item, "id", id_limit), cpus(item, "cpus")};
        if (!numas.empty() && numa.id <= numas.back().id) item.refuse("id", "not in order");
        numas.push_back(numa);
    });
    CpuSet taken;
    fields.each("cores", [&](const JsonFields& item) {
        const Core core{cpus(item, "cpus"), numa_index(item, number(item, "numa", id_limit), numas),
                        number(item, "package", id_limit)};
        if (core.cpus.empty()) item.refuse("cpus", "names no CPU");
        if (core.cpus.intersects(taken)) {
            item.refuse("cpus", "another core already has one of these CPUs");
        }
        taken |= core.cpus;
        topology.cores.push_back(core);
    });
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
    if (line(fields, "schema") != schema) {
        fields.refuse("schema", "not distgpu.topo/1");
        return {};
    }
    return {read_topology(fields), fields.optional_object("machine", read_machine)};
}

JsonText cpus_json(const CpuSet& cpus) {
    return json_text_or_null(cpus.to_string());
}

JsonText json_of_mig(const MigInstance& instance) {
    return {{"profile", json_text_or_null(instance.profile)}, {"uuid", instance.uuid}};
}

JsonText gpu_json(const Gpu& gpu, std::size_t index) {
    return {{"cpus", cpus_json(gpu.cpus)},
            {"index", index},
            {"mig", JsonText::list(gpu.mig, json_of_mig)},
            {"minor", gpu.minor},
            {"model", json_text_or_null(gpu.model)},
            {"numa", gpu.numa},
            {"partition", gpu.partition},
            {"pci", gpu.pci},
            {"uuid", json_text_or_null(gpu.uuid)},
            {"vendor", json_text_or_null(vendors.word_of(gpu.vendor))}};
}

JsonText port_json(const HcaPort& port, const PortVerdict& verdict) {
    return {{"eligible", verdict.eligible},
            {"gbps", port.gbps > 0 ? JsonText(port.gbps) : JsonText()},
            {"link", json_text_or_null(links.word_of(port.link))},
            {"port", port.number},
            {"state", json_text_or_null(states.word_of(port.state))},
            {"why", json_text_or_null(verdict.why)}};
}

JsonText hca_json(const Hca& hca, const std::vector<PortVerdict>& verdicts) {
    auto verdict = verdicts.begin();
    const auto json = [&](const HcaPort& port) { return port_json(port, *verdict++); };
    return {{"cpus", cpus_json(hca.cpus)},
            {"kind", json_text_or_null(hca_kinds.word_of(hca.kind))},
            {"name", hca.name},
            {"numa", hca.numa},
            {"pci", json_text_or_null(hca.pci)},
            {"ports", JsonText::list(hca.ports, json)}};
}

// `"name": [`, an item a line, `]`.
template <class Items, class ToJson>
std::string list(std::string_view name, const Items& items, ToJson&& json) {
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
    const auto verdicts = port_verdicts(topology);
    std::string text =
        formatted("{{\n\"schema\": \"{}\",\n\"host\": {},\n\"source\": {}", schema,
                  json_text_or_null(topology.host).line(), JsonText(topology.source).line());
    if (machine) {
        const JsonText identity{{"boot_id", machine->boot_id},
                                {"pci", JsonText::list(machine->pci)}};
        text += formatted(",\n\"machine\": {}", identity.line());
    }
    text += list("numa", topology.numas, [](const NumaNode& numa, std::size_t) {
        return JsonText{{"cpus", cpus_json(numa.cpus)}, {"id", numa.id}};
    });
    text += list("cores", topology.cores, [&](const Core& core, std::size_t) {
        return JsonText{{"cpus", core.cpus.to_string()},
                        {"numa", topology.numas[core.numa].id},
                        {"package", core.package}};
    });
    text += list("gpus", topology.gpus, gpu_json);
    text += list("hcas", topology.hcas,
                 [&](const Hca& hca, std::size_t i) { return hca_json(hca, verdicts[i]); });
    text += list("distance", topology.distances,
                 [](const auto& row, std::size_t) { return JsonText::list(row, word); });
    return text + "}\n";
}

}  // namespace distgpu
