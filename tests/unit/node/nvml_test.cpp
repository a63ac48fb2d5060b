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
    {
        const Nvml nvml(DISTGPU_FAKE_NVML);
        EXPECT_EQ(sessions(), 1);
    }
    EXPECT_EQ(sessions(), 0);
    dlclose(library);
}

}  // namespace
}  // namespace distgpu
