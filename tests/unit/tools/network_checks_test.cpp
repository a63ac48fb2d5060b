// InfiniBand, interfaces and names by which ranks reach each other.
#include "check/checks.h"
#include "made_up_folder.h"
#include "map_environment.h"
#include "node/network.h"
#include "tools/findings_text.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <limits>
#include <string>

namespace distgpu {
namespace {

namespace fs = std::filesystem;
using Variables = MapEnvironment::Variables;

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

// Two InfiniBand HCAs with an active port each, both of which open.
class Fabric : public testing::Test {
  protected:
    Fabric() {
        for (const std::string number : {"0", "1"}) {
            folder_.write("sys/class/infiniband_verbs/uverbs" + number + "/ibdev",
                          "mlx5_" + number + "\n");
            folder_.write("dev/infiniband/uverbs" + number, "");
            Hca hca;
            hca.name = "mlx5_" + number;
            hca.ports = {{1, HcaPort::State::active, HcaPort::Link::infiniband, 400}};
            topology.hcas.push_back(hca);
        }
    }

    MachineRoots roots() const { return {.sys = folder_.path("sys"), .dev = folder_.path("dev")}; }
    std::string node(const std::string& number) const {
        return roots().dev + "/infiniband/uverbs" + number;
    }

    // "mlx5_0:1 400 Gb/s; warning OBJECT: PROBLEM; ..."
    std::string said() const {
        const CheckResult found = check_fabric(topology, access, "", roots());
        std::string said = found.ports;
        for (const Finding& finding : found.findings) said += "; " + text({finding});
        std::erase(said, '\n');
        return said;
    }

    NodeTopology topology;
    FabricAccess access{true, unlimited};

