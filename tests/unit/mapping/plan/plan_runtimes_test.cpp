// In which variable each maker's runtime is told the GPUs. Slurm sets all of them on a node unless
// gres.conf's Flags say which one.
#include "bound_node.h"

#include <string>
#include <vector>

namespace distgpu::plan_testing {
namespace {

constexpr const char* cuda = "CUDA_VISIBLE_DEVICES";
constexpr const char* rocr = "ROCR_VISIBLE_DEVICES";
constexpr const char* ze = "ZE_AFFINITY_MASK";

// Task 0 is near GPU 1, task 1 near GPU 0.
NodePlan plan_of(GpuVendor vendor, const std::vector<std::string>& variables, const char* spec) {
    NodeTopology topology = two_socket_node({2, 0});
    for (Gpu& gpu : topology.gpus) gpu.vendor = vendor;
    NodeFacts node = bound_node(topology, in_numas({0, 2}), {0, 1});
    node.gpu_names.variables = variables;
    return planned_on(spec, node);
}

// Both tasks' values of one variable.
using Pair = std::vector<std::string>;

struct Row {
    const char* title;
    std::vector<std::string> variables;
    Pair cuda;
    Pair rocr;
    Pair ze;
};

void expect_rows(GpuVendor vendor, const char* spec, const std::vector<Row>& rows) {
    for (const auto& row : rows) {
        const NodePlan plan = plan_of(vendor, row.variables, spec);
        EXPECT_EQ(of_all(plan, cuda), row.cuda) << row.title;
        EXPECT_EQ(of_all(plan, rocr), row.rocr) << row.title;
        EXPECT_EQ(of_all(plan, ze), row.ze) << row.title;
    }
}

const Pair untouched{"-", "-"};
const Pair permuted{"1,0", "1,0"};
const Pair own{"1", "0"};

TEST(PlanRuntimes, NvidiasReadCudasVariable) {
    expect_rows(GpuVendor::nvidia, "pytorch",
                {{"all set", {cuda, rocr, ze}, permuted, untouched, untouched},
                 {"another's alone", {rocr}, untouched, untouched, untouched},
                 {"none", {}, untouched, untouched, untouched}});
}

// HIP numbers anew what ROCR_VISIBLE_DEVICES leaves: in both, the order would be turned twice,
// and a number that Slurm set may be past those that are left.
TEST(PlanRuntimes, AmdsReadRocrsVariableFirst) {
    expect_rows(GpuVendor::amd, "pytorch",
                {{"both", {cuda, rocr}, {"0,1", "0,1"}, permuted, untouched},
                 {"ROCR's alone", {rocr}, untouched, permuted, untouched},
                 {"HIP's alone", {cuda}, permuted, untouched, untouched}});
    expect_rows(GpuVendor::amd, "pytorch,gpus=isolate",
                {{"both", {cuda, rocr}, {"0", "0"}, own, untouched}});
}

// Level Zero takes the mask for a set.
TEST(PlanRuntimes, IntelsHaveNoOrder) {
    expect_rows(GpuVendor::intel, "pytorch",
                {{"all set", {cuda, rocr, ze}, untouched, untouched, untouched}});
    expect_rows(GpuVendor::intel, "pytorch,gpus=isolate",
                {{"all set", {cuda, rocr, ze}, untouched, untouched, own},
                 {"another's alone", {cuda}, untouched, untouched, untouched}});
}

}  // namespace
}  // namespace distgpu::plan_testing
