#include "base/io/write.h"

#include "resource_limit.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace distgpu {
namespace {

namespace fs = std::filesystem;

// With a folder of its own, and the umask of a user who lets nobody read.
class ReplaceFile : public testing::Test {
  protected:
    ReplaceFile() {
        std::string name = testing::TempDir() + "distgpu-XXXXXX";
        folder_ = mkdtemp(name.data());
    }
    ~ReplaceFile() override {
        umask(old_umask_);
        fs::remove_all(folder_);
    }
    ReplaceFile(const ReplaceFile&) = delete;
    ReplaceFile& operator=(const ReplaceFile&) = delete;
    ReplaceFile(ReplaceFile&&) = delete;
    ReplaceFile& operator=(ReplaceFile&&) = delete;

    std::string path(const std::string& name) const { return folder_ / name; }

    std::string text_of(const std::string& name) const {
        std::ifstream stream(path(name));
        return {std::istreambuf_iterator(stream), {}};
    }

    fs::perms mode_of(const std::string& name) const {
        return fs::status(path(name)).permissions();
    }

    std::vector<std::string> names() const {
        std::vector<std::string> found;
        for (const auto& entry : fs::directory_iterator(folder_)) {
            found.push_back(entry.path().filename());
        }
        return found;
    }

  private:
    fs::path folder_;
    mode_t old_umask_ = umask(077);
};

TEST_F(ReplaceFile, LeavesOneWholeFile) {
    EXPECT_TRUE(replace_file(path("results"), "a longer text", Readers::by_umask));
    EXPECT_TRUE(replace_file(path("results"), "new", Readers::by_umask));
    EXPECT_EQ(text_of("results"), "new");
    EXPECT_EQ(names(), std::vector<std::string>{"results"});
}

TEST_F(ReplaceFile, ReadersAreThoseOfTheUmaskOrEveryone) {
    EXPECT_TRUE(replace_file(path("own"), "", Readers::by_umask));
    EXPECT_EQ(mode_of("own"), fs::perms{0600});
    EXPECT_TRUE(replace_file(path("public"), "", Readers::everyone));
    EXPECT_EQ(mode_of("public"), fs::perms{0644});
    umask(002);
    EXPECT_TRUE(replace_file(path("own"), "", Readers::by_umask));
    EXPECT_EQ(mode_of("own"), fs::perms{0664});
    EXPECT_TRUE(replace_file(path("public"), "", Readers::everyone));
    EXPECT_EQ(mode_of("public"), fs::perms{0644});
}

// A process that was killed leaves one; it is not taken, nor followed to another file.
TEST_F(ReplaceFile, ADraftThatIsThereAlreadyStays) {
    std::ofstream(path("other")) << "other";
    fs::create_symlink(path("other"), path("results.new0"));
    EXPECT_TRUE(replace_file(path("results"), "new", Readers::by_umask));
    EXPECT_EQ(text_of("results"), "new");
    EXPECT_EQ(text_of("other"), "other");
}

TEST_F(ReplaceFile, SaysWhichFileAndWhyAndLeavesNoDraft) {
    const auto missing = replace_file(path("no/results"), "", Readers::by_umask);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error(), (Error{path("no/results"), "No such file or directory",
                                      "name a file in a writable folder"}));
    fs::create_directory(path("results"));
    const auto folder = replace_file(path("results"), "", Readers::by_umask);
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error().problem, "Is a directory");
    EXPECT_EQ(names(), std::vector<std::string>{"results"});
}

TEST_F(ReplaceFile, ADeviceIsNotReplaced) {
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    fs::create_symlink(path("pipe"), path("link"));
    for (const char* const name : {"pipe", "link"}) {
        const auto pipe = replace_file(path(name), "text", Readers::by_umask);
        ASSERT_FALSE(pipe) << name;
        EXPECT_EQ(pipe.error(),
                  (Error{path(name), "not a regular file", "name a file that may be replaced"}));
    }
    EXPECT_TRUE(fs::is_fifo(path("pipe")));
    EXPECT_EQ(names().size(), 2U);
}

// As on a full disk: no file may grow beyond 4 bytes.
TEST_F(ReplaceFile, WhatCannotBeWrittenReplacesNothing) {
    EXPECT_TRUE(replace_file(path("results"), "old", Readers::by_umask));
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const auto done = [this] {
        const ResourceLimit small(RLIMIT_FSIZE, 4);
        return replace_file(path("results"), "longer", Readers::by_umask);
    }();
    std::signal(SIGXFSZ, handler);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().problem, "File too large");
    EXPECT_EQ(text_of("results"), "old");
    EXPECT_EQ(names(), std::vector<std::string>{"results"});
}

}  // namespace
}  // namespace distgpu
