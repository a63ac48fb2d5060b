#include "base/io/files.h"

#include "made_up_folder.h"
#include "resource_limit.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>

namespace distgpu {
namespace {

TEST(ReadRegularFile, ReadsAllOfIt) {
    const MadeUpFolder folder;
    const std::string text = std::string(100000, 'x') + '\0' + "\nend\n";
    folder.write("file", text);
    const auto read = read_regular_file(folder.path("file"));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, text);
    // Linux says of its length 0.
    EXPECT_EQ(read_regular_file("/proc/self/status")->substr(0, 5), "Name:");
}

void expect_refused(const std::string& path, const std::string& why) {
    const auto read = read_regular_file(path);
    ASSERT_FALSE(read) << path;
    EXPECT_EQ(read.error().message(), "distgpu: " + path + ": " + why);
}

TEST(ReadRegularFile, RefusesWhatIsNone) {
    const MadeUpFolder folder;
    ASSERT_EQ(mkfifo(folder.path("fifo").c_str(), 0600), 0);
    for (const std::string& path : {folder.path("fifo"), folder.path(), std::string("/dev/zero")}) {
        expect_refused(path, "not a regular file; name a regular file");
    }
    expect_refused(folder.path("gone"),
                   "No such file or directory; name a file that this user can read");
    // A regular file whose first bytes are memory that no process has.
    expect_refused("/proc/self/mem", "Input/output error; name a file that this user can read");
}

TEST(ReadRegularFile, RefusesWhatIsTooLarge) {
    const MadeUpFolder folder;
    folder.write("large", "");
    std::filesystem::resize_file(folder.path("large"), (std::uintmax_t{4} << 20U) + 1);
    expect_refused(folder.path("large"), "larger than 4 MiB; name a smaller file");
    std::filesystem::resize_file(folder.path("large"), std::uintmax_t{4} << 20U);
    EXPECT_TRUE(read_regular_file(folder.path("large")));
}

TEST(ReadFile, ReadsAllOfItAndOfAPipe) {
    const MadeUpFolder folder;
    for (const std::size_t size : {0U, 1U, 65536U, 65537U}) {
        folder.write("file", std::string(size, 'a'));
        EXPECT_EQ(*read_file(folder.path("file"), ""), std::string(size, 'a'));
    }
    ASSERT_EQ(mkfifo(folder.path("fifo").c_str(), 0600), 0);
    std::thread writer([&] { folder.write("fifo", "from a pipe"); });
    EXPECT_EQ(*read_file(folder.path("fifo"), ""), "from a pipe");
    writer.join();
}

TEST(ReadFile, SaysWhyNot) {
    EXPECT_EQ(read_file("/nowhere/file", "give another").error().message(),
              "distgpu: /nowhere/file: No such file or directory; give another");
    EXPECT_EQ(read_file("/", "give a file").error().message(),
              "distgpu: /: Is a directory; give a file");
}

TEST(ReadTrimmed, DropsWhiteSpaceAtTheEnd) {
    const MadeUpFolder folder;
    folder.write("file", " 4: ACTIVE \n\n");
    EXPECT_EQ(read_trimmed(folder.path("file")), " 4: ACTIVE");
    EXPECT_EQ(read_trimmed(folder.path("gone")), std::nullopt);
}

TEST(ValueAfter, IsTheRestOfTheFirstLineThatBeginsWithTheKey) {
    const std::string text =
        "Submodel: A\nOther Model: A\nModel: \t\t Tesla V100 \r\nModel: B\nEmpty:\n";
    EXPECT_EQ(value_after(text, "Model:"), "Tesla V100");
    EXPECT_EQ(value_after(text, "Empty:"), "");
    EXPECT_EQ(value_after(text, "Missing:"), "");
    EXPECT_EQ(value_after("last 7", "last "), "7");
}

namespace fs = std::filesystem;

// With a folder of its own, and the umask of a user who lets nobody read.
class ReplaceFile : public testing::Test {
  protected:
    ~ReplaceFile() override { umask(old_umask_); }

    std::string path(const std::string& name) const { return folder_.path(name); }

    std::string text_of(const std::string& name) const { return *read_file(path(name), ""); }

    fs::perms mode_of(const std::string& name) const {
        return fs::status(path(name)).permissions();
    }

    std::vector<std::string> names() const {
        std::vector<std::string> found;
        for (const auto& entry : fs::directory_iterator(folder_.path())) {
            found.push_back(entry.path().filename());
        }
        return found;
    }

  private:
    MadeUpFolder folder_;
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
    EXPECT_EQ(replace_file(path("results"), "", Readers::by_umask).error().problem,
              "Is a directory");
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
