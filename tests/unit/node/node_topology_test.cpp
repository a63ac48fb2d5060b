// Where a node's topology comes from: a saved file, an XML, or the distgpu command, for which a
// script stands here that writes down what it was asked.
#include "node/node_topology.h"

#include "base/io/files.h"
#include "made_up_folder.h"
#include "mapping/binding/two_socket_node.h"
#include "mapping/message_of.h"
#include "mapping/topology/topology_json.h"

#include <gtest/gtest.h>

#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace distgpu {
namespace {

TEST(ExpandPath, PutsTheNodesNamesIn) {
    for (const auto& [pattern, path] :
         {std::pair{"/run/distgpu/topology.json", "/run/distgpu/topology.json"},
          {"/shared/%n.xml", "/shared/node07.xml"},
          {"/shared/%h.xml", "/shared/node07.cluster.xml"},
          {"/%h/%n/%n", "/node07.cluster/node07/node07"},
          {"/100%%n", "/100%n"},
          {"/%%%n", "/%node07"},
          {"/%x/%N", "/%x/%N"},
          {"/ends with %", "/ends with %"},
          {"", ""}}) {
        EXPECT_EQ(expand_path(pattern, "node07", "node07.cluster"), path);
    }
    // What follows the pattern is not its.
    EXPECT_EQ(expand_path(std::string_view("/%n").substr(0, 2), "node07", "host"), "/%");
    // A name is not expanded once more.
    EXPECT_EQ(expand_path("/%n", "%h", "host"), "/%h");
}

const MachineIdentity machine{"boot-1", {"0000:01:00.0", "0000:02:00.0"}, {"mlx5_0"}};
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

    void set_command(const std::string& script) { folder_.write_program("distgpu", script); }

    Result<FoundTopology> find(const std::string& file, bool given = true) const {
        return find_topology({file, given, folder_.path("distgpu")},
                             {folder_.path("proc"), folder_.path("sys"), folder_.path("run")});
    }

    // What the command was asked since the last call; "" if it was not.
    std::string asked() const {
        const auto arguments = read_regular_file(folder_.path("asked"));
        std::filesystem::remove(folder_.path("asked"));
        return arguments ? *arguments : "";
    }

    // The file is passed over for the reason, and the command discovers.
    void expect_discovered(const std::string& file, const std::string& ignored,
                           bool given = true) const {
        const auto found = find(file, given);
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(found->topology, discovered_node);
        EXPECT_EQ(found->ignored_file, ignored);
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
        EXPECT_EQ(found->ignored_file, "");
        EXPECT_EQ(asked(), "");
    }
    // One that an administrator wrote for all nodes of a kind is used as it is.
    const auto found = find(write("saved.json", to_json(saved_node, std::nullopt)));
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->topology, saved_node);
    EXPECT_EQ(found->ignored_file, "");
    EXPECT_EQ(asked(), "");
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

