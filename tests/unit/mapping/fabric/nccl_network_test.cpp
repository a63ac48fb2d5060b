// Which network NCCL takes, on made-up nodes, against what ncclNetInit() of NCCL 2.28.9 does there.
#include "mapping/fabric/nccl_network.h"

#include "base/environment.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

using Kind = NcclNetwork::Kind;
using Variables = std::map<std::string, std::string>;

NodeTopology node_with(std::optional<HcaKind> kind) {
    NodeTopology topology;
    if (kind) topology.hcas.emplace_back().kind = *kind;
    return topology;
}

struct Row {
    const char* title;
    std::optional<HcaKind> hcas;
    const char* ports;  // of InfiniBand or RoCE
    std::vector<NetPlugin> plugins;
    Variables variables;
    Kind kind;
    const char* text;
    const char* fault;  // without its remedy; empty if there is none
};

const NetPlugin absent{.file = "libnccl-net.so", .problem = "not found", .is_missing = true};
const NetPlugin ofi{.file = "libnccl-net.so", .name = "AWS Libfabric"};
const NetPlugin broken{.file = "libnccl-net.so", .problem = "libfabric.so.1: cannot open"};
const NetPlugin unknown{.file = "libnccl-net.so", .is_unknown = true};

TEST(NcclNetwork, IsThatOfTheTable) {
    const std::vector<Row> rows = {
        {"Quantum",
         HcaKind::verbs,
         "mlx5_0:1 400 Gb/s +7",
         {absent},
         {},
         Kind::verbs,
         "mlx5_0:1 400 Gb/s +7",
         ""},
        {"no fabric",
         {},
         "",
         {absent},
         {},
         Kind::sockets,
         "sockets over eth0 (no InfiniBand or RoCE)",
         ""},
        {"a RoCE bond whose port is down",
         HcaKind::verbs,
         "",
         {absent},
         {},
         Kind::sockets,
         "sockets over eth0 (no InfiniBand or RoCE port can be used)",
         ""},
        {"EFA",
         HcaKind::efa,
         "",
         {ofi},
         {},
         Kind::libfabric,
         "EFA, by libnccl-net.so (AWS Libfabric)",
         ""},
        {"Slingshot",
         HcaKind::slingshot,
         "",
         {ofi},
         {},
         Kind::libfabric,
         "Slingshot, by libnccl-net.so (AWS Libfabric)",
         ""},
        {"EFA without a plugin",
         HcaKind::efa,
         "",
         {absent},
         {},
         Kind::sockets,
         "sockets over eth0 (no plugin for EFA)",
         "libnccl-net.so: not found, so NCCL uses sockets over eth0 without a word instead of EFA"},
        {"EFA, a plugin that does not load",
         HcaKind::efa,
         "",
         {broken},
         {},
         Kind::sockets,
         "sockets over eth0 (no plugin for EFA)",
         "libnccl-net.so: libfabric.so.1: cannot open, so NCCL uses sockets over eth0 without a "
         "word instead of EFA"},
        {"EFA in a container",
         HcaKind::efa,
         "",
         {unknown},
         {},
         Kind::libfabric,
         "EFA if a plugin for it loads in the task, else sockets",
         ""},
        {"InfiniBand in a container",
         HcaKind::verbs,
         "mlx5_0:1",
         {unknown},
         {},
         Kind::verbs,
         "mlx5_0:1",
         ""},
        {"a plugin on InfiniBand",
         HcaKind::verbs,
         "mlx5_0:1",
         {{.file = "libnccl-net.so", .name = "IBext_v8"}},
         {},
         Kind::other,
         "a network by libnccl-net.so (IBext_v8)",
         ""},
        {"a broken plugin on InfiniBand",
         HcaKind::verbs,
         "mlx5_0:1",
         {broken},
         {},
         Kind::verbs,
         "mlx5_0:1",
         "libnccl-net.so: libfabric.so.1: cannot open, so NCCL uses InfiniBand or RoCE without a "
         "word"},
        {"NCCL_NET=Socket",
         HcaKind::verbs,
         "mlx5_0:1",
         {absent},
         {{"NCCL_NET", "socket"}},
         Kind::sockets,
         "sockets over eth0 (NCCL_NET=socket)",
         ""},
        {"NCCL_NET=IB passes a plugin over",
         HcaKind::verbs,
         "mlx5_0:1",
         {ofi},
         {{"NCCL_NET", "ib"}},
         Kind::verbs,
         "mlx5_0:1",
         ""},
        {"NCCL_NET=IB without a port",
         HcaKind::efa,
         "",
         {ofi},
         {{"NCCL_NET", "IB"}},
         Kind::none,
         "",
         "NCCL_NET=IB: no InfiniBand or RoCE port can be used, so NCCL ends"},
        {"NCCL_NET of a plugin",
         HcaKind::efa,
         "",
         {ofi},
         {{"NCCL_NET", "aws libfabric"}},
         Kind::libfabric,
         "EFA, by libnccl-net.so (AWS Libfabric)",
         ""},
        {"NCCL_NET of none",
         HcaKind::efa,
         "",
         {absent},
         {{"NCCL_NET", "AWS Libfabric"}},
         Kind::none,
         "",
         "NCCL_NET=AWS Libfabric: no plugin of this name can be used, so NCCL ends"},
        {"NCCL_IB_DISABLE",
         HcaKind::verbs,
         "mlx5_0:1",
         {absent},
         {{"NCCL_IB_DISABLE", "1"}},
         Kind::sockets,
         "sockets over eth0 (NCCL_IB_DISABLE=1)",
         ""},
        {"NCCL_NET_PLUGIN=none",
         HcaKind::efa,
         "",
         {},
         {{"NCCL_NET_PLUGIN", "none"}},
         Kind::sockets,
         "sockets over eth0 (no plugin for EFA)",
         "NCCL_NET_PLUGIN=none: NCCL uses sockets over eth0 instead of EFA"},
        {"a plugin that was asked for",
         {},
         "",
         {{.file = "libnccl-net-ofi.so", .problem = "not found", .is_missing = true}},
         {{"NCCL_NET_PLUGIN", "ofi"}},
         Kind::sockets,
         "sockets over eth0 (no InfiniBand or RoCE)",
         "libnccl-net-ofi.so: not found, so NCCL uses sockets over eth0 without a word"},
    };
    for (const Row& row : rows) {
        const NodeTopology topology = node_with(row.hcas);
        const NcclNetwork network = nccl_network(EnvironmentCopy(row.variables),
                                                 {row.plugins, row.ports, {"eth0"}, &topology});
        EXPECT_EQ(network.kind, row.kind) << row.title;
        EXPECT_EQ(network.text, row.text) << row.title;
        EXPECT_EQ(network.fault ? network.fault->cause() : "", row.fault) << row.title;
    }
}

