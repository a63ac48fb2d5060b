// Every machine of tests/topologies, and every real one that DISTGPU_TOPOLOGIES leads to: which
// CPUs, GPUs and port each task of a node gets, against files whose values were reasoned out.
//
// The cases of a file are set apart by blank lines and begin with the reason for what is expected,
// in lines with #. Then stands what Slurm gave: `tasks 4 on 0-95`, all with that mask, or
// `masks 0-7 8-15`, one a task; `cpus-per-task 8`; `gpus 0-3` or `gpus none`, without that line all
// of the node's. `port mlx5_0:1 active ethernet 25` is what a live machine says of a port and an
// hwloc XML does not; port lines that stand alone hold for all cases after them. Last comes what
// binding_text() shall write.
#include "mapping/binding/binding.h"

#include "golden_file.h"
#include "node/discovery/discover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace distgpu::golden {
namespace {

namespace fs = std::filesystem;

const fs::path goldens = DISTGPU_SOURCE_DIR "/tests/golden/binding";

struct PortLine {
    std::string name;  // HCA:NUMBER
    HcaPort port;
};

struct BindingCase {
    std::string place;  // "dgx2.txt:12", where it begins
    SlurmShare share;
    bool all_gpus = true;
    std::vector<PortLine> ports;
    std::string expected;
};

CpuSet cpus_of(const std::string& text) {
    const auto cpus = CpuSet::parse(text);
    if (!cpus) throw std::invalid_argument("'" + text + "' is no list of CPUs");
    return *cpus;
}

PortLine port_of(std::istream& words) {
    using State = HcaPort::State;
    using Link = HcaPort::Link;
    static const std::map<std::string, State> states{
        {"active", State::active}, {"down", State::down}, {"unknown", State::unknown}};
    static const std::map<std::string, Link> links{
        {"infiniband", Link::infiniband}, {"ethernet", Link::ethernet}, {"unknown", Link::unknown}};
    PortLine line;
    std::string state;
    std::string link;
    words >> line.name >> state >> link >> line.port.gbps;
    line.port.state = states.at(state);
    line.port.link = links.at(link);
    return line;
}

// Whether the line is one of a case.
bool read_line(const std::string& line, BindingCase& golden_case) {
    if (line.starts_with("task ") || line.starts_with("gpu order:")) {
        golden_case.expected += line + "\n";
        return true;
    }
    SlurmShare& share = golden_case.share;
    std::istringstream words(line);
    std::string key;
    std::string text;
    words >> key;
    if (key == "masks") {
        while (words >> text) share.masks.push_back(cpus_of(text));
        return words.eof();
    }
    if (key == "tasks") {
        std::size_t count = 0;
        std::string on;
        words >> count >> on >> text;
        share.masks.assign(count, cpus_of(text));
    } else if (key == "cpus-per-task") {
        words >> share.cpus_per_task;
    } else if (key == "gpus") {
        words >> text;
        golden_case.all_gpus = false;
        share.gpus = cpus_of(text == "none" ? "" : text).cpus();
    } else if (key == "port") {
        golden_case.ports.push_back(port_of(words));
    } else {
        return false;
    }
    return !words.fail() && (words >> std::ws).eof();
}

void require(bool holds, const BindingCase& golden_case, const std::string& problem) {
    if (!holds) throw std::runtime_error(golden_case.place + ": " + problem);
}

std::vector<BindingCase> read_cases(const fs::path& file) {
    std::vector<BindingCase> cases;
    std::vector<PortLine> ports;
    std::istringstream text(read_file(file));
    std::size_t number = 0;
    for (std::string line; std::getline(text, line);) {
        ++number;
        if (line.empty()) continue;
        BindingCase golden_case{
            file.filename().string() + ":" + std::to_string(number), {}, true, ports, ""};
        require(line.front() == '#', golden_case, "no reason; begin with # and why it is so");
        bool facts_only = true;
        do {
            if (line.front() == '#') continue;
            require(read_line(line, golden_case), golden_case,
                    "'" + line + "' is no line of a case");
            facts_only = facts_only && line.starts_with("port ");
        } while (std::getline(text, line) && (++number, !line.empty()));
        if (facts_only) {
            ports = golden_case.ports;
            continue;
        }
        require(!golden_case.share.masks.empty() && !golden_case.expected.empty(), golden_case,
                "a case without tasks or without expectation");
        cases.push_back(std::move(golden_case));
    }
    return cases;
}

std::string port_name(const Hca& hca, const HcaPort& port) {
    return hca.name + ":" + std::to_string(port.number);
}

NodeTopology with_ports(NodeTopology topology, const BindingCase& golden_case) {
    for (const auto& line : golden_case.ports) {
        bool found = false;
        for (auto& hca : topology.hcas) {
            for (auto& port : hca.ports) {
                if (port_name(hca, port) != line.name) continue;
                const auto port_number = port.number;
                port = line.port;
                port.number = port_number;
                found = true;
            }
        }
        require(found, golden_case, line.name + ": no such port");
    }
    return topology;
}

std::string join(const std::vector<std::uint32_t>& numbers) {
    std::string text;
    for (const auto number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
    return text.empty() ? "none" : text;
}

// One line a task, then the order of the GPUs, where it is not the one in which they were given:
// task 0: cpus 0-5,48-53; gpus 0; port mlx5_0:1 PIX
// gpu order: 1,0
std::string binding_text(const NodeTopology& topology, const SlurmShare& share) {
    const NodeBinding binding = bind(topology, BindingPolicy{}, share);
    std::string text;
    for (std::size_t i = 0; i < binding.tasks.size(); ++i) {
        const auto& task = binding.tasks[i];
        text += "task " + std::to_string(i) + ": cpus " + task.cpus.to_string() + "; gpus " +
                join(task.gpus) + "; port ";
        if (task.port) {
            const auto& hca = topology.hcas[task.port->hca];
            text += port_name(hca, hca.ports[task.port->port]) + " " +
                    std::string(distance_name(task.port_distance));
        } else {
            text += "none";
        }
        text += "\n";
    }
    if (binding.gpu_order == share.gpus) return text;
    return text + "gpu order: " + join(binding.gpu_order) + "\n";
}

std::set<std::string> names(const fs::path& folder, const std::string& extension) {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == extension) found.insert(entry.path().stem());
    }
    return found;
}

