// What is read from folders that look like AMD's compute driver in /sys.
#include "node/discovery/amd_kfd.h"

#include "base/format.h"
#include "made_up_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu::discovery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

void write_node(const MadeUpFolder& sys, int node, int simd_count, std::uint64_t location,
                int domain, std::uint64_t unique_id) {
    sys.write(formatted("class/kfd/kfd/topology/nodes/{}/properties", node),
              formatted("cpu_cores_count 0\nsimd_count {}\nlocation_id {}\ndomain {}\n"
                        "unique_id {}\nnum_xcc 6\ndrm_render_minor {}\n",
                        simd_count, location, domain, unique_id, node == 2 ? 0 : 127 + node));
}

TEST(KfdGpus, HaveAddressPartitionAndUuid) {
    const MadeUpFolder sys;
    write_node(sys, 0, 0, 0, 0, 0);  // a CPU
    // Bus c1, device 3, function 1; bus 06 of domain 2.
    write_node(sys, 1, 440, 0xc119, 0, 0x4a7c19da329a2b8c);
    write_node(sys, 2, 440, 0x0600, 2, 7);
    EXPECT_THAT(kfd_gpus(sys.path()),
                ElementsAre(KfdGpu{0xc119, 0, 128, "GPU-4a7c19da329a2b8c"},
                            KfdGpu{0x20600, 0, std::nullopt, "GPU-0000000000000007"}));
}

TEST(KfdGpus, ArePartitionsInOrder) {
    const MadeUpFolder sys;
    for (const int partition : {2, 0, 1}) {
        write_node(sys, 7 - partition, 152, static_cast<std::uint64_t>(partition) << 28U | 0x0100U,
                   0, 0);
    }
    EXPECT_THAT(kfd_gpus(sys.path()),
                ElementsAre(KfdGpu{0x100, 0, 134, ""}, KfdGpu{0x100, 1, 133, ""},
                            KfdGpu{0x100, 2, 132, ""}));
}

TEST(KfdGpus, AreNoneWithoutTheDriver) {
    EXPECT_THAT(kfd_gpus(MadeUpFolder().path()), IsEmpty());
}

}  // namespace
}  // namespace distgpu::discovery
