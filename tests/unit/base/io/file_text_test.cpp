#include "base/io/file_text.h"

#include "made_up_folder.h"

#include <gtest/gtest.h>

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
}

// Linux says of its length 0.
TEST(ReadRegularFile, ReadsAFileOfProc) {
    const auto read = read_regular_file("/proc/self/status");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->substr(0, 5), "Name:");
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
}

// A regular file whose first bytes are memory that no process has.
TEST(ReadRegularFile, SaysThatReadingFailed) {
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

}  // namespace
}  // namespace distgpu