// Real machines of which a made-up one is a model: what holds for that holds for them.
const std::map<std::string, std::string> models{{"real/coral-lassen", "power9-4v100"},
                                                {"real/eas-tioga", "mi250x-ex235a"},
                                                {"real/g4dnmetal", "efa-8gpu"}};

// Relative to the goldens: "dgx2", "real/epyc-corona".
std::set<std::string> machines() {
    std::set<std::string> found = names(goldens, ".txt");
    for (const auto& name : names(goldens / "real", ".txt")) found.insert("real/" + name);
    for (const auto& [machine, model] : models) found.insert(machine);
    return found;
}

class GoldenBinding : public testing::TestWithParam<std::string> {};

TEST_P(GoldenBinding, IsAsReasoned) {
    const bool real = GetParam().starts_with("real/");
    const char* const folder = real ? std::getenv("DISTGPU_TOPOLOGIES") : DISTGPU_MACHINES;
    const std::string name = fs::path(GetParam()).filename();
    if (folder == nullptr) {
        GTEST_SKIP() << "DISTGPU_TOPOLOGIES names no folder with " << name << ".xml";
    }
    const auto machine = load_topology(fs::path(folder) / (name + ".xml"));
    ASSERT_TRUE(machine) << machine.error().message();
    CpuSet whole;
    for (const auto& core : machine->cores) whole |= core.cpus;
    // A user of a whole node asks for these, and each shape must have an answer to them.
    std::set<std::size_t> missing{1, 2, 4, machine->gpus.size()};
    const auto model = models.find(GetParam());
    const std::string& file = model == models.end() ? GetParam() : model->second;
    for (auto& golden_case : read_cases(goldens / (file + ".txt"))) {
        SCOPED_TRACE(golden_case.place);
        auto& share = golden_case.share;
        if (golden_case.all_gpus) {
            share.gpus.resize(machine->gpus.size());
            std::iota(share.gpus.begin(), share.gpus.end(), 0U);
        }
        EXPECT_EQ(golden_case.expected, binding_text(with_ports(*machine, golden_case), share));
        const bool usual = golden_case.all_gpus && share.cpus_per_task == 0 &&
                           std::all_of(share.masks.begin(), share.masks.end(),
                                       [&](const CpuSet& mask) { return mask == whole; });
        if (usual) missing.erase(share.masks.size());
    }
    EXPECT_EQ(missing, std::set<std::size_t>{}) << "task counts without a case";
}

TEST(GoldenBindings, EveryTopologyHasOneAndEachHasATopology) {
    EXPECT_EQ(names(DISTGPU_MACHINES, ".xml"), names(goldens, ".txt"));
}

INSTANTIATE_TEST_SUITE_P(Machines, GoldenBinding, testing::ValuesIn(machines()),
                         [](const auto& parameter) {
                             std::string name = parameter.param;
                             std::replace_if(
                                 name.begin(), name.end(),
                                 [](char c) { return c == '-' || c == '/'; }, '_');
                             return name;
                         });

}  // namespace
}  // namespace distgpu::golden
