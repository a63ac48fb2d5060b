#include "run/options.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

Result<Asked> parse(std::vector<const char*> words) {
    words.insert(words.begin(), "nccl-scaling");
    return parse_options(static_cast<int>(words.size()), words.data());
}

Options options(const std::vector<const char*>& words) {
    return std::get<Options>(*parse(words));
}

// nccl-tests' range of sizes, and every collective that the libraries have had for long.
TEST(Options, Defaults) {
    const Options plain = options({});
    EXPECT_EQ(plain.wishes.collectives.size(), 7U);
    EXPECT_EQ(plain.wishes.collectives.back(), Collective::send_recv);
    EXPECT_EQ(plain.wishes.types, std::vector{DataType::f32});
    EXPECT_EQ(plain.wishes.ops, std::vector{Op::sum});
    EXPECT_EQ(plain.wishes.sizes.front(), 8U);
    EXPECT_EQ(plain.wishes.sizes.back(), 64U << 20U);
    EXPECT_EQ(plain.wishes.sizes.size(), 24U);  // 2^3 to 2^26
    EXPECT_EQ(plain.iterations, 20U);
    EXPECT_EQ(plain.warmup, 5U);
    EXPECT_FALSE(plain.wishes.quick);
    EXPECT_EQ(plain.backend, "nccl");
    EXPECT_TRUE(plain.files.json.empty());
    EXPECT_TRUE(plain.demands.baseline.empty());
    EXPECT_TRUE(plain.check);
    EXPECT_FALSE(plain.orders);
}

TEST(Options, OrdersAreThoseTwo) {
    EXPECT_TRUE(options({"--order", "name,switch"}).orders);
    EXPECT_FALSE(parse({"--order", "switch"}));
}

TEST(Options, TheCheckCanBeSwitchedOff) {
    EXPECT_FALSE(options({"--check", "0"}).check);
    EXPECT_TRUE(options({"--check", "1"}).check);
    EXPECT_FALSE(parse({"--check", "2"}));
}

TEST(Options, AreTaken) {
    const Options given =
        options({"-b",        "1K",          "-e",           "4K",
                 "-i",        "1K",          "--collective", "bisection,all-reduce",
                 "--type",    "int8,double", "--iterations", "7",
                 "--warmup",  "2",           "--timeout",    "1.5",
                 "--backend", "mpi",         "--json",       "a",
                 "--csv",     "b",           "--html",       "c",
                 "--op",      "avg,max"});
    EXPECT_EQ(given.wishes.sizes, (std::vector<std::uint64_t>{1024, 2048, 3072, 4096}));
    EXPECT_EQ(given.wishes.collectives,
              (std::vector{Collective::all_reduce, Collective::bisection}));
    EXPECT_EQ(given.wishes.types, (std::vector{DataType::f64, DataType::i8}));
    EXPECT_EQ(given.wishes.ops, (std::vector{Op::max, Op::avg}));
    EXPECT_EQ(given.iterations, 7U);
    EXPECT_EQ(given.warmup, 2U);
    EXPECT_EQ(given.timeout, std::chrono::milliseconds(1500));
    EXPECT_EQ(given.backend, "mpi");
    EXPECT_EQ(given.files.json + given.files.csv + given.files.html, "abc");
}

// At a GB/s, 4 GiB take 4.3 s, and nothing is heard meanwhile.
TEST(Options, LargeSizesHaveMoreTime) {
    EXPECT_EQ(options({"--timeout", "4", "-e", "1G"}).timeout, std::chrono::seconds(4 + 1));
    EXPECT_EQ(options({"--timeout", "4", "-e", "512M"}).timeout, std::chrono::seconds(4));
    EXPECT_EQ(options({"--timeout", "4", "-e", "4G"}).timeout, std::chrono::seconds(4 + 4));
}

TEST(Options, AQuickRunHasOneCollectiveAndOneSize) {
    const Options quick = options({"--quick"});
    EXPECT_TRUE(quick.wishes.quick);
    EXPECT_EQ(quick.wishes.collectives, std::vector{Collective::all_reduce});
    EXPECT_EQ(quick.wishes.sizes, std::vector<std::uint64_t>{512U << 20U});
    EXPECT_EQ(quick.iterations, 10U);
    EXPECT_EQ(quick.warmup, 2U);
    EXPECT_EQ(options({"--quick", "-e", "1M"}).wishes.sizes, std::vector<std::uint64_t>{1U << 20U});
    const Options given = options({"--quick", "-b", "1K", "-e", "2K", "--collective", "all-gather",
                                   "--iterations", "7", "--warmup", "3"});
    EXPECT_EQ(given.wishes.sizes, (std::vector<std::uint64_t>{1024, 2048}));
    EXPECT_EQ(given.wishes.collectives, std::vector{Collective::all_gather});
    EXPECT_EQ(given.iterations, 7U);
    EXPECT_EQ(given.warmup, 3U);
}

TEST(Options, MinutesAreASoak) {
    EXPECT_EQ(options({}).minutes, 0);
    EXPECT_EQ(options({"--minutes", "1.5"}).minutes, 1.5);
    EXPECT_FALSE(parse({"--minutes", "0"}));
}

