#include "report/progress_line.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <pty.h>
#include <string>
#include <unistd.h>

namespace distgpu::scaling {
namespace {

// A terminal of so many columns, and what was written on it.
class Terminal {
  public:
    explicit Terminal(unsigned short columns) {
        winsize size{};
        size.ws_col = columns;
        int slave = -1;
        EXPECT_EQ(openpty(&master_, &slave, nullptr, nullptr, &size), 0);
        stream = fdopen(slave, "w");
    }
    ~Terminal() { close(master_); }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    // All that was written; no more can be. Once the stream is closed, read fails at the end.
    std::string text() const {
        std::fclose(stream);
        std::string text;
        std::array<char, 4096> buffer{};
        for (ssize_t count = 0; (count = read(master_, buffer.data(), buffer.size())) > 0;) {
            text.append(buffer.data(), static_cast<std::size_t>(count));
        }
        return text;
    }

    std::FILE* stream = nullptr;

  private:
    int master_ = -1;
};

TEST(ProgressLine, EachLineTakesTheLastOnesPlaceAndTheEndClearsIt) {
    const Terminal terminal(80);
    {
        ProgressLine progress(terminal.stream);
        progress.show("one");
        progress.show("two");
    }
    EXPECT_EQ(terminal.text(), "\r\x1b[Kone\r\x1b[Ktwo\r\x1b[K");
}

TEST(ProgressLine, ClearsOnlyWhatIsShown) {
    const Terminal terminal(80);
    {
        ProgressLine progress(terminal.stream);
        progress.clear();
        progress.show("one");
        progress.clear();
        progress.clear();
    }
    EXPECT_EQ(terminal.text(), "\r\x1b[Kone\r\x1b[K");
}

// A line of 10 characters in 10 columns may move the cursor to the next line.
TEST(ProgressLine, IsCutBelowTheTerminalsWidth) {
    const Terminal terminal(10);
    {
        ProgressLine progress(terminal.stream);
        progress.show("1234567890");
    }
    EXPECT_EQ(terminal.text(), "\r\x1b[K123456789\r\x1b[K");
}

TEST(ProgressLine, IsNeverInAFile) {
    std::FILE* const file = std::tmpfile();
    {
        ProgressLine progress(file);
        progress.show("one");
        progress.clear();
    }
    EXPECT_EQ(std::ftell(file), 0);
    std::fclose(file);
}

}  // namespace
}  // namespace distgpu::scaling
