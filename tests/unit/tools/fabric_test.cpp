// What NCCL could do with a node's InfiniBand ports.
#include "check/fabric.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <sys/stat.h>

namespace distgpu {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

// Two InfiniBand HCAs with an active port each, both of which open.
class Fabric : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = fs::temp_directory_path() / "distgpu-fabric-XXXXXX";
        folder_ = mkdtemp(pattern.data());
        fs::create_directories(roots().dev + "/infiniband");
        for (const char* number : {"0", "1"}) {
            const std::string verbs = roots().sys + "/class/infiniband_verbs/uverbs" + number;
            fs::create_directories(verbs);
            std::ofstream(verbs + "/ibdev") << "mlx5_" << number << "\n";
            const std::ofstream device(node(number));
            Hca hca;
            hca.name = std::string("mlx5_") + number;
            hca.ports = {{1, HcaPort::State::active, HcaPort::Link::infiniband, 400}};
            topology.hcas.push_back(hca);
        }
    }
    void TearDown() override { fs::remove_all(folder_); }

    DeviceRoots roots() const { return {folder_ + "/dev", folder_ + "/sys"}; }
    std::string node(const std::string& number) const {
        return roots().dev + "/infiniband/uverbs" + number;
    }

    // "mlx5_0:1 400 Gb/s; warning OBJECT: PROBLEM; ..."
    std::string said() const {
        const CheckResult found = check_fabric(topology, access, roots());
        std::string text = found.ports;
        for (const Finding& finding : found.findings) {
            text += is_fatal(finding) ? "; failed " : "; warning ";
            text += finding.error.object + ": " + finding.error.problem;
        }
        return text;
    }

    NodeTopology topology;
    FabricAccess access{true, unlimited};

  private:
    std::string folder_;
};

TEST_F(Fabric, IsReady) {
    EXPECT_EQ(said(), "mlx5_0:1 400 Gb/s +1");
    topology.hcas.pop_back();
    EXPECT_EQ(said(), "mlx5_0:1 400 Gb/s");
}

TEST_F(Fabric, NothingIsFoundWhereThereIsNone) {
    topology.hcas.clear();
    EXPECT_EQ(said(), "");
}

TEST_F(Fabric, HasNoActivePort) {
    for (Hca& hca : topology.hcas) hca.ports[0].state = HcaPort::State::down;
    EXPECT_EQ(said(),
              "; warning mlx5_0: no port is ACTIVE; NCCL falls back to sockets"
              "; warning mlx5_1: no port is ACTIVE; NCCL falls back to sockets");
}

TEST_F(Fabric, HasNoLibrary) {
    access.verbs_library = false;
    EXPECT_EQ(said(), "; warning libibverbs.so.1: not found; NCCL falls back to sockets");
}

TEST_F(Fabric, CannotBeOpened) {
    fs::remove(node("0"));
    EXPECT_EQ(said(), "mlx5_1:1 400 Gb/s; warning " + node("0") +
                          ": No such file or directory; NCCL falls back to sockets");
    fs::remove_all(roots().sys + "/class/infiniband_verbs/uverbs1");
    EXPECT_EQ(said(),
              "; warning " + node("0") +
                  ": No such file or directory; NCCL falls back to sockets; warning mlx5_1: "
                  "the kernel offers no verbs for it; NCCL falls back to sockets");
}

// 64 MiB: the buffers of a few channels, 4 MiB each, for a few peers.
TEST_F(Fabric, MayLockTooLittleMemory) {
    access.locked_memory = std::uint64_t{64} << 20U;
    EXPECT_EQ(
        said(),
        "mlx5_0:1 400 Gb/s +1; warning memlock limit: 65536 KiB, but NCCL's buffers may need more");
    access.locked_memory -= 1024;
    EXPECT_EQ(
        said(),
        "mlx5_0:1 400 Gb/s +1; failed memlock limit: 65535 KiB, but NCCL's buffers may need more");
}

}  // namespace
}  // namespace distgpu
