// NCCL_SOCKET_IFNAME and NCCL_IB_HCA against a table that was worked out by hand from the code of
// NCCL 2.28.9: parseStringList(), matchIfList() and findInterfaces().
#include "mapping/fabric/nccl_names.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

using Names = std::vector<std::string>;

TEST(NcclInterfaces, AreThoseOfTheTable) {
    struct Row {
        const char* value;
        Names used;
    };
    const Names running{"lo", "eth0", "eth0.2093", "eth1", "ib0", "docker0", "br-05ab", "virbr0"};
    const Names others{"eth0", "eth0.2093", "eth1", "ib0", "br-05ab"};
    const Names all = running;
    const std::vector<Row> rows = {
        {"", {"ib0"}},
        {"e", {"ib0"}},  // a single character counts as no value
        {"=", {"ib0"}},
        {"^", {"ib0"}},
        {"eth0", {"eth0", "eth0.2093"}},
        {"eth", {"eth0", "eth0.2093", "eth1"}},
        {"=eth0", {"eth0"}},
        {"=eth0,ib0", {"eth0", "ib0"}},
        {"=eth", {}},
        {"ib0,eth1", {"eth1", "ib0"}},  // the kernel's order, not the list's
        {"^eth", {"lo", "ib0", "docker0", "br-05ab", "virbr0"}},
        {"^lo,docker,virbr", others},
        {"^lo,docker,veth", {"eth0", "eth0.2093", "eth1", "ib0", "br-05ab", "virbr0"}},
        {"^docker", {"lo", "eth0", "eth0.2093", "eth1", "ib0", "br-05ab", "virbr0"}},
        {"^=eth0", {"lo", "eth0.2093", "eth1", "ib0", "docker0", "br-05ab", "virbr0"}},
        {"^=lo,docker0", {"eth0", "eth0.2093", "eth1", "ib0", "br-05ab", "virbr0"}},
        {"=^eth0", {}},  // a '^' counts only as the first character
        {",,", all},     // no name: every interface
        {"^,", {}},      // and none after a '^'
        {"==", {}},
        {"eth0:1", {"eth0", "eth0.2093"}},  // an interface has no port
        {":eth0", all},
        {"eth1,,lo", {"lo", "eth1"}},
        {" eth0", {}},  // blanks belong to the name
        {"eth0 ", {}},
        {"wlan", {}},
        {"docker0", {"docker0"}},
    };
    for (const Row& row : rows) {
        EXPECT_EQ(nccl_interfaces(row.value, running), row.used) << row.value;
    }
}

TEST(NcclInterfaces, WithoutAValueAreTheUsualOnes) {
    const auto used = [](const Names& running) { return nccl_interfaces("", running); };
    EXPECT_EQ(used({"lo", "ens5", "docker0"}), Names{"ens5"});
    EXPECT_EQ(used({"lo", "docker0", "virbr0"}), Names{"docker0"});
    EXPECT_EQ(used({"lo", "virbr0"}), Names{"lo"});
    EXPECT_EQ(used({"virbr0"}), Names{"virbr0"});
    EXPECT_EQ(used({}), Names{});
}

TEST(NcclInterfaces, AreAtMostSixteen) {
    Names running;
    std::string value;
    for (int i = 0; i < 20; ++i) {
        running.push_back(std::string("eth") + static_cast<char>('a' + i));
        value += running.back() + ",";
    }
    EXPECT_EQ(nccl_interfaces("eth", running).size(), 16U);
    // Of a list NCCL reads 16 names.
    EXPECT_EQ(nccl_interfaces("^" + value, running), (Names{"ethq", "ethr", "eths", "etht"}));
}

TEST(NcclHcas, AreThoseOfTheTable) {
    struct Row {
        const char* value;
        Names used;  // "NAME:PORT"
    };
    const std::vector<Row> rows = {
        {"", {"mlx5_0:1", "mlx5_1:1", "mlx5_10:1", "mlx4_0:1", "mlx4_0:2"}},
        {"mlx5_1", {"mlx5_1:1", "mlx5_10:1"}},
        {"=mlx5_1", {"mlx5_1:1"}},
        {"mlx5", {"mlx5_0:1", "mlx5_1:1", "mlx5_10:1"}},
        {"=mlx4_0:2", {"mlx4_0:2"}},
        {"mlx4_0:1,mlx5_0", {"mlx5_0:1", "mlx4_0:1"}},
        {"=mlx5_0:2", {}},
        {"^mlx5_1", {"mlx5_0:1", "mlx4_0:1", "mlx4_0:2"}},
        {"^=mlx5_1", {"mlx5_0:1", "mlx5_10:1", "mlx4_0:1", "mlx4_0:2"}},
        {"^mlx4_0:2", {"mlx5_0:1", "mlx5_1:1", "mlx5_10:1", "mlx4_0:1"}},
        {"=mlx5_0:one", {}},  // port 0
        {"=mlx5_0:", {}},
        {"=mlx5_0:-1", {"mlx5_0:1"}},  // the number that stands for every port
        {"=mlx5_0:1x", {"mlx5_0:1"}},
        {"=mlx5_0:1:2", {"mlx5_0:1"}},
    };
    const std::vector<std::pair<std::string, std::uint32_t>> ports{
        {"mlx5_0", 1}, {"mlx5_1", 1}, {"mlx5_10", 1}, {"mlx4_0", 1}, {"mlx4_0", 2}};
    for (const Row& row : rows) {
        const NcclNames names(row.value, NcclNames::max_hcas);
        Names used;
        for (const auto& [name, port] : ports) {
            if (names.allows(name, port)) used.push_back(name + ":" + std::to_string(port));
        }
        EXPECT_EQ(used, row.used) << row.value;
    }
}

}  // namespace
}  // namespace distgpu
