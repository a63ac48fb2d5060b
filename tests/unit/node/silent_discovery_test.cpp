// For how long a discovery that did not end is remembered, and of whom. A script stands here for
// the command.
#include "node/silent_discovery.h"

#include "made_up_folder.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace distgpu {
namespace {

constexpr uid_t user = 1000;

class SilentDiscovery : public testing::Test {
  protected:
    SilentDiscovery() {
        folder_.write("run/nothing", "");
        folder_.write("distgpu", "#!/bin/sh\nsleep 30\n");
        std::filesystem::permissions(source_.command, std::filesystem::perms::owner_all);
    }

    bool silent(const TopologySource& source, uid_t of = user) const {
        return is_silent(source, of, roots_);
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
    note_silent(source_, user, roots_);
    EXPECT_TRUE(silent(source_));
    EXPECT_FALSE(silent(source_, user + 1));
    EXPECT_FALSE(silent({folder_.path("other.xml"), true, source_.command}));
    EXPECT_FALSE(silent({source_.file, true, folder_.path("other")}));
}

TEST_F(SilentDiscovery, ANoteIsReplacedByTheNext) {
    const TopologySource other{folder_.path("other.xml"), true, source_.command};
    note_silent(source_, user, roots_);
    note_silent(other, user, roots_);
    EXPECT_TRUE(silent(other));
    EXPECT_FALSE(silent(source_));
}

TEST_F(SilentDiscovery, AChangeOfTheCommandOrTheFileEndsIt) {
    for (const std::string& changed : {source_.command, source_.file}) {
        note_silent(source_, user, roots_);
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
    note_silent(source_, user, roots_);
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
    note_silent(source_, user, roots_);
    EXPECT_TRUE(silent(source_));
    EXPECT_EQ(std::filesystem::file_size(folder_.path("precious")), 4U);
}

TEST_F(SilentDiscovery, WhereItCannotBeWrittenNothingIsRemembered) {
    const MachineRoots nowhere{.run = folder_.path("missing")};
    note_silent(source_, user, nowhere);
    EXPECT_FALSE(is_silent(source_, user, nowhere));
}

// Of a command that is missing, since every file that is there would be newer than the note.
TEST_F(SilentDiscovery, LastsTenMinutesOfTheClock) {
    struct Row {
        time_t age;
        bool remembered;
    };
    const TopologySource missing{folder_.path("none.xml"), true, folder_.path("none")};
    note_silent(missing, user, roots_);
    for (const Row& row : {Row{0, true}, Row{590, true}, Row{610, false}, Row{-60, false}}) {
        const timespec then{std::time(nullptr) - row.age, 0};
        const std::array<timespec, 2> times{then, then};
        const std::string note = folder_.path("run/distgpu/silent-discovery.1000");
        ASSERT_EQ(utimensat(AT_FDCWD, note.c_str(), times.data(), 0), 0);
        EXPECT_EQ(silent(missing), row.remembered) << row.age << " s";
    }
}

}  // namespace
}  // namespace distgpu
