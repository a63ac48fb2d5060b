// The release of a plugin, and files that are none or are cut.
#include "check_config/plugin_release.h"

#include "made_up_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace distgpu {
namespace {

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(PluginRelease, IsWhatThePluginWasBuiltFor) {
    const auto release = release_of_plugin(DISTGPU_FAKE_PLUGIN);
    ASSERT_TRUE(release);
    EXPECT_EQ(*release, (SlurmRelease{24, 11}));
}

TEST(PluginRelease, ALibraryWithoutTheSymbolHasNone) {
    const auto release = release_of_plugin(DISTGPU_FAKE_NVML);
    ASSERT_TRUE(release);
    EXPECT_EQ(*release, std::nullopt);
}

TEST(PluginRelease, OtherFilesAreNoLibraries) {
    const MadeUpFolder folder;
    folder.write("text", "no library");
    folder.write("empty", "");
    std::string other_machine = bytes_of(DISTGPU_FAKE_PLUGIN);
    other_machine.at(4) ^= 3;  // 32 for 64 bits, and the other way round
    folder.write("other", other_machine);
    for (const char* name : {"text", "empty", "other", "missing"}) {
        const auto release = release_of_plugin(folder.path(name));
        ASSERT_FALSE(release) << name;
        EXPECT_EQ(release.error(),
                  (Error{folder.path(name), "not a library for this kind of machine",
                         "name the file of a plugin"}));
    }
}

// Every offset in the file may lead out of it.
TEST(PluginRelease, ACutLibraryTellsNothingWrong) {
    const MadeUpFolder folder;
    const std::string whole = bytes_of(DISTGPU_FAKE_PLUGIN);
    constexpr std::size_t step = 61;
    for (std::size_t size = 0; size < whole.size(); size += step) {
        folder.write("cut", whole.substr(0, size));
        const auto release = release_of_plugin(folder.path("cut"));
        if (!release || !*release) continue;
        EXPECT_EQ(**release, (SlurmRelease{24, 11})) << size;
    }
}

TEST(PluginRelease, IsWrittenAsSlurmWritesIt) {
    EXPECT_EQ(text_of({22, 5}), "22.05");
    EXPECT_EQ(text_of({24, 11}), "24.11");
}

}  // namespace
}  // namespace distgpu
