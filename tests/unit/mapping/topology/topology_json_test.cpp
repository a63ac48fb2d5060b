// The text of distgpu.topo/1, and that reading it gives the topology again.
#include "mapping/topology/topology_json.h"

#include "mapping/message_of.h"

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
    node.other_gpus = {{"0000:c1:00.0", GpuVendor::amd, "Instinct MI210"},
                       {"0000:18:00.0", GpuVendor::intel, ""}};
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
"machine": {"boot_id":"6f9b","pci":["0000:05:00.0","0000:06:00.0"],"drivers":["mlx5_0","nvidia"]},
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
"other_gpus": [
{"model":"Instinct MI210","pci":"0000:c1:00.0","vendor":"amd"},
{"model":null,"pci":"0000:18:00.0","vendor":"intel"}],
"hcas": [
{"cpus":"0-1,4-5","kind":"verbs","name":"mlx5_0","numa":0,"pci":"0000:05:00.0","ports":[{"eligible":true,"gbps":400.0,"link":"infiniband","port":1,"state":"active","why":null},{"eligible":false,"gbps":2.5,"link":"ethernet","port":2,"state":"down","why":"down"}]},
{"cpus":null,"kind":"slingshot","name":"hsn0","numa":null,"pci":null,"ports":[{"eligible":false,"gbps":null,"link":null,"port":1,"state":null,"why":"state not known"}]}],
"distance": [
["PIX","PXB"],
["NODE","SYS"]]}
)";

const MachineIdentity identity{"6f9b", {"0000:05:00.0", "0000:06:00.0"}, {"mlx5_0", "nvidia"}};

TEST(TopologyJson, HasOneThingALineAndIsReadAgainAsItWas) {
    EXPECT_EQ(to_json(full_topology(), identity), full_text);
    const auto saved = parse_topology("file", full_text);
    ASSERT_TRUE(saved) << saved.error().message();
    EXPECT_EQ(*saved, (SavedTopology{full_topology(), identity}));
}

TEST(TopologyJson, ReadsEveryWord) {
    NodeTopology node = full_topology();
    node.gpus[0].vendor = GpuVendor::intel;
    node.hcas[0].kind = HcaKind::efa;
    node.distances = {{Distance::phb, Distance::phb}, {Distance::phb, Distance::phb}};
    const std::string text = to_json(node, std::nullopt);
    EXPECT_EQ(text.find("machine"), std::string::npos);
    const auto saved = parse_topology("file", text);
    ASSERT_TRUE(saved) << saved.error().message();
    EXPECT_EQ(*saved, (SavedTopology{node, std::nullopt}));
}

TEST(TopologyJson, MendsTextThatIsNotUtf8) {
    NodeTopology node = full_topology();
    node.gpus[0].model = "Tesla \xff";
    const auto saved = parse_topology("file", to_json(node, std::nullopt));
    ASSERT_TRUE(saved) << saved.error().message();
    EXPECT_EQ(saved->topology.gpus[0].model, "Tesla \xef\xbf\xbd");  // U+FFFD
}

// Valid; each test spoils one place.
constexpr std::string_view valid = R"({
"schema": "distgpu.topo/1", "host": null, "source": "live",
"machine": {"boot_id": "6f9b", "pci": ["0000:05:00.0"], "drivers": []},
"numa": [{"id": 0, "cpus": "0-1"}, {"id": 8, "cpus": "2-3"}],
"cores": [{"cpus": "0-1", "numa": 0, "package": 0}, {"cpus": "2-3", "numa": 8, "package": 1}],
"gpus": [{"index": 0, "pci": "0000:06:00.0", "partition": 0, "vendor": "nvidia", "model": "H200",
          "uuid": "GPU-1", "minor": 0, "numa": 8, "cpus": "2-3",
          "mig": [{"uuid": "MIG-1", "profile": "1g.18gb"}]}],
"other_gpus": [{"pci": "0000:c1:00.0", "vendor": "amd", "model": "MI210"}],
"hcas": [{"name": "mlx5_0", "pci": "0000:05:00.0", "kind": "verbs", "numa": 8, "cpus": "2-3",
          "ports": [{"port": 1, "state": "active", "link": "infiniband", "gbps": 400}]}],
"distance": [["PIX"]]})";

struct Refusal {
    std::string_view text;  // which is in `valid`
    std::string replacement;
    std::string problem;
};

std::string replaced(std::string_view text, const std::string& replacement) {
    std::string spoilt(valid);
    const std::size_t at = spoilt.find(text);
    EXPECT_NE(at, std::string::npos) << text;
    return spoilt.replace(at, text.size(), replacement);
}

void expect_refused(const std::string& text, const std::string& problem) {
    EXPECT_EQ(message_of(parse_topology("/run/topology.json", text)),
              "distgpu: /run/topology.json: " + problem + "; write it again with distgpu topo");
}

