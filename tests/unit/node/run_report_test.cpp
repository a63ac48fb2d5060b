#include "node/run_report.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

TEST(RunReport, IsReadAsItWasWritten) {
    const RunReport report{"rank 3 on n2 failed first: \"x\"", "n[2,4]", true};
    const auto read = read_run_report(to_line(report));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->text, report.text);
    EXPECT_EQ(read->nodes, report.nodes);
    EXPECT_TRUE(read->is_unfit);
    EXPECT_FALSE(read_run_report("rank 3"));
    EXPECT_FALSE(read_run_report(""));
}

TEST(RunReport, IsALineThatFitsIntoAMessage) {
    constexpr std::size_t max_line = 4096;
    const std::string line =
        to_line({std::string(5000, '"') + "\n", std::string(5000, 'n'), false});
    EXPECT_LT(line.size(), max_line);
    EXPECT_EQ(line.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace distgpu
