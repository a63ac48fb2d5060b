// See binding_case.h.
#include "binding_case.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <utility>

namespace distgpu::golden {
namespace {

template <class Value, std::size_t count>
std::optional<Value> named(const std::array<std::pair<std::string_view, Value>, count>& names,
                           std::string_view name) {
    for (const auto& [known, value] : names) {
        if (known == name) return value;
    }
    return std::nullopt;
}

constexpr std::array<std::pair<std::string_view, HcaPort::State>, 3> states{{
    {"active", HcaPort::State::active},
    {"down", HcaPort::State::down},
    {"unknown", HcaPort::State::unknown},
}};
constexpr std::array<std::pair<std::string_view, HcaPort::Link>, 3> links{{
    {"infiniband", HcaPort::Link::infiniband},
    {"ethernet", HcaPort::Link::ethernet},
    {"unknown", HcaPort::Link::unknown},
}};

// Each reader takes the words behind its key and says whether they make sense.
bool read_tasks(std::istream& words, BindingCase& golden_case) {
    std::size_t count = 0;
    std::string on;
    std::string mask;
    if (!(words >> count >> on >> mask) || on != "on") return false;
    const auto cpus = CpuSet::parse(mask);
    if (!cpus) return false;
    golden_case.share.masks.assign(count, *cpus);
    return true;
}

bool read_masks(std::istream& words, BindingCase& golden_case) {
    for (std::string mask; words >> mask;) {
        const auto cpus = CpuSet::parse(mask);
        if (!cpus) return false;
        golden_case.share.masks.push_back(*cpus);
    }
    return true;
}

bool read_cpus_per_task(std::istream& words, BindingCase& golden_case) {
    return static_cast<bool>(words >> golden_case.share.cpus_per_task);
}

bool read_gpus(std::istream& words, BindingCase& golden_case) {
    std::string list;
    words >> list;
    const auto gpus = CpuSet::parse(list == "none" ? "" : list);
    if (!gpus) return false;
    golden_case.all_gpus = false;
    golden_case.share.gpus = gpus->cpus();
    return true;
}

bool read_port(std::istream& words, BindingCase& golden_case) {
    PortLine line;
    std::string state;
    std::string link;
    if (!(words >> line.name >> state >> link >> line.port.gbps)) return false;
    const auto known_state = named(states, state);
    const auto known_link = named(links, link);
    if (!known_state || !known_link) return false;
    line.port.state = *known_state;
    line.port.link = *known_link;
    golden_case.ports.push_back(line);
    return true;
}

using Reader = bool (*)(std::istream&, BindingCase&);
constexpr std::array<std::pair<std::string_view, Reader>, 5> readers{{
    {"tasks", read_tasks},
    {"masks", read_masks},
    {"cpus-per-task", read_cpus_per_task},
    {"gpus", read_gpus},
    {"port", read_port},
}};

bool read_line(const std::string& line, BindingCase& golden_case) {
    if (line.starts_with("task ") || line.starts_with("gpu order:")) {
        golden_case.expected += line + "\n";
        return true;
    }
    std::istringstream words(line);
    std::string key;
    words >> key;
    const auto reader = named(readers, key);
    return reader && (*reader)(words, golden_case) && (words >> std::ws).eof();
}

std::string join(const std::vector<std::uint32_t>& numbers) {
    std::string text;
    for (const auto number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
    return text.empty() ? "none" : text;
}

std::string port_name(const Hca& hca, const HcaPort& port) {
    return hca.name + ":" + std::to_string(port.number);
}

// The lines between two blank ones.
struct Block {
    std::size_t line = 0;  // of its first, counted from 1
    std::vector<std::string> lines;
};

std::vector<Block> blocks(std::string_view text) {
    std::vector<Block> all(1);
    std::istringstream in{std::string(text)};
    std::size_t number = 1;
    for (std::string line; std::getline(in, line); ++number) {
        if (line.empty()) {
            all.emplace_back();
            continue;
        }
        if (all.back().lines.empty()) all.back().line = number;
        all.back().lines.push_back(line);
    }
    std::erase_if(all, [](const Block& block) { return block.lines.empty(); });
    return all;
}

}  // namespace

Result<std::vector<BindingCase>> read_binding_cases(const std::string& file,
                                                    std::string_view text) {
    std::vector<BindingCase> cases;
    std::vector<PortLine> ports;
    for (const auto& block : blocks(text)) {
        BindingCase golden_case;
        golden_case.place = file + ":" + std::to_string(block.line);
        golden_case.ports = ports;
        bool facts_only = true;
        for (const auto& line : block.lines) {
            if (line.starts_with('#')) continue;
            if (!read_line(line, golden_case)) {
                return Error{golden_case.place, "'" + line + "' is no line of a case", ""};
            }
            facts_only = facts_only && line.starts_with("port ");
        }
        if (!block.lines.front().starts_with('#')) {
            return Error{golden_case.place, "no reason", "begin with # and why it is so"};
        }
        if (facts_only) {
            ports = golden_case.ports;
        } else if (golden_case.share.masks.empty() || golden_case.expected.empty()) {
            return Error{golden_case.place, "a case without tasks or without expectation", ""};
        } else {
            cases.push_back(golden_case);
        }
    }
    return cases;
}

Result<NodeTopology> with_ports(NodeTopology topology, const std::vector<PortLine>& ports) {
    for (const auto& line : ports) {
        bool found = false;
        for (auto& hca : topology.hcas) {
            for (auto& port : hca.ports) {
                if (port_name(hca, port) != line.name) continue;
                const auto number = port.number;
                port = line.port;
                port.number = number;
                found = true;
            }
        }
        if (!found) return Error{line.name, "no such port", ""};
    }
    return topology;
}

std::string binding_text(const NodeTopology& topology, const NodeBinding& binding) {
    std::string text;
    for (std::size_t i = 0; i < binding.tasks.size(); ++i) {
        const auto& task = binding.tasks[i];
        text += "task " + std::to_string(i) + ": cpus " + task.cpus.to_string() + "; gpus " +
                join(task.gpus) + "; port ";
        if (task.port) {
            const auto& hca = topology.hcas[task.port->hca];
            text += port_name(hca, hca.ports[task.port->port]) + " " +
                    std::string(word(task.port_distance));
        } else {
            text += "none";
        }
        text += "\n";
    }
    return text + "gpu order: " + join(binding.gpu_order) + "\n";
}

}  // namespace distgpu::golden