void expect_refusals(const std::vector<Refusal>& rows) {
    for (const auto& [text, replacement, problem] : rows) {
        expect_refused(replaced(text, replacement), problem);
    }
}

TEST(ParseTopology, TakesMissingFieldsThatMayBeNull) {
    for (const std::string_view field :
         {R"("host": null, )", R"("source": "live",)", R"("model": "H200",)", R"("uuid": "GPU-1",)",
          R"("minor": 0,)", R"("state": "active", )", R"("link": "infiniband", )",
          R"(, "gbps": 400)", R"(, "profile": "1g.18gb")", R"(, "model": "MI210")",
          R"("other_gpus": [{"pci": "0000:c1:00.0", "vendor": "amd", "model": "MI210"}],)",
          R"("machine": {"boot_id": "6f9b", "pci": ["0000:05:00.0"], "drivers": []},)"}) {
        const auto topology = parse_topology("file", replaced(field, ""));
        EXPECT_TRUE(topology) << field;
    }
}

TEST(ParseTopology, IgnoresWhatItDoesNotKnow) {
    EXPECT_TRUE(parse_topology("file", replaced(R"("host": null)", R"("later": [{}])")));
}

TEST(ParseTopology, RefusesWhatIsNoJsonObject) {
    for (const std::string& text : {std::string(), std::string("{"), std::string("<topology/>"),
                                    std::string(valid.substr(0, valid.size() - 1))}) {
        expect_refused(text, "not JSON, or cut short");
    }
    expect_refused("[]", "not a JSON object");
    expect_refused(std::string(100000, '['), "nested deeper than 32 levels");
}

TEST(ParseTopology, RefusesAnotherSchema) {
    expect_refusals({{"distgpu.topo/1", "distgpu.topo/2", R"("schema": not distgpu.topo/1)"},
                     {R"("distgpu.topo/1")", "1", R"("schema": not a line of text)"},
                     {R"("schema")", R"("Schema")", R"("schema": not distgpu.topo/1)"}});
}

TEST(ParseTopology, RefusesLists) {
    expect_refusals(
        {{R"("numa": [{)", R"("numa": 1, "x": [{)", R"("numa": not a list)"},
         {R"("cores")", R"("Cores")", R"("cores": not a list)"},
         {R"({"id": 0, "cpus": "0-1"})", "0", R"("numa[0]": not an object)"},
         {R"("mig": [{"uuid")", R"("mig": [[], {"uuid")", R"("gpus[0].mig[0]": not an object)"},
         {R"("machine": {)", R"("machine": [], "x": {)", R"("machine": not an object)"}});
}

TEST(ParseTopology, RefusesNumbers) {
    const std::string id = R"("numa[0].id": not a whole number below 65536)";
    expect_refusals({{R"("id": 0)", R"("id": 65536)", id},
                     {R"("id": 0)", R"("id": -1)", id},
                     {R"("id": 0)", R"("id": 0.5)", id},
                     {R"("id": 0)", R"("id": "0")", id},
                     {R"("id": 0)", R"("id": 18446744073709551616)", id},
                     {R"("id": 0, )", "", R"("numa[0].id": missing)"},
                     {R"("package": 1)", R"("package": null)", R"("cores[1].package": missing)"},
                     {R"("minor": 0)", R"("minor": 1048576)",
                      R"("gpus[0].minor": not a whole number below 1048576)"},
                     {R"("port": 1)", R"("port": 256)",
                      R"("hcas[0].ports[0].port": not a whole number below 256)"},
                     {R"("gbps": 400)", R"("gbps": -1)",
                      R"("hcas[0].ports[0].gbps": not a number from 0 to 1000000)"},
                     {R"("gbps": 400)", R"("gbps": 1e300)",
                      R"("hcas[0].ports[0].gbps": not a number from 0 to 1000000)"},
                     {R"("gbps": 400)", R"("gbps": "400")",
                      R"("hcas[0].ports[0].gbps": not a number from 0 to 1000000)"}});
}

TEST(ParseTopology, RefusesCpus) {
    expect_refusals(
        {{R"("id": 0, "cpus": "0-1")", R"("id": 0, "cpus": "1-0")",
          R"("numa[0].cpus": not a list of CPUs)"},
         {R"("id": 0, "cpus": "0-1")", R"("id": 0, "cpus": 1)",
          R"("numa[0].cpus": not a list of CPUs)"},
         {R"({"cpus": "2-3", "numa")", R"({"cpus": "99999", "numa")",
          R"("cores[1].cpus": not a list of CPUs)"},
         {R"({"cpus": "2-3", "numa")", R"({"cpus": "", "numa")",
          R"("cores[1].cpus": names no CPU)"},
         {R"({"cpus": "2-3", "numa")", R"({"cpus": "1-3", "numa")",
          R"("cores[1].cpus": another core already has one of these CPUs)"},
         {R"("cores": [{"cpus")", R"("cores": [], "x": [{"cpus")", R"("cores": empty)"}});
}

