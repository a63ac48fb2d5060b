// Every machine of tests/topologies, and every real one that DISTGPU_TOPOLOGIES leads to: which
// CPUs, GPUs and port each task of a node gets, against files whose values were reasoned out.
#include "mapping/binding/binding.h"

#include "binding_case.h"
#include "golden_file.h"
#include "node/discovery/discover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace distgpu::golden {
namespace {

namespace fs = std::filesystem;

const fs::path goldens = DISTGPU_SOURCE_DIR "/tests/golden/binding";
const fs::path topologies = DISTGPU_SOURCE_DIR "/tests/topologies";

std::set<std::string> names(const fs::path& folder, const std::string& extension) {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == extension) found.insert(entry.path().stem());
    }
    return found;
}

CpuSet whole_node(const NodeTopology& topology) {
    CpuSet cpus;
    for (const auto& core : topology.cores) cpus |= core.cpus;
    return cpus;
}

NodeBinding bind_case(const NodeTopology& topology, BindingCase golden_case) {
    if (golden_case.all_gpus) {
        golden_case.share.gpus.resize(topology.gpus.size());
        std::iota(golden_case.share.gpus.begin(), golden_case.share.gpus.end(), 0U);
    }
    return bind(topology, BindingPolicy{}, golden_case.share);
}

void expect_cases(const NodeTopology& machine, const std::vector<BindingCase>& cases) {
    for (const auto& golden_case : cases) {
        SCOPED_TRACE(golden_case.place);
        const auto topology = with_ports(machine, golden_case.ports);
        ASSERT_TRUE(topology) << topology.error().message();
        EXPECT_EQ(golden_case.expected, binding_text(*topology, bind_case(*topology, golden_case)));
    }
}

// A user of a whole node asks for these, and each shape must have an answer to them.
void expect_usual_task_counts(const NodeTopology& machine, const std::vector<BindingCase>& cases) {
    std::set<std::size_t> missing{1, 2, 3, 4, 8, 2 * machine.gpus.size()};
    const auto whole = whole_node(machine);
    for (const auto& golden_case : cases) {
        const auto& share = golden_case.share;
        if (!golden_case.all_gpus || share.cpus_per_task != 0) continue;
        if (std::all_of(share.masks.begin(), share.masks.end(),
                        [&](const CpuSet& mask) { return mask == whole; })) {
            missing.erase(share.masks.size());
        }
    }
    EXPECT_EQ(missing, std::set<std::size_t>{}) << "task counts without a case";
}

void expect_golden(const fs::path& xml, const fs::path& golden) {
    const auto machine = load_xml(xml);
    ASSERT_TRUE(machine) << machine.error().message();
    const auto cases = read_binding_cases(golden.filename(), read_file(golden));
    ASSERT_TRUE(cases) << cases.error().message();
    expect_cases(*machine, *cases);
    expect_usual_task_counts(*machine, *cases);
}

class GoldenBinding : public testing::TestWithParam<std::string> {};

TEST_P(GoldenBinding, IsAsReasoned) {
    expect_golden(topologies / (GetParam() + ".xml"), goldens / (GetParam() + ".txt"));
}

class GoldenBindingOfRealMachine : public testing::TestWithParam<std::string> {};

TEST_P(GoldenBindingOfRealMachine, IsAsReasoned) {
    const char* const folder = std::getenv("DISTGPU_TOPOLOGIES");
    if (folder == nullptr) {
        GTEST_SKIP() << "DISTGPU_TOPOLOGIES names no folder with " << GetParam() << ".xml";
    }
    expect_golden(fs::path(folder) / (GetParam() + ".xml"),
                  goldens / "real" / (GetParam() + ".txt"));
}

TEST(GoldenBindings, EveryTopologyHasOneAndEachHasATopology) {
    EXPECT_EQ(names(topologies, ".xml"), names(goldens, ".txt"));
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
    std::string name = info.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Shapes, GoldenBinding, testing::ValuesIn(names(goldens, ".txt")),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Machines, GoldenBindingOfRealMachine,
                         testing::ValuesIn(names(goldens / "real", ".txt")), test_name);

}  // namespace
}  // namespace distgpu::golden
