// The text of `distgpu vars`.
#include "vars/vars.h"

#include "mapping/frameworks/framework.h"
#include "mapping/request/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr std::array made_up_sets{SetVariable{"A_RANK", "the rank", nullptr},
                                  SetVariable{"A_STORE", "the store", nullptr, true}};
constexpr std::array made_up_unsets{UnsetVariable{"B_*", "of another step"}};
constexpr std::array<Text, 1> made_up_aliases{"invented"};
constexpr std::array<Text, 1> made_up_keys{"nproc"};
const Framework made_up{
    .mode = "made-up",
    .summary = "A framework",
    .aliases = made_up_aliases,
    .keys = made_up_keys,
    .sets = made_up_sets,
    .unsets = made_up_unsets,
};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

TEST(Contracts, HoldEveryFrameworkAndVariantOnce) {
    std::set<const Framework*> expected;
    for (const Framework* framework : frameworks()) {
        expected.insert(framework);
        for (const Variant& variant : framework->variants) expected.insert(variant.framework);
    }
    const auto all = listed_frameworks();
    EXPECT_EQ(std::set(all.begin(), all.end()), expected);
    EXPECT_THAT(all, SizeIs(expected.size()));
}

TEST(ModesTable, NamesAliasesAndKeys) {
    const auto lines = lines_of(modes_table());
    EXPECT_THAT(lines, Contains(AllOf(StartsWith("tensorflow "), HasSubstr(" tf "),
                                      HasSubstr(" chief, ps, evaluator "),
                                      HasSubstr(" TensorFlow (tf.distribute), one worker"))));
    EXPECT_THAT(lines, Contains(StartsWith("lightning,per-node ")));
    EXPECT_THAT(lines, Contains(AllOf(StartsWith("Keys of every mode:  "), HasSubstr("fail"),
                                      Not(HasSubstr("nproc")))));
}

TEST(ContractTable, SaysWhatIsSetAndRemoved) {
    EXPECT_THAT(framework_table(made_up), StartsWith("made-up:  A framework\n"
                                                     "\n"
                                                     "Set:\n"
                                                     "  A_RANK   the rank\n"
                                                     "  A_STORE  the store\n"
                                                     "\n"
                                                     "Removed:\n"
                                                     "  B_*  of another step\n"
                                                     "\n"
                                                     "Set in every mode:\n"
                                                     "  OMP_NUM_THREADS  "));
    EXPECT_THAT(framework_table(made_up), HasSubstr("\n  ZE_AFFINITY_MASK "));
    // docs/variables.md lists these.
    EXPECT_THAT(framework_table(made_up),
                EndsWith("\n\n"
                         "Left alone if you exported them:  A_STORE, OMP_NUM_THREADS, "
                         "NCCL_RAS_ENABLE, NCCL_RAS_ADDR,\n"
                         "                                  TORCH_FR_BUFFER_SIZE, "
                         "TORCH_FR_DUMP_TEMP_FILE, CUDA_DEVICE_ORDER,\n"
                         "                                  NCCL_IB_HCA, UCX_NET_DEVICES, "
                         "NCCL_SOCKET_IFNAME,\n"
                         "                                  GLOO_SOCKET_IFNAME\n"));
    Framework removes_nothing = made_up;
    removes_nothing.unsets = {};
    EXPECT_THAT(framework_table(removes_nothing), Not(HasSubstr("Removed")));
}

TEST(VarsText, LinesFitTheTerminal) {
    std::string all = modes_table();
    for (const Framework* framework : listed_frameworks()) all += framework_table(*framework);
    EXPECT_THAT(lines_of(all), Each(SizeIs(testing::Le(100U))));
}

TEST(VarsJson, HoldsTheContractAndWhatEveryModeHas) {
    const auto json = nlohmann::json::parse(vars_json(std::array{&made_up}));
    EXPECT_EQ(json.at("schema"), "distgpu.vars/1");
    EXPECT_EQ(json.at("modes"), nlohmann::json::parse(R"([{
        "mode": "made-up", "aliases": ["invented"], "keys": ["nproc"], "summary": "A framework",
        "set": [{"name": "A_RANK", "meaning": "the rank", "users_own": false},
                {"name": "A_STORE", "meaning": "the store", "users_own": true}],
        "unset": [{"name": "B_*", "reason": "of another step"}]}])"));
    EXPECT_THAT(json.at("keys").get<std::vector<std::string>>(),
                AllOf(Contains("port"), Not(Contains("nproc"))));
    EXPECT_EQ(json.at("common").at(0).at("name"), "OMP_NUM_THREADS");
    EXPECT_EQ(json.at("devices").at(0).at("name"), "CUDA_VISIBLE_DEVICES");
}

}  // namespace
}  // namespace distgpu