// Names become parts of paths below /sys and of lists in the environment.
TEST(ParseTopology, RefusesNames) {
    const std::string not_a_name = "not made of letters, digits and -_.:";
    for (const std::string name : {"../mlx5_0", "a/b", "a,b", "a b", ".", "-a", "_", "a=b", "é"}) {
        expect_refused(replaced("mlx5_0", name), R"("hcas[0].name": )" + not_a_name);
    }
    expect_refusals(
        {{"GPU-1", "GPU 1", R"("gpus[0].uuid": )" + not_a_name},
         {"0000:06:00.0", "06/00", R"("gpus[0].pci": )" + not_a_name},
         {R"("0000:06:00.0")", "null", R"("gpus[0].pci": missing)"},
         {R"("pci": "0000:05:00.0", "kind")", R"("pci": "?", "kind")",
          R"("hcas[0].pci": )" + not_a_name},
         {R"("mlx5_0")", R"("")", R"("hcas[0].name": missing)"},
         {R"("MIG-1")", "null", R"("gpus[0].mig[0].uuid": missing)"},
         {"0000:c1:00.0", "c1/00", R"("other_gpus[0].pci": )" + not_a_name},
         {"6f9b", "6f9b\\n", R"("machine.boot_id": not a line of text)"},
         {R"(["0000:05:00.0"])", R"([5])", R"("machine.pci": contains an invalid PCI address)"},
         {R"(["0000:05:00.0"])", R"([".."])", R"("machine.pci": contains an invalid PCI address)"},
         {R"(["0000:05:00.0"])", "{}", R"("machine.pci": not a list)"},
         {R"("drivers": [])", R"("drivers": "nvidia")", R"("machine.drivers": not a list)"}});
}

TEST(ParseTopology, RefusesText) {
    const std::string problem = R"("gpus[0].model": not a line of text)";
    expect_refusals({{"H200", "a\\u001b[2J", problem},
                     {"H200", "a\\u007f", problem},
                     {"H200", std::string(4097, 'x'), problem},
                     {R"("H200")", "7", problem},
                     {"MI210", "a\\u001b[2J", R"("other_gpus[0].model": not a line of text)"}});
    EXPECT_TRUE(parse_topology("file", replaced("H200", std::string(4096, 'x'))));
}

TEST(ParseTopology, RefusesWords) {
    expect_refusals({{R"("nvidia")", R"("NVIDIA")", R"("gpus[0].vendor": unknown value)"},
                     {R"("nvidia")", "null", R"("gpus[0].vendor": missing)"},
                     {R"("amd")", R"("ATI")", R"("other_gpus[0].vendor": unknown value)"},
                     {R"("amd")", "null", R"("other_gpus[0].vendor": missing)"},
                     {R"("verbs")", R"("ib")", R"("hcas[0].kind": unknown value)"},
                     {R"("active")", R"("up")", R"("hcas[0].ports[0].state": unknown value)"},
                     {R"("infiniband")", R"("IB")", R"("hcas[0].ports[0].link": unknown value)"}});
}

TEST(ParseTopology, RefusesNumaNodesThatDoNotFit) {
    expect_refusals({{R"("id": 8)", R"("id": 0)", R"("numa[1].id": not in order)"},
                     {R"("index": 0)", R"("index": 1)", R"("gpus[0].index": not in order)"},
                     {R"("numa": 8, "package")", R"("numa": 1, "package")",
                      R"("cores[1].numa": not one of "numa")"},
                     {R"("minor": 0, "numa": 8)", R"("minor": 0, "numa": 1)",
                      R"("gpus[0].numa": not one of "numa")"},
                     {R"("verbs", "numa": 8)", R"("verbs", "numa": 1)",
                      R"("hcas[0].numa": not one of "numa")"}});
}

TEST(ParseTopology, RefusesAMatrixOfAnotherSize) {
    const std::string size = R"("distance": not a row for each GPU with a distance for each HCA)";
    const std::string words = R"("distance": contains an unknown distance)";
    expect_refusals({{R"([["PIX"]])", "[]", size},
                     {R"([["PIX"]])", R"([["PIX"],["PIX"]])", size},
                     {R"([["PIX"]])", "[[]]", size},
                     {R"([["PIX"]])", R"([["PIX","PIX"]])", size},
                     {R"([["PIX"]])", R"(["PIX"])", size},
                     {R"([["PIX"]])", R"([["NV18"]])", words},
                     {R"([["PIX"]])", "[[0]]", words},
                     {R"([["PIX"]])", R"("PIX")", R"("distance": not a list)"}});
}

}  // namespace
}  // namespace distgpu