  private:
    MadeUpFolder folder_;
};

TEST_F(Fabric, IsReadyOrNot) {
    EXPECT_EQ(said(), "mlx5_0:1 400 Gb/s +1");
    topology.hcas.pop_back();
    EXPECT_EQ(said(), "mlx5_0:1 400 Gb/s");
    access.verbs_library = false;
    EXPECT_EQ(said(), "; warning libibverbs.so.1: not found; NCCL falls back to sockets");
    topology.hcas[0].ports[0].state = HcaPort::State::down;
    EXPECT_EQ(said(), "; warning mlx5_0: no port is ACTIVE; NCCL falls back to sockets");
    topology.hcas.clear();
    EXPECT_EQ(said(), "");
}

TEST_F(Fabric, CannotBeOpened) {
    fs::remove(node("0"));
    EXPECT_EQ(said(), "mlx5_1:1 400 Gb/s; warning " + node("0") +
                          ": No such file or directory; NCCL falls back to sockets");
    fs::remove_all(roots().sys + "/class/infiniband_verbs/uverbs1");
    EXPECT_EQ(said(),
              "; warning " + node("0") +
                  ": No such file or directory; NCCL falls back to sockets; warning mlx5_1: "
                  "the kernel has no verbs device for it; NCCL falls back to sockets");
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

TEST_F(Fabric, IsThatWhichNcclIbHcaAllows) {
    const auto allowed = [&](const std::string& names) {
        const CheckResult found = check_fabric(topology, access, names, roots());
        return found.findings.empty() ? found.ports : text(found.findings);
    };
    EXPECT_EQ(allowed("=mlx5_1:1"), "mlx5_1:1 400 Gb/s");
    EXPECT_EQ(allowed("^mlx5_1"), "mlx5_0:1 400 Gb/s");
    EXPECT_EQ(allowed("mlx4"),
              "warning NCCL_IB_HCA=mlx4: allows no port that is ACTIVE; NCCL falls back to "
              "sockets\n");
}

TEST(FasterInterface, IsAdvisedWithItsSuffix) {
    MadeUpFolder folder;
    folder.write("proc/cpuinfo", "flags : fpu\n");
    const auto add = [&](const std::string& name, const char* speed) {
        folder.write("sys/class/net/" + name + "/device/vendor", "0x15b3");
        folder.write("sys/class/net/" + name + "/speed", speed);
    };
    add("eth0", "10000\n");
    add("eth1", "25000\n");
    const auto finding = [&](const char* used, const std::string& name) {
        const MachineRoots roots{.proc = folder.path("proc"), .sys = folder.path("sys")};
        const auto found = check_faster_interface(
            used, {"lo", "eth0", "eth1", "hsn0"}, "n7", [&](const std::string&) { return name; },
            roots);
        return found ? found->error.cause() + "; " + found->error.remedy : "";
    };
    EXPECT_EQ(finding("eth0", "n7"), "");  // 2.5 times
    add("hsn0", "200000\n");
    const std::string advice =
        "network: NCCL sends over eth0 (10 Gb/s), although hsn0 has 200 Gb/s; export "
        "NCCL_SOCKET_IFNAME=hsn0 and GLOO_SOCKET_IFNAME=hsn0";
    EXPECT_EQ(finding("eth0", "n7-hsn.cluster.example"),
              advice + ", and use the key master=suffix:-hsn");
    for (const char* name : {"", "n7", "n7.cluster.example", "gate"}) {
        EXPECT_EQ(finding("eth0", name), advice) << name;
    }
    EXPECT_EQ(finding("hsn0", ""), "");
    EXPECT_EQ(finding("lo", ""), "");  // its speed is not known
}

TEST(Interfaces, AreNamedAsNcclAndGlooReadThem) {
    struct Row {
        const char* variable;
        const char* value;
        bool found;
    };
    const char* const nccl = "NCCL_SOCKET_IFNAME";
    const char* const gloo = "GLOO_SOCKET_IFNAME";
    // How NCCL reads a list is the subject of nccl_names_test.cpp. Gloo's are whole names that are
    // all there.
    for (const Row& row : {
             Row{nccl, "eth", true},
             {nccl, "ens,ib", true},
             {nccl, "=eth0", true},
             {nccl, "^lo,docker", true},
             {nccl, "^=lo,eth0", true},
             {nccl, "=eth", false},
             {nccl, "ens", false},
             {nccl, "^lo,eth,ib", false},
             {nccl, "ens,", false},
             {gloo, "eth0", true},
             {gloo, "eth0,ib0", true},
             {gloo, "", true},
             {gloo, "eth", false},
             {gloo, "eth0,ib1", false},
         }) {
        const std::string said = text(check_interfaces(
            MapEnvironment(Variables{{row.variable, row.value}}), {"lo", "eth0", "ib0"}));
        EXPECT_EQ(said, row.found ? ""
                                  : std::string("failed ") + row.variable + ": no interface '" +
                                        row.value + "' is up on this node; up: lo, eth0, ib0\n");
    }
    const auto of_nccl = [](const char* value, bool has_other_nodes) {
        return text(check_interfaces(MapEnvironment(Variables{{"NCCL_SOCKET_IFNAME", value}}),
                                     {"lo", "eth0"}, has_other_nodes));
    };
    EXPECT_EQ(of_nccl("^docker", true),
              "failed NCCL_SOCKET_IFNAME=^docker: NCCL takes lo first, where other nodes do not "
              "reach it\n");
    EXPECT_EQ(of_nccl("^docker", false), "");
    EXPECT_EQ(of_nccl("eth,lo", true), of_nccl("^docker", true).replace(26, 7, "eth,lo"));
    const auto names = usable_interfaces();
    EXPECT_NE(std::find(names.begin(), names.end(), "lo"), names.end());
}

// An address that stands for itself, and belongs to no machine (RFC 5737).
constexpr const char* elsewhere = "192.0.2.1";

TEST(Names, LeadToTheRightNode) {
    struct Row {
        NameCheckFacts node;
        const char* address;
        const char* said;  // its beginning
        Variables variables{};
    };
    const NameCheckFacts other{"localhost.invalid", true, false};
    const NameCheckFacts rank0{"localhost.invalid", true, true};
    const NameCheckFacts local{"localhost", true, false};
    const NameCheckFacts alone{"localhost", false, true};
    for (const Row& row : {
             Row{other, elsewhere, ""},
             {other, "127.0.1.1",
              "failed rendezvous address 127.0.1.1: resolves to 127.0.1.1 on localhost.invalid, "
              "which is localhost.invalid itself and not rank 0's node\n"},
             {other, "nowhere.invalid", "failed rendezvous address nowhere.invalid: no address: "},
             {rank0, elsewhere,
              "failed rendezvous address 192.0.2.1: not an address of localhost.invalid, where "
              "rank 0 runs\n"},
             {rank0, "127.0.1.1",
              "warning rendezvous address 127.0.1.1: resolves to 127.0.1.1 on localhost.invalid "
              "itself, so other nodes cannot reach it\n"},
             // A node's own name matters to Gloo.
             {local, elsewhere, "", {{"GLOO_SOCKET_IFNAME", "eth0"}}},
             {local, elsewhere, "warning host name localhost: resolves to "},
             // Of one node alone it may be the loopback.
             {alone, "localhost", ""},
             {alone, "nowhere.invalid", "failed "},
         }) {
        const std::string said =
            text(check_names(MapEnvironment(row.variables), row.node, {row.address, 2000},
                             Clock::now() + std::chrono::seconds(5)));
        EXPECT_EQ(*row.said == '\0', said.empty()) << said;
        EXPECT_TRUE(said.starts_with(row.said)) << said;
    }
}

}  // namespace
}  // namespace distgpu
