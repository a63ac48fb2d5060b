#include "run/saved_runs.h"

#include "made_up_results.h"
#include "report/report_json.h"
#include "scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace distgpu::scaling {
namespace {

using testing::HasSubstr;

// One node of two ranks, for which the factor of all-reduce is 1: `gbps` for 1 MB.
Results run_at(double gbps, const std::string& library) {
    auto results = made_up_results(1, 2);
    results.backend = "nccl";
    results.started = "2026-11-21T12:00:00Z";
    results.fingerprint = {{"library", library}};
    const auto group = add_nodes(results, 1);
    add_measurement(results, group, {.bytes = 1000000, .seconds = 1e6 / (gbps * 1e9)});
    return results;
}

class SavedRuns : public testing::Test {
  protected:
    std::string saved(const char* name, const Results& results) const {
        return folder_.write(name, to_json(derive(results)));
    }

    // The subcommand's, whose output is then in `out`.
    template <class Wish>
    Result<ExitCode> done(Result<ExitCode> (*subcommand)(const Wish&, std::FILE*),
                          const Wish& wish) const {
        std::FILE* const out = std::fopen(folder_.path("out").c_str(), "w");
        auto code = subcommand(wish, out);
        static_cast<void>(std::fclose(out));
        return code;
    }

    const ScratchFolder folder_;
};

// 8 is 20 % below 10.
TEST_F(SavedRuns, ADifferentLibraryIsToldAndWhatIsSlowerFails) {
    const Diff diff{saved("a", run_at(10, "NCCL 2.28")), saved("b", run_at(8, "NCCL 2.29")), 0.05};
    const auto code = done(diff_runs, diff);
    ASSERT_TRUE(code);
    EXPECT_EQ(*code, ExitCode::check_failed);
    EXPECT_THAT(folder_.read("out"), HasSubstr("library is 'NCCL 2.28' there, 'NCCL 2.29' here\n"));
    EXPECT_THAT(folder_.read("out"),
                HasSubstr("10.00          8.00   -20.0 %  all-reduce float, 976.56 KiB, 1 node\n"));
}

TEST_F(SavedRuns, WithinTheToleranceAndFasterIsDone) {
    const std::string before = saved("a", run_at(10, "NCCL"));
    for (const double gbps : {9.6, 12.0}) {
        const auto code = done(diff_runs, {before, saved("b", run_at(gbps, "NCCL")), 0.05});
        ASSERT_TRUE(code);
        EXPECT_EQ(*code, ExitCode::done);
    }
}

TEST_F(SavedRuns, NoMeasurementInCommonIsAnError) {
    auto other = run_at(10, "NCCL");
    other.measurements[0].bytes = 8;
    const std::string before = saved("a", run_at(10, "NCCL"));
    const std::string after = saved("b", other);
    const auto code = done(diff_runs, {before, after, 0.05});
    ASSERT_FALSE(code);
    EXPECT_EQ(code.error().message(),
              "distgpu: " + before + " and " + after +
                  ": no measurement in common; compare runs with the same collectives, types, "
                  "sizes and numbers of ranks");
}

TEST_F(SavedRuns, AFileThatIsNoRunIsNamed) {
    const std::string run = saved("a", run_at(10, "NCCL"));
    const std::string other = folder_.write("b", "{}");
    EXPECT_EQ(done(diff_runs, {run, other, 0.05}).error().object, other);
    EXPECT_EQ(done(diff_runs, {other, run, 0.05}).error().object, other);
    EXPECT_EQ(done(redraw_page, {other, ""}).error().object, other);
}

TEST_F(SavedRuns, APageGoesToStandardOutputOrToAFile) {
    const std::string run = saved("a", run_at(10, "NCCL 2.28"));
    ASSERT_TRUE(done(redraw_page, {run, ""}));
    const std::string page = folder_.read("out");
    EXPECT_THAT(page, HasSubstr("NCCL 2.28"));
    EXPECT_THAT(page, HasSubstr("</html>"));
    ASSERT_TRUE(done(redraw_page, {run, folder_.path("page")}));
    EXPECT_EQ(folder_.read("page"), page);
    EXPECT_EQ(folder_.read("out"), "");
    EXPECT_EQ(done(redraw_page, {run, "/nowhere/page"}).error().object, "/nowhere/page");
}

}  // namespace
}  // namespace distgpu::scaling