TEST_F(FindTopology, AStaleTopologyIsPassedOver) {
    const std::string other_boot = "saved before the last boot, or on another machine";
    const std::string other_devices = "PCI devices have changed since it was saved";
    for (const MachineIdentity& identity :
         {MachineIdentity{"boot-0", machine.pci},
          {"boot-0", {}},
          {"boot-1", {"0000:01:00.0"}},
          {"boot-1", {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"}},
          {"boot-1", {"0000:01:00.0", "0000:03:00.0"}}}) {
        const std::string file = write("saved.json", to_json(saved_node, identity));
        const std::string why = identity.boot_id == "boot-0" ? other_boot : other_devices;
        expect_discovered(file, file + ": " + why);
        // The file at its usual place is nobody's wish, but an unused one is worth a line.
        expect_discovered(file, file + ": " + why, false);
    }
}

TEST_F(FindTopology, ATopologyFromBeforeADriverIsPassedOver) {
    const std::string file = write("saved.json", to_json(saved_node, machine));
    write("sys/bus/pci/drivers/nvidia/uevent", "");
    expect_discovered(file, file + ": drivers were loaded after it was saved");
    MachineIdentity with_driver = machine;
    with_driver.drivers.emplace_back("nvidia");
    EXPECT_TRUE(find(write("saved.json", to_json(saved_node, with_driver)))->is_saved);
}

TEST_F(FindTopology, ASaveIsNeededWhereItWouldFindMore) {
    const auto needs = [&](const MachineIdentity& identity) {
        return needs_save(write("saved.json", to_json(saved_node, identity)),
                          {folder_.path("proc"), folder_.path("sys"), folder_.path("run")});
    };
    EXPECT_FALSE(needs(machine));
    EXPECT_TRUE(needs({"boot-0", machine.pci}));
    EXPECT_TRUE(needs({"boot-1", {"0000:01:00.0"}}));
    // One device is gone.
    EXPECT_FALSE(needs({"boot-1", {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"}}));
    write("sys/class/infiniband/mlx5_1/uevent", "");
    EXPECT_TRUE(needs(machine));
    EXPECT_TRUE(needs_save(folder_.path("missing.json")));
    EXPECT_TRUE(needs_save(write("saved.json", "{}")));
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
    // As a full disk leaves one.
    for (const char* text : {"", " \n"}) {
        const std::string file = write("saved.json", text);
        expect_discovered(file, file + ": neither JSON of distgpu topo nor XML of lstopo");
    }
    // One that is missing is worth a line where it was given.
    const std::string missing = folder_.path("missing.json");
    expect_discovered(missing, missing + ": No such file or directory");
    expect_discovered(missing, "", false);
    // A FIFO without a writer would make slurmstepd wait for ever.
    const std::string fifo = folder_.path("fifo");
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    alarm(10);
    expect_discovered(fifo, fifo + ": not a regular file");
    alarm(0);
}

TEST_F(FindTopology, AnXmlIsTheCommandsToConvert) {
    const std::string file = write("node.xml", "<?xml version=\"1.0\"?>\n<topology/>\n");
    const auto found = find(file);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->topology, discovered_node);
    EXPECT_EQ(found->ignored_file, "");
    EXPECT_EQ(asked(), "topo --format json --topology " + file + "\n");
}

TEST_F(FindTopology, WhatTheCommandCannotDoIsTold) {
    const auto problem = [&](const std::string& file) { return message_of(find(file)); };
    const std::string missing = folder_.path("missing.json");
    const std::string command = folder_.path("distgpu");
    write("answer.json", "{}");
    EXPECT_EQ(problem(missing), parse_topology(command, "{}").error().message());
    set_command("#!/bin/sh\necho 'hwloc: no memory' >&2\nexit 3\n");
    const std::string asks = "distgpu: " + command + " topo --format json";
    EXPECT_EQ(problem(missing), asks + ": hwloc: no memory");
    const std::string xml = write("node.xml", "<topology");
    EXPECT_EQ(problem(xml), asks + " --topology " + xml + ": hwloc: no memory");
}

TEST_F(FindTopology, ACommandThatHangsHasFiveSeconds) {
    using Clock = std::chrono::steady_clock;
    using namespace std::chrono_literals;
    set_command("#!/bin/sh\nsleep 30\n");
    const auto begin = Clock::now();
    EXPECT_EQ(find(folder_.path("missing.json")).error().problem, "no answer within 5 s");
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
        record_discovery_timeout(source, geteuid(), {.run = folder_.path("run")});
        const auto found = find(file);
        EXPECT_EQ(asked(), "");
        // A saved topology needs no command.
        ASSERT_EQ(found.has_value(), file == saved);
        if (found) continue;
        EXPECT_EQ(found.error().message(),
                  "distgpu: " + source.command +
                      ": timed out in an earlier step of yours, so it is not run again for 10 "
                      "minutes");
    }
}

// ---- For how long a discovery that did not end is remembered, and of whom. A script stands here
// for the command.

constexpr uid_t user = 1000;

class SilentDiscovery : public testing::Test {
  protected:
    SilentDiscovery() {
        folder_.write("run/nothing", "");
        folder_.write_program("distgpu", "#!/bin/sh\nsleep 30\n");
    }

    bool silent(const TopologySource& source, uid_t of = user) const {
        return is_discovery_suspended(source, of, roots_);
    }

    const MadeUpFolder folder_;
    const MachineRoots roots_{.run = folder_.path("run")};
    const TopologySource source_{folder_.path("node.xml"), true, folder_.path("distgpu")};
};

// Longer than a file system's clock ticks.
void let_a_tick_pass() {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
}

TEST_F(SilentDiscovery, IsRememberedOfItsUserAndSource) {
    EXPECT_FALSE(silent(source_));
    record_discovery_timeout(source_, user, roots_);
    EXPECT_TRUE(silent(source_));
    EXPECT_FALSE(silent(source_, user + 1));
    const TopologySource other{folder_.path("other.xml"), true, source_.command};
    EXPECT_FALSE(silent(other));
    EXPECT_FALSE(silent({source_.file, true, folder_.path("other")}));
    // A note is replaced by the next.
    record_discovery_timeout(other, user, roots_);
    EXPECT_TRUE(silent(other));
    EXPECT_FALSE(silent(source_));
    // Where it cannot be written, nothing is remembered.
    const MachineRoots nowhere{.run = folder_.path("missing")};
    record_discovery_timeout(source_, user, nowhere);
    EXPECT_FALSE(is_discovery_suspended(source_, user, nowhere));
}

TEST_F(SilentDiscovery, AChangeOfTheCommandOrTheFileEndsIt) {
    for (const std::string& changed : {source_.command, source_.file}) {
        record_discovery_timeout(source_, user, roots_);
        ASSERT_TRUE(silent(source_)) << changed;
        let_a_tick_pass();
        // Its text, whatever the time of it that a package brings.
        folder_.write(std::filesystem::path(changed).filename(), "another");
        const std::array<timespec, 2> long_ago{};
        ASSERT_EQ(utimensat(AT_FDCWD, changed.c_str(), long_ago.data(), 0), 0);
        EXPECT_FALSE(silent(source_)) << changed;
        let_a_tick_pass();
    }
}

TEST_F(SilentDiscovery, EveryUserCanReadItsNoteWhateverTheUmask) {
    const mode_t before = umask(0777);
    record_discovery_timeout(source_, user, roots_);
    umask(before);
    for (const auto& [path, mode] :
         {std::pair{"run/distgpu", 0755U}, std::pair{"run/distgpu/silent-discovery.1000", 0644U}}) {
        struct stat status {};
        ASSERT_EQ(stat(folder_.path(path).c_str(), &status), 0) << path;
        EXPECT_EQ(status.st_mode & 07777U, mode) << path;
    }
}

TEST_F(SilentDiscovery, ALinkInItsPlaceIsReplacedAndNotFollowed) {
    folder_.write("run/distgpu/other", "");
    folder_.write("precious", "kept");
    std::filesystem::create_symlink(folder_.path("precious"),
                                    folder_.path("run/distgpu/silent-discovery.1000"));
    record_discovery_timeout(source_, user, roots_);
    EXPECT_TRUE(silent(source_));
    EXPECT_EQ(std::filesystem::file_size(folder_.path("precious")), 4U);
}

// Of a command that is missing, since every file that is there would be newer than the note.
TEST_F(SilentDiscovery, LastsTenMinutesOfTheClock) {
    const TopologySource missing{folder_.path("none.xml"), true, folder_.path("none")};
    record_discovery_timeout(missing, user, roots_);
    for (const auto& [age, remembered] :
         {std::pair<time_t, bool>{0, true}, {590, true}, {610, false}, {-60, false}}) {
        const timespec then{std::time(nullptr) - age, 0};
        const std::array<timespec, 2> times{then, then};
        const std::string note = folder_.path("run/distgpu/silent-discovery.1000");
        ASSERT_EQ(utimensat(AT_FDCWD, note.c_str(), times.data(), 0), 0);
        EXPECT_EQ(silent(missing), remembered) << age << " s";
    }
}

}  // namespace
}  // namespace distgpu