TEST(Options, WrongOnesAreRefused) {
    for (const auto& words : std::vector<std::vector<const char*>>{{"--collective", "all-redcue"},
                                                                   {"--type", "triple"},
                                                                   {"--op", "xor"},
                                                                   {"--iterations", "0"},
                                                                   {"--backend", "gloo"},
                                                                   {"--timeout", "0"},
                                                                   {"surplus"},
                                                                   {"-f", "2", "-i", "8"},
                                                                   {"-b", "8T"},
                                                                   {"--tolerance", "5"},
                                                                   {"times"},
                                                                   {"times", "1=2", "-b", "8"}}) {
        EXPECT_FALSE(parse(words)) << words.front();
    }
}

TEST(Options, OfTheBackEndNccl) {
    EXPECT_FALSE(options({}).modes.graph || options({}).modes.registered);
    EXPECT_TRUE(options({"--graph"}).modes.graph);
    EXPECT_TRUE(options({"--registered"}).modes.registered);
    for (const char* const option : {"--graph", "--registered"}) {
        const auto asked = parse({"--backend", "mpi", option});
        ASSERT_FALSE(asked);
        EXPECT_EQ(asked.error().message(), std::string("distgpu: ") + option +
                                               ": the back end mpi has no GPU; leave it out");
    }
}

TEST(Options, OfAComparison) {
    const Options given =
        options({"--baseline", "old.json", "--tolerance", "7.5", "--threshold", "limits"});
    EXPECT_EQ(given.demands.baseline, "old.json");
    EXPECT_DOUBLE_EQ(given.demands.tolerance, 0.075);
    EXPECT_EQ(given.demands.thresholds, "limits");
    EXPECT_DOUBLE_EQ(options({"--baseline", "old.json"}).demands.tolerance, 0.05);
    EXPECT_FALSE(parse({"--baseline", "old.json", "--tolerance", "101"}));
}

TEST(Options, TheBaselineIsNotOverwritten) {
    const auto asked = parse({"--baseline", "run.json", "--json", "run.json"});
    ASSERT_FALSE(asked);
    EXPECT_EQ(asked.error().message(),
              "distgpu: --json run.json: is the baseline; write to another file");
}

TEST(Options, TimesHasItsOwnFiles) {
    const auto asked = parse({"times", "1=100", "2=50", "--html", "page"});
    ASSERT_TRUE(asked);
    const Times& times = std::get<Times>(*asked);
    EXPECT_EQ(times.report.weak.size(), 2U);
    EXPECT_EQ(times.files.html, "page");
    EXPECT_TRUE(times.files.json.empty());
}

TEST(Options, OfARunAreNotLostBeforeTimes) {
    const auto asked = parse({"--html", "page", "times", "1=100", "2=50"});
    ASSERT_FALSE(asked);
    EXPECT_EQ(asked.error().message(),
              "distgpu: --html: given before times; give the options of times after it");
}

TEST(Options, OfSavedRuns) {
    const auto redraw = parse({"page", "run.json", "--html", "page"});
    ASSERT_TRUE(redraw);
    EXPECT_EQ(std::get<Redraw>(*redraw).run, "run.json");
    EXPECT_EQ(std::get<Redraw>(*redraw).html, "page");
    const auto diff = parse({"diff", "a.json", "b.json", "--tolerance", "3"});
    ASSERT_TRUE(diff);
    EXPECT_EQ(std::get<Diff>(*diff).before, "a.json");
    EXPECT_EQ(std::get<Diff>(*diff).after, "b.json");
    EXPECT_DOUBLE_EQ(std::get<Diff>(*diff).tolerance, 0.03);
    EXPECT_FALSE(parse({"diff", "a.json"}));
    EXPECT_FALSE(parse({"page"}));
    EXPECT_FALSE(parse({"-b", "8", "page", "run.json"}));
    EXPECT_FALSE(parse({"--tolerance", "3", "diff", "a.json", "b.json"}));
}

TEST(Options, OfReports) {
    const Options given = options({"--expect", "375.5", "--prometheus", "a.prom", "--drain-reason",
                                   "b", "--fail-on-limiter", "--step", "compute=1s,allreduce=1M"});
    EXPECT_DOUBLE_EQ(*given.expect, 375.5e9);
    EXPECT_EQ(given.files.prometheus + given.files.drain_reason, "a.promb");
    EXPECT_TRUE(given.fail_on_limiter);
    ASSERT_TRUE(given.step);
    EXPECT_DOUBLE_EQ(given.step->compute, 1);
    EXPECT_FALSE(options({}).expect);
    EXPECT_FALSE(options({}).step);
    EXPECT_FALSE(options({}).fail_on_limiter);
    EXPECT_FALSE(parse({"--expect", "0"}));
    // Beyond -e's default of 64 MiB.
    EXPECT_FALSE(parse({"--step", "compute=1s,allreduce=1G"}));
    EXPECT_TRUE(parse({"-e", "1G", "--step", "compute=1s,allreduce=1G"}));
}

TEST(Options, HelpOfTimes) {
    const auto help = parse({"times", "--help"});
    ASSERT_TRUE(help);
    EXPECT_NE(std::get<Help>(*help).find("NODES=SECONDS"), std::string::npos);
}

TEST(Options, HelpIsAText) {
    const auto help = parse({"--help"});
    ASSERT_TRUE(help);
    EXPECT_NE(std::get<Help>(*help).find("--backend"), std::string::npos);
}

}  // namespace
}  // namespace distgpu::scaling
