// The text of distgpu.topo/1, and that reading it gives the topology again.
#include "mapping/topology/topology_json.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

using State = HcaPort::State;
using Link = HcaPort::Link;

// Something of every field; a second one of each device knows as little as is possible.
NodeTopology full_topology() {
    NodeTopology node;
    node.host = "node07";
    node.source = "live";
    node.numas = {{0, {0, 1, 4, 5}}, {8, {2, 3, 6, 7}}, {252, {}}};
    node.cores = {{{0, 4}, 0, 0}, {{1, 5}, 0, 0}, {{2, 6}, 1, 1}, {{3, 7}, 1, 1}};
    node.gpus.resize(2);
    node.gpus[0] = {"0000:06:00.0",
                    0,
                    GpuVendor::nvidia,
                    "NVIDIA \"H200\"",
                    "GPU-1",
                    3,
                    8,
                    {2, 3, 6, 7},
                    {{"MIG-1", "1g.18gb"}, {"MIG-2", ""}}};
    node.gpus[1].pci = "0000:16:00.0";
    node.gpus[1].partition = 5;
    node.gpus[1].vendor = GpuVendor::amd;
    node.hcas.resize(2);
    node.hcas[0] = {
        "mlx5_0",
        "0000:05:00.0",
        HcaKind::verbs,
        0,
        {0, 1, 4, 5},
        {{1, State::active, Link::infiniband, 400}, {2, State::down, Link::ethernet, 2.5}}};
    node.hcas[1].name = "hsn0";
    node.hcas[1].kind = HcaKind::slingshot;
    node.hcas[1].ports = {{1, State::unknown, Link::unknown, 0}};
    node.distances = {{Distance::pix, Distance::pxb}, {Distance::node, Distance::sys}};
    return node;
}

constexpr const char* full_text = R"({
"schema": "distgpu.topo/1",
"host": "node07",
"source": "live",
"machine": {"boot_id":"6f9b","pci":["0000:05:00.0","0000:06:00.0"]},
"numa": [
{"cpus":"0-1,4-5","id":0},
{"cpus":"2-3,6-7","id":8},
{"cpus":null,"id":252}],
"cores": [
{"cpus":"0,4","numa":0,"package":0},
{"cpus":"1,5","numa":0,"package":0},
{"cpus":"2,6","numa":8,"package":1},
{"cpus":"3,7","numa":8,"package":1}],
"gpus": [
{"cpus":"2-3,6-7","index":0,"mig":[{"profile":"1g.18gb","uuid":"MIG-1"},{"profile":null,"uuid":"MIG-2"}],"minor":3,"model":"NVIDIA \"H200\"","numa":8,"partition":0,"pci":"0000:06:00.0","uuid":"GPU-1","vendor":"nvidia"},
{"cpus":null,"index":1,"mig":[],"minor":null,"model":null,"numa":null,"partition":5,"pci":"0000:16:00.0","uuid":null,"vendor":"amd"}],
"hcas": [
{"cpus":"0-1,4-5","kind":"verbs","name":"mlx5_0","numa":0,"pci":"0000:05:00.0","ports":[{"eligible":true,"gbps":400.0,"link":"infiniband","port":1,"state":"active","why":null},{"eligible":false,"gbps":2.5,"link":"ethernet","port":2,"state":"down","why":"down"}]},
{"cpus":null,"kind":"slingshot","name":"hsn0","numa":null,"pci":null,"ports":[{"eligible":false,"gbps":null,"link":null,"port":1,"state":null,"why":"state not known"}]}],
"distance": [
["PIX","PXB"],
["NODE","SYS"]]}
)";

const MachineIdentity identity{"6f9b", {"0000:05:00.0", "0000:06:00.0"}};

TEST(TopologyJson, HasOneThingALine) {
    EXPECT_EQ(to_json(full_topology(), identity), full_text);
}

TEST(TopologyJson, IsReadAgainAsItWas) {
    const auto saved = parse_topology("file", to_json(full_topology(), identity));
    ASSERT_TRUE(saved) << saved.error().message();
    EXPECT_EQ(*saved, (SavedTopology{full_topology(), identity}));
}

TEST(TopologyJson, NamesNoMachineWhereNoneIsGiven) {
    const std::string text = to_json(full_topology(), std::nullopt);
    EXPECT_EQ(text.find("machine"), std::string::npos);
    const auto saved = parse_topology("file", text);
    ASSERT_TRUE(saved) << saved.error().message();
    EXPECT_EQ(saved->machine, std::nullopt);
}

TEST(TopologyJson, ReadsEveryWord) {
    NodeTopology node = full_topology();
    node.gpus[0].vendor = GpuVendor::intel;
    node.hcas[0].kind = HcaKind::efa;
    node.distances = {{Distance::phb, Distance::phb}, {Distance::phb, Distance::phb}};
    const auto saved = parse_topology("file", to_json(node, std::nullopt));
    ASSERT_TRUE(saved) << saved.error().message();
    EXPECT_EQ(saved->topology, node);
}

TEST(TopologyJson, MendsTextThatIsNotUtf8) {
    NodeTopology node = full_topology();
    node.gpus[0].model = "Tesla \xff";
    const auto saved = parse_topology("file", to_json(node, std::nullopt));
    ASSERT_TRUE(saved) << saved.error().message();
    EXPECT_EQ(saved->topology.gpus[0].model, "Tesla \xef\xbf\xbd");  // U+FFFD
}

TEST(DistanceWord, IsThatOfNvidiaSmi) {
    EXPECT_EQ(word(Distance::pix), "PIX");
    EXPECT_EQ(word(Distance::pxb), "PXB");
    EXPECT_EQ(word(Distance::phb), "PHB");
    EXPECT_EQ(word(Distance::node), "NODE");
    EXPECT_EQ(word(Distance::sys), "SYS");
}

}  // namespace
}  // namespace distgpu
