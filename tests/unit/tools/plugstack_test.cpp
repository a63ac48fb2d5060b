// plugstack.conf, and the files that it names.
#include "check_config/plugstack.h"

#include "made_up_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {
namespace {

// FILE:LINE PLUGIN ARGUMENT..., or FILE:LINE: OBJECT: PROBLEM; REMEDY, with the folder as "@".
std::vector<std::string> lines_of(const MadeUpFolder& folder) {
    const auto lines = read_plugstack(folder.path("plugstack.conf"));
    std::vector<std::string> texts;
    if (!lines) return {lines.error().message()};
    for (const ConfigLine& line : *lines) {
        std::string text = line.file + ":" + std::to_string(line.number);
        if (line.ignored) {
            text += line.ignored->message().substr(sizeof "distgpu" - 1);
        } else {
            text += (line.required ? " required " : " optional ") + line.plugin;
            for (const std::string& argument : line.arguments) text += " " + argument;
        }
        for (std::size_t at; (at = text.find(folder.path())) != std::string::npos;) {
            text.replace(at, folder.path().size(), "@");
        }
        texts.push_back(text);
    }
    return texts;
}

TEST(PlugstackFile, LinesHaveWordsAndComments) {
    const MadeUpFolder folder;
    folder.write("plugstack.conf",
                 "# all\n\n  required\t/a.so  x=1 y#z\noptional b.so\nrequired /c.so # d");
    EXPECT_EQ(lines_of(folder), (std::vector<std::string>{"@/plugstack.conf:3 required /a.so x=1 y",
                                                          "@/plugstack.conf:4 optional b.so",
                                                          "@/plugstack.conf:5 required /c.so"}));
}

TEST(PlugstackFile, IncludedFilesAreReadInTheOrderOfTheirNames) {
    const MadeUpFolder folder;
    folder.write("plugstack.conf", "required /1.so\ninclude d/*.conf\nrequired /4.so\n");
    folder.write("d/zz.conf", "required /3.so\n");
    folder.write("d/10.conf", "required /2.so\n");
    folder.write("d/sample", "required /none.so\n");
    EXPECT_EQ(lines_of(folder),
              (std::vector<std::string>{
                  "@/plugstack.conf:1 required /1.so", "@/d/10.conf:1 required /2.so",
                  "@/d/zz.conf:1 required /3.so", "@/plugstack.conf:3 required /4.so"}));
}

TEST(PlugstackFile, WhatSlurmIgnoresIsNamed) {
    struct Row {
        const char* line;
        const char* said;
    };
    const std::vector<Row> rows = {
        {"requiered /a.so",
         "requiered: unknown keyword, so Slurm ignores the line; write required"},
        {"Required /a.so", "Required: unknown keyword, so Slurm ignores the line; write required"},
        {"includes x", "includes: unknown keyword, so Slurm ignores the line; write include"},
        {"plugin /a.so", "plugin: unknown keyword, so Slurm ignores the line; write required"},
        {"optional",
         "optional: Slurm ignores a line without a path; write optional /PATH/OF/THE/FILE"},
        {"include # none",
         "include: Slurm ignores a line without a path; write include /PATH/OF/THE/FILE"},
        {"required /a.so\r",
         "required: the line ends in a carriage return, which Slurm reads as part of the last "
         "word; "
         "save the file with Unix line ends, as dos2unix does"},
        {"include d", "d: is a folder, which Slurm does not read; write include @/d/*.conf"},
        {"include none.conf",
         "none.conf: no such file, which Slurm silently ignores; name an existing file"},
        {"include d/../*.conf",
         "d/../*.conf: includes @/d/../plugstack.conf recursively, without end; remove the line"},
    };
    for (const Row& row : rows) {
        const MadeUpFolder folder;
        folder.write("d/none", "");
        folder.write("plugstack.conf", row.line);
        EXPECT_EQ(lines_of(folder),
                  std::vector<std::string>{std::string("@/plugstack.conf:1: ") + row.said})
            << row.line;
    }
}

TEST(PlugstackFile, AFileMayBeIncludedTwiceAndAFolderHaveNone) {
    const MadeUpFolder folder;
    folder.write("plugstack.conf", "include a\ninclude d/*.conf\ninclude a\n");
    folder.write("a", "required /a.so\n");
    EXPECT_EQ(lines_of(folder),
              (std::vector<std::string>{"@/a:1 required /a.so", "@/a:1 required /a.so"}));
}

TEST(PlugstackFile, AMissingFileIsSaid) {
    const MadeUpFolder folder;
    EXPECT_EQ(lines_of(folder),
              std::vector<std::string>{"distgpu: " + folder.path("plugstack.conf") +
                                       ": No such file or directory; name a file that this user "
                                       "can read"});
}

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(PluginRelease, IsWhatThePluginWasBuiltFor) {
    const auto release = plugin_release(DISTGPU_FAKE_PLUGIN);
    ASSERT_TRUE(release);
    EXPECT_EQ(*release, "24.11");
    const auto other = plugin_release(DISTGPU_FAKE_NVML);  // a library without the symbols
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error(),
              (Error{DISTGPU_FAKE_NVML, "not a Slurm plugin: it has no plugin_name and plugin_type",
                     ""}));
}

TEST(PluginRelease, OtherFilesAreNoLibraries) {
    const MadeUpFolder folder;
    folder.write("text", "no library");
    folder.write("empty", "");
    std::string other_machine = bytes_of(DISTGPU_FAKE_PLUGIN);
    other_machine.at(4) ^= 3;  // 32 for 64 bits, and the other way round
    folder.write("other", other_machine);
    for (const char* name : {"text", "empty", "other", "missing"}) {
        const auto release = plugin_release(folder.path(name));
        ASSERT_FALSE(release) << name;
        EXPECT_EQ(release.error(),
                  (Error{folder.path(name), "not a shared library for this architecture",
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
        const auto release = plugin_release(folder.path("cut"));
        if (!release || release->empty()) continue;
        EXPECT_EQ(*release, "24.11") << size;
    }
}

TEST(PortRanges, AreThoseOfTheKernel) {
    const auto first_and_last = [](const char* list) {
        std::vector<std::uint32_t> ports;
        for (std::uint32_t port = 0; port < 65536; ++port) {
            if (has_port(list, port)) ports.push_back(port);
        }
        return ports.empty() ? ports : std::vector{ports.front(), ports.back()};
    };
    using Ports = std::vector<std::uint32_t>;
    EXPECT_EQ(first_and_last("32768-60999"), (Ports{32768, 60999}));
    EXPECT_EQ(first_and_last("4000-4100,5000"), (Ports{4000, 5000}));
    EXPECT_FALSE(has_port("4000-4100,5000", 4101));
    for (const char* none : {"", "x", "1-", "70000", "1-65536", "-"}) {
        EXPECT_EQ(first_and_last(none), Ports{}) << none;
    }
}

}  // namespace
}  // namespace distgpu
