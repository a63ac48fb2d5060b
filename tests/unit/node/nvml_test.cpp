// NVIDIA's library, for which a made-up one stands here.
#include "node/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Nvml, ListsMigInstancesAndLeavesOutFreePlaces) {
    const Nvml nvml(DISTGPU_FAKE_NVML);
    EXPECT_THAT(nvml.mig_instances("0000:06:00.0"),
                ElementsAre(MigInstance{"MIG-0", "1g.18gb"}, MigInstance{"MIG-2", "3g.71gb+me"}));
    EXPECT_THAT(nvml.mig_instances("0000:16:00.0"), IsEmpty());  // which it does not know
    EXPECT_EQ(nvml.utilization("0000:07:00.0"), 97U);
    EXPECT_EQ(nvml.utilization("0000:06:00.0"), std::nullopt);
    EXPECT_EQ(nvml.utilization("0000:16:00.0"), std::nullopt);
}

TEST(Nvml, KnowsWhichGpusAreLinkedToOtherNodes) {
    const Nvml nvml(DISTGPU_FAKE_NVML);
    EXPECT_TRUE(nvml.is_linked_to_other_nodes("0000:07:00.0"));
    EXPECT_FALSE(nvml.is_linked_to_other_nodes("0000:06:00.0"));  // only to its node's
    EXPECT_FALSE(nvml.is_linked_to_other_nodes("0000:09:00.0"));  // not yet
    EXPECT_FALSE(nvml.is_linked_to_other_nodes("0000:16:00.0"));
}

TEST(Nvml, TellsTheStateOfAGpu) {
    const Nvml nvml(DISTGPU_FAKE_NVML);
    const auto state = nvml.state("0000:07:00.0", 1'000'000);
    ASSERT_TRUE(state);
    ASSERT_EQ(state->busy.size(), 2U);  // those after the first second
    EXPECT_EQ(state->busy[0].time, 2'000'000U);
    EXPECT_EQ(state->busy[0].percent, 50U);
    EXPECT_EQ(state->busy[1].percent, 100U);
    EXPECT_EQ(state->memory->total - state->memory->free, std::uint64_t{1} << 30U);
    EXPECT_EQ(state->millijoules, 5000U);
    EXPECT_THAT(state->slow_clocks, ElementsAre("power cap", "hardware thermal"));
    EXPECT_EQ(state->pcie_width, 8U);
    EXPECT_EQ(state->pcie_width_max, 16U);
    EXPECT_THAT(nvml.state("0000:07:00.0", 3'000'000)->busy, IsEmpty());  // none is newer
}

TEST(Nvml, SaysWhatAGpuDoesNotTell) {
    const Nvml nvml(DISTGPU_FAKE_NVML);
    const auto divided = nvml.state("0000:06:00.0", 0);  // into MIG instances
    ASSERT_TRUE(divided);
    EXPECT_THAT(divided->busy, IsEmpty());
    EXPECT_EQ(divided->millijoules, std::nullopt);
    const auto lost = nvml.state("0000:0a:00.0", 0);
    ASSERT_TRUE(lost);
    EXPECT_TRUE(lost->is_lost);
    EXPECT_FALSE(nvml.state("0000:16:00.0", 0));
    EXPECT_FALSE(Nvml("libdistgpu-no-such-library.so").state("0000:07:00.0", 0));
}

TEST(Nvml, TellsEachErrorOnce) {
    Nvml nvml(DISTGPU_FAKE_NVML);
    const auto xids = nvml.new_xids({"0000:06:00.0", "0000:07:00.0"});
    ASSERT_EQ(xids.size(), 1U);
    EXPECT_EQ(xids.front().pci, "0000:07:00.0");
    EXPECT_EQ(xids.front().number, 79U);
    EXPECT_TRUE(nvml.new_xids({"0000:06:00.0", "0000:07:00.0"}).empty());
}

// The second is a library, but not this one.
TEST(Nvml, KnowsNothingWithoutTheLibrary) {
    for (const char* file : {"libdistgpu-no-such-library.so", "libc.so.6"}) {
        EXPECT_THAT(Nvml(file).mig_instances("0000:06:00.0"), IsEmpty()) << file;
        EXPECT_EQ(Nvml(file).utilization("0000:07:00.0"), std::nullopt) << file;
        EXPECT_FALSE(Nvml(file).is_linked_to_other_nodes("0000:07:00.0")) << file;
    }
}

TEST(Nvml, ShutsTheLibraryDown) {
    void* const library = dlopen(DISTGPU_FAKE_NVML, RTLD_NOW);
    ASSERT_NE(library, nullptr);
    const auto sessions = reinterpret_cast<int (*)()>(dlsym(library, "fake_nvml_sessions"));
    const auto event_sets = reinterpret_cast<int (*)()>(dlsym(library, "fake_nvml_event_sets"));
    {
        Nvml nvml(DISTGPU_FAKE_NVML);
        nvml.new_xids({"0000:07:00.0"});
        EXPECT_EQ(sessions(), 1);
        EXPECT_EQ(event_sets(), 1);
    }
    EXPECT_EQ(sessions(), 0);
    EXPECT_EQ(event_sets(), 0);
    dlclose(library);
}

}  // namespace
}  // namespace distgpu
