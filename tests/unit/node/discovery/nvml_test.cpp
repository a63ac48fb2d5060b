#include "node/discovery/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

namespace distgpu::discovery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Nvml, ListsMigInstancesAndLeavesOutFreePlaces) {
    const Nvml nvml(DISTGPU_FAKE_NVML);
    EXPECT_THAT(nvml.mig_instances("0000:06:00.0"),
                ElementsAre(MigInstance{"MIG-0", "1g.18gb"}, MigInstance{"MIG-2", "3g.71gb+me"}));
}

TEST(Nvml, ListsNoneOfAGpuThatItDoesNotKnow) {
    EXPECT_THAT(Nvml(DISTGPU_FAKE_NVML).mig_instances("0000:16:00.0"), IsEmpty());
}

TEST(Nvml, ListsNoneWithoutTheLibrary) {
    EXPECT_THAT(Nvml("libdistgpu-no-such-library.so").mig_instances("0000:06:00.0"), IsEmpty());
    // A library, but not this one.
    EXPECT_THAT(Nvml("libc.so.6").mig_instances("0000:06:00.0"), IsEmpty());
}

TEST(Nvml, TellsHowBusyAGpuIsWhereItKnows) {
    EXPECT_EQ(Nvml(DISTGPU_FAKE_NVML).busy("0000:07:00.0"), 97U);
    EXPECT_EQ(Nvml(DISTGPU_FAKE_NVML).busy("0000:06:00.0"), std::nullopt);
    EXPECT_EQ(Nvml(DISTGPU_FAKE_NVML).busy("0000:16:00.0"), std::nullopt);
    EXPECT_EQ(Nvml("libdistgpu-no-such-library.so").busy("0000:07:00.0"), std::nullopt);
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
}  // namespace distgpu::discovery