TEST(NcclNetwork, NamesTheModuleOfTheGpusVendor) {
    const NodeTopology topology = node_with(HcaKind::slingshot);
    for (const auto& [file, module] : {std::pair("libnccl-net.so", "aws-ofi-nccl"),
                                       std::pair("librccl-net.so", "aws-ofi-rccl")}) {
        const NetPlugin plugin{.file = file, .problem = "not found", .is_missing = true};
        const auto network = nccl_network(EnvironmentCopy(), {{plugin}, "", {}, &topology});
        ASSERT_TRUE(network.fault);
        EXPECT_NE(network.fault->remedy.find(module), std::string::npos) << module;
    }
}

TEST(NetPluginFiles, AreThoseThatNcclAsksFor) {
    using Files = std::vector<std::vector<std::string>>;
    const auto files = [](const char* value, bool rccl = false) {
        return net_plugin_files(EnvironmentCopy(Variables{{"NCCL_NET_PLUGIN", value}}), rccl);
    };
    EXPECT_EQ(net_plugin_files(EnvironmentCopy(Variables{}), false), (Files{{"libnccl-net.so"}}));
    EXPECT_EQ(net_plugin_files(EnvironmentCopy(Variables{}), true), (Files{{"librccl-net.so"}}));
    EXPECT_EQ(files("None"), Files{});
    EXPECT_EQ(files(""), Files{});
    EXPECT_EQ(files("ofi"), (Files{{"ofi", "libnccl-net-ofi.so"}}));
    EXPECT_EQ(files("ofi", true), (Files{{"ofi", "librccl-net-ofi.so"}}));
    EXPECT_EQ(files("/opt/net.so,libnccl-net-ofi.so"),
              (Files{{"/opt/net.so"}, {"libnccl-net-ofi.so"}}));
}

// tuner.cc of NCCL 2.28.9 and of RCCL 2.22.
TEST(TunerPluginFiles, AreThoseThatNcclAsksFor) {
    using Files = std::vector<std::string>;
    const auto files = [](const char* value, bool rccl = false) {
        return tuner_plugin_files(EnvironmentCopy(Variables{{"NCCL_TUNER_PLUGIN", value}}), rccl);
    };
    EXPECT_EQ(tuner_plugin_files(EnvironmentCopy(Variables{}), false), Files{});
    EXPECT_EQ(files(""), Files{});
    EXPECT_EQ(files("NONE"), Files{});
    EXPECT_EQ(files("ofi"), (Files{"ofi", "libnccl-tuner-ofi.so"}));
    EXPECT_EQ(files("ofi", true), (Files{"ofi", "librccl-tuner-ofi.so"}));
    EXPECT_EQ(files("libnccl-ofi-tuner.so"), Files{"libnccl-ofi-tuner.so"});
}

}  // namespace
}  // namespace distgpu
