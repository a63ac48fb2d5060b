#include "report/report_files.h"

#include "made_up_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

namespace distgpu {
namespace {

using testing::ElementsAre;

std::string part(const std::string& node, std::uint32_t rank, bool is_complete = true,
                 const std::string& step = "5.0") {
    const NodeReport report{.node = node, .is_complete = is_complete, .ranks = {{.rank = rank}}};
    return report_json({.step = step, .nodes = 2, .tasks = 2, .reports = {report}}) + '\n';
}

std::vector<std::string> node_names(const StepReport& report) {
    std::vector<std::string> names;
    for (const NodeReport& node : report.reports) names.push_back(node.node);
    return names;
}

TEST(ReportFiles, OfOneNodeIsTheFileItself) {
    EXPECT_EQ(node_file("/a/x.json", "n1", 1), "/a/x.json");
    EXPECT_EQ(node_file("/a/x.json", "n1", 2), "/a/x.json.n1");
}

TEST(ReportFiles, OfNodesAreReadInTheOrderOfTheirRanks) {
    const MadeUpFolder folder;
    folder.write("x.json.a", part("a", 1, false));
    folder.write("x.json.b", part("b", 0));
    folder.write("x.json.c", "another user's");
    folder.write("x.json.d", part("d", 7, true, "6.0"));
    folder.write("x.json.a.new0", part("a", 1));
    const auto report = read_step_report(folder.path("x.json"));
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_THAT(node_names(*report), ElementsAre("b", "a"));
    EXPECT_FALSE(merge_parts(folder.path("x.json")));  // a's is not complete
}

TEST(ReportFiles, OfNodesBecomeOneThatIsTheUsersAlone) {
    const MadeUpFolder folder;
    folder.write("x.json.a", part("a", 1));
    folder.write("x.json.b", part("b", 0));
    folder.write("x.json.c", "another user's");
    EXPECT_TRUE(merge_parts(folder.path("x.json")));
    EXPECT_THAT(files_in(folder.path()), ElementsAre("x.json", "x.json.c"));
    EXPECT_THAT(node_names(*read_step_report(folder.path("x.json"))), ElementsAre("b", "a"));
    struct stat status {};
    ASSERT_EQ(stat(folder.path("x.json").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(ReportFiles, AreNeverWrittenOverAnotherFile) {
    const MadeUpFolder folder;
    folder.write("x.json", "mine");
    folder.write("x.json.a", part("a", 1));
    folder.write("x.json.b", part("b", 0));
    EXPECT_FALSE(merge_parts(folder.path("x.json")));
    EXPECT_EQ(folder.read("x.json"), "mine");
}

TEST(ReportFiles, WithoutAReportSayWhatToName) {
    const MadeUpFolder folder;
    folder.write("x.json", R"({"schema": "distgpu.report/2"})");
    EXPECT_EQ(read_step_report(folder.path("x.json")).error().problem,
              "not a report that this distgpu can read");
    EXPECT_EQ(read_step_report(folder.path("y.json")).error().problem,
              "no report there, nor one of a single node");
}

TEST(FindReport, TakesAFileAStepOrTheLastStepOfAJob) {
    const MadeUpFolder folder;
    for (const char* file : {"distgpu-5.0.json", "distgpu-5.2.json.n1", "distgpu-5.10.json.n1",
                             "distgpu-15.11.json", "distgpu-5.batch.json"}) {
        folder.write(file, "");
    }
    EXPECT_EQ(*find_report("a/b.json", folder.path()), "a/b.json");
    EXPECT_EQ(*find_report("5.2", folder.path()), folder.path("distgpu-5.2.json"));
    EXPECT_EQ(*find_report("5", folder.path()), folder.path("distgpu-5.10.json"));
    EXPECT_FALSE(find_report("5.1", folder.path()));
    EXPECT_FALSE(find_report("1", folder.path()));
}

}  // namespace
}  // namespace distgpu
