// Where a node's topology comes from: a saved file, an XML, or the distgpu command, for which a
// script stands here that writes down what it was asked.
#include "node/node_topology.h"

#include "made_up_folder.h"
#include "mapping/binding/two_socket_node.h"
#include "mapping/topology/topology_json.h"
#include "node/silent_discovery.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace distgpu {
namespace {

TEST(ExpandPath, PutsTheNodesNamesIn) {
    struct Row {
        const char* pattern;
        const char* path;
    };
    const std::vector<Row> rows = {
        {"/run/distgpu/topology.json", "/run/distgpu/topology.json"},
        {"/shared/%n.xml", "/shared/node07.xml"},
        {"/shared/%h.xml", "/shared/node07.cluster.xml"},
        {"/%h/%n/%n", "/node07.cluster/node07/node07"},
        {"/100%%n", "/100%n"},
        {"/%%%n", "/%node07"},
        {"/%x/%N", "/%x/%N"},
        {"/ends with %", "/ends with %"},
        {"", ""},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(expand_path(row.pattern, "node07", "node07.cluster"), row.path);
    }
    // What follows the pattern is not its.
    EXPECT_EQ(expand_path(std::string_view("/%n").substr(0, 2), "node07", "host"), "/%");
    // A name is not expanded once more.
    EXPECT_EQ(expand_path("/%n", "%h", "host"), "/%h");
}

const MachineIdentity machine{"boot-1", {"0000:01:00.0", "0000:02:00.0"}};
const NodeTopology saved_node = two_socket_node({0, 1}, {0, 1});
const NodeTopology discovered_node = two_socket_node({2, 3}, {2, 3});

const std::string writes_down_and_answers =
    "#!/bin/sh\n"
    "echo \"$@\" > \"${0%/*}\"/asked\n"
    "exec cat \"${0%/*}\"/answer.json\n";

// A machine with the identity `machine`, whose command discovers `discovered_node`.
class FindTopology : public testing::Test {
  protected:
    FindTopology() {
        folder_.write("proc/sys/kernel/random/boot_id", "boot-1\n");
        for (const char* device : {"0000:01:00.0", "0000:02:00.0"}) {
            folder_.write(std::string("sys/bus/pci/devices/") + device + "/class", "0x030200\n");
        }
        folder_.write("answer.json", to_json(discovered_node, std::nullopt));
        set_command(writes_down_and_answers);
    }

    // Returns the file's path.
    std::string write(const std::string& file, const std::string& text) const {
        folder_.write(file, text);
        return folder_.path(file);
    }

    void set_command(const std::string& script) {
        std::filesystem::permissions(write("distgpu", script), std::filesystem::perms::owner_all);
    }

    Result<FoundTopology> find(const std::string& file, bool given = true) const {
        return find_topology({file, given, folder_.path("distgpu")},
                             {folder_.path("proc"), folder_.path("sys"), folder_.path("run")});
    }

    // What the command was asked since the last call; "" if it was not.
    std::string asked() const {
        std::stringstream arguments;
        arguments << std::ifstream(folder_.path("asked")).rdbuf();
        std::filesystem::remove(folder_.path("asked"));
        return arguments.str();
    }

    // The file is passed over for the reason, and the command discovers.
    void expect_discovered(const std::string& file, const std::string& ignored,
                           bool given = true) const {
        const auto found = find(file, given);
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(found->topology, discovered_node);
        EXPECT_EQ(found->ignored, ignored);
        EXPECT_EQ(asked(), "topo --format json\n");
    }

    const MadeUpFolder folder_;
};

TEST_F(FindTopology, ATopologyOfThisBootIsUsed) {
    const std::string file = write("saved.json", to_json(saved_node, machine));
    for (const bool given : {true, false}) {
        const auto found = find(file, given);
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(found->topology.gpus, saved_node.gpus);
        EXPECT_EQ(found->topology.cores, saved_node.cores);
        EXPECT_EQ(found->topology.distances, saved_node.distances);
        EXPECT_EQ(found->ignored, "");
        EXPECT_EQ(asked(), "");
    }
}

// A link may have come up, or gone down, since the boot.
TEST_F(FindTopology, ThePortsOfASavedTopologyAreReadAnew) {
    const std::string port = "sys/class/infiniband/mlx5_0/ports/1/";
    write(port + "state", "1: DOWN\n");
    write(port + "link_layer", "InfiniBand\n");
    write(port + "rate", "10 Gb/sec (4X SDR)\n");
    const auto found = find(write("saved.json", to_json(saved_node, machine)));
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->topology.hcas[0].ports,
              (std::vector<HcaPort>{{1, HcaPort::State::down, HcaPort::Link::infiniband, 10}}));
    EXPECT_EQ(found->topology.hcas[1].ports, std::vector<HcaPort>{});
}

// One that an administrator wrote for all nodes of a kind.
TEST_F(FindTopology, ATopologyOfNoMachineIsUsedAsItIs) {
    const auto found = find(write("saved.json", to_json(saved_node, std::nullopt)));
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->topology, saved_node);
    EXPECT_EQ(found->ignored, "");
    EXPECT_EQ(asked(), "");
}

