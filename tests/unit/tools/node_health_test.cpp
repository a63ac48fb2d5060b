// What has gone from a node since its topology was saved.
#include "check/checks.h"
#include "made_up_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class NodeHealth : public testing::Test {
  protected:
    // Two GPUs and an HCA with an active port.
    NodeHealth() {
        folder_.write("proc/sys/kernel/random/boot_id", "1\n");
        for (const char* pci : {"0000:06:00.0", "0000:16:00.0", "0000:05:00.0"}) {
            folder_.write(std::string("sys/bus/pci/devices/") + pci + "/vendor", "0x10de\n");
        }
        folder_.write("dev/nvidia0", "");
        folder_.write("dev/nvidia1", "");
        set_port("4: ACTIVE");
        saved_.gpus.resize(2);
        saved_.gpus[0].pci = "0000:06:00.0";
        saved_.gpus[1].pci = "0000:16:00.0";
        saved_.gpus[1].model = "H100";
        Hca& hca = saved_.hcas.emplace_back();
        hca.name = "mlx5_0";
        hca.pci = "0000:05:00.0";
        hca.ports = {{1, HcaPort::State::active, HcaPort::Link::infiniband, 400}};
    }

    void set_port(const std::string& state) const {
        const std::string port = "sys/class/infiniband/mlx5_0/ports/1/";
        folder_.write(port + "state", state + "\n");
        folder_.write(port + "link_layer", "InfiniBand\n");
        folder_.write(port + "rate", "400 Gb/sec (4X NDR)\n");
    }

    void remove(const std::string& path) const { std::filesystem::remove_all(folder_.path(path)); }

    std::vector<std::string> faults() const {
        return node_faults(&saved_, {folder_.path("proc"), folder_.path("sys"), folder_.path("run"),
                                     folder_.path("dev")});
    }

    MadeUpFolder folder_;
    NodeTopology saved_;
};

TEST_F(NodeHealth, AGpuIsGone) {
    EXPECT_THAT(faults(), IsEmpty());
    remove("dev/nvidia1");
    EXPECT_THAT(faults(), ElementsAre(folder_.path("dev/nvidia1") + ": No such file or directory"));
    remove("sys/bus/pci/devices/0000:16:00.0");
    EXPECT_THAT(faults(), ElementsAre("GPU 0000:16:00.0 (H100): gone from the PCI bus"));
}

TEST_F(NodeHealth, APortThatIsDownNowAndAnHcaThatIsGone) {
    set_port("1: DOWN");
    EXPECT_THAT(faults(), ElementsAre("HCA mlx5_0 port 1: was active at boot, but is not now"));
    saved_.hcas[0].ports[0].state = HcaPort::State::down;
    EXPECT_THAT(faults(), IsEmpty());
    remove("sys/class/infiniband");
    remove("sys/bus/pci/devices/0000:05:00.0");
    EXPECT_THAT(faults(), ElementsAre("HCA mlx5_0: gone from the PCI bus"));
}

TEST_F(NodeHealth, WithoutASavedTopologyNothingIsKnown) {
    const std::string path = folder_.path("topology.json");
    EXPECT_EQ(check_own_node(path).error().problem, "No such file or directory");
    folder_.write("topology.json", R"({"schema": "distgpu.topo/1",
        "numa": [{"id": 0, "cpus": "0"}], "cores": [{"cpus": "0", "numa": 0, "package": 0}], "gpus": [], "hcas": [], "distance": []})");
    EXPECT_EQ(check_own_node(path).error().problem,
              "not saved since the last boot of this machine");
    folder_.write("topology.json", "no JSON");
    EXPECT_FALSE(check_own_node(path));
}

}  // namespace
}  // namespace distgpu