TEST_F(FindTopology, AStaleTopologyIsPassedOver) {
    const std::string other_boot = "saved before the last boot, or on another machine";
    const std::string other_devices = "PCI devices have changed since it was saved";
    struct Row {
        MachineIdentity identity;
        std::string why;
    };
    const std::vector<Row> rows = {
        {{"boot-0", machine.pci}, other_boot},
        {{"boot-0", {}}, other_boot},
        {{"boot-1", {"0000:01:00.0"}}, other_devices},
        {{"boot-1", {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"}}, other_devices},
        {{"boot-1", {"0000:01:00.0", "0000:03:00.0"}}, other_devices},
    };
    for (const auto& row : rows) {
        const std::string file = write("saved.json", to_json(saved_node, row.identity));
        expect_discovered(file, file + ": " + row.why);
        // The file at its usual place is nobody's wish, but an unused one is worth a line.
        expect_discovered(file, file + ": " + row.why, false);
    }
}

TEST_F(FindTopology, OnAMachineOfUnknownBootASavedTopologyIsPassedOver) {
    const std::string boot_id = folder_.path("proc/sys/kernel/random/boot_id");
    std::filesystem::remove(boot_id);
    const std::string file = write("saved.json", to_json(saved_node, machine));
    expect_discovered(file, file + ": " + boot_id + ": cannot be read");
}

TEST_F(FindTopology, WhatIsNoTopologyIsPassedOver) {
    for (const char* text : {"{", "{}", " \n\t{\"schema\": \"distgpu.topo/9\"}"}) {
        const std::string file = write("saved.json", text);
        const auto refused = parse_topology(file, text);
        ASSERT_FALSE(refused);
        expect_discovered(file, file + ": " + refused.error().problem);
    }
}

// As a full disk leaves one.
TEST_F(FindTopology, AnEmptyFileIsPassedOver) {
    for (const char* text : {"", " \n"}) {
        const std::string file = write("saved.json", text);
        expect_discovered(file, file + ": neither JSON of distgpu topo nor XML of lstopo");
    }
}

TEST_F(FindTopology, AMissingFileIsWorthALineWhereItWasGiven) {
    const std::string file = folder_.path("missing.json");
    expect_discovered(file, file + ": No such file or directory");
    expect_discovered(file, "", false);
}

// A FIFO without a writer would make slurmstepd wait for ever.
TEST_F(FindTopology, WhatIsNoFileIsPassedOver) {
    const std::string fifo = folder_.path("fifo");
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    alarm(10);
    for (const std::string& path : {fifo, folder_.path("sys"), std::string("/dev/null")}) {
        expect_discovered(path, path + ": not a regular file");
    }
    alarm(0);
}

TEST_F(FindTopology, AnXmlIsTheCommandsToConvert) {
    const std::string file = write("node.xml", "<?xml version=\"1.0\"?>\n<topology/>\n");
    const auto found = find(file);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->topology, discovered_node);
    EXPECT_EQ(found->ignored, "");
    EXPECT_EQ(asked(), "topo --format json --topology " + file + "\n");
}

TEST_F(FindTopology, WhatTheCommandCannotDoIsTold) {
    set_command("#!/bin/sh\necho 'hwloc: no memory' >&2\nexit 3\n");
    const std::string command = folder_.path("distgpu") + " topo --format json";
    const auto failed = find(folder_.path("missing.json"));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message(), "distgpu: " + command + ": hwloc: no memory");
    const std::string xml = write("node.xml", "<topology");
    const auto unconverted = find(xml);
    ASSERT_FALSE(unconverted);
    EXPECT_EQ(unconverted.error().message(),
              "distgpu: " + command + " --topology " + xml + ": hwloc: no memory");
}

TEST_F(FindTopology, AnAnswerOfTheCommandIsDistrusted) {
    write("answer.json", "{}");
    const auto found = find(folder_.path("missing.json"));
    ASSERT_FALSE(found);
    const std::string command = folder_.path("distgpu");
    EXPECT_EQ(found.error(), parse_topology(command, "{}").error());
}

TEST_F(FindTopology, ACommandThatHangsHasFiveSeconds) {
    using Clock = std::chrono::steady_clock;
    using namespace std::chrono_literals;
    set_command("#!/bin/sh\nsleep 30\n");
    const auto begin = Clock::now();
    const auto found = find(folder_.path("missing.json"));
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().problem, "no answer within 5000 ms");
    EXPECT_GT(Clock::now() - begin, 4s);
    EXPECT_LT(Clock::now() - begin, 7s);
}

// Of this process's own user.
TEST_F(FindTopology, ACommandThatIsKnownToHangIsNotAsked) {
    const std::string xml = write("node.xml", "<?xml version=\"1.0\"?>\n<topology/>\n");
    const std::string saved = write("saved.json", to_json(saved_node, machine));
    folder_.write("run/nothing", "");
    for (const std::string& file : {folder_.path("missing.json"), xml, saved}) {
        const TopologySource source{file, true, folder_.path("distgpu")};
        note_silent(source, geteuid(), {.run = folder_.path("run")});
        const auto found = find(file);
        EXPECT_EQ(asked(), "");
        // A saved topology needs no command.
        ASSERT_EQ(found.has_value(), file == saved);
        if (found) continue;
        EXPECT_EQ(found.error().message(),
                  "distgpu: " + source.command +
                      ": did not answer an earlier step of yours, and is not asked again for 10 "
                      "minutes");
    }
}

}  // namespace
}  // namespace distgpu
