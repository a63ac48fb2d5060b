#include "run/options.h"

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

namespace distgpu::scaling {
namespace {

// `line`: the command line after the program's name.
Result<CommandLine> parse(const std::string& line) {
    std::istringstream stream("nccl-scaling " + line);
    const std::vector<std::string> arguments(std::istream_iterator<std::string>(stream), {});
    std::vector<const char*> argv;
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    return parse_options(static_cast<int>(argv.size()), argv.data());
}

Options options(const std::string& line) {
    return std::get<Options>(*parse(line));
}

std::string refusal(const std::string& line) {
    const auto command_line = parse(line);
    return command_line ? "" : command_line.error().message();
}

// Sizes as in nccl-tests, and all collectives that the libraries have had for a long time.
TEST(Options, Defaults) {
    const Options plain = options("");
    EXPECT_EQ(plain.selection.collectives.size(), 6U);
    EXPECT_EQ(plain.selection.collectives.back(), Collective::send_recv);
    EXPECT_EQ(plain.selection.types, std::vector{DataType::f32});
    EXPECT_EQ(plain.selection.sizes.front(), 8U);
    EXPECT_EQ(plain.selection.sizes.back(), 64U << 20U);
    EXPECT_EQ(plain.selection.sizes.size(), 24U);  // 2^3 to 2^26
    EXPECT_EQ(plain.iterations, 20U);
    EXPECT_EQ(plain.warmup, 5U);
    EXPECT_FALSE(plain.selection.quick);
    EXPECT_EQ(plain.backend, "nccl");
    EXPECT_TRUE(plain.files.json.empty());
    EXPECT_TRUE(plain.baseline_file.empty());
    EXPECT_TRUE(plain.checks_data);
    EXPECT_FALSE(plain.probes_size);
}

TEST(Options, AreParsed) {
    const Options given = options(
        "-b 1K -e 4K -i 1K --collective send-recv,all-reduce --type bfloat16,half --iterations 7 "
        "--warmup 2 --timeout 1.5 --backend mpi --json a --html c");
    EXPECT_EQ(given.selection.sizes, (std::vector<std::uint64_t>{1024, 2048, 3072, 4096}));
    EXPECT_EQ(given.selection.collectives,
              (std::vector{Collective::all_reduce, Collective::send_recv}));
    EXPECT_EQ(given.selection.types, (std::vector{DataType::f16, DataType::bf16}));
    EXPECT_EQ(given.iterations, 7U);
    EXPECT_EQ(given.warmup, 2U);
    EXPECT_EQ(given.timeout, std::chrono::milliseconds(1500));
    EXPECT_EQ(given.backend, "mpi");
    EXPECT_EQ(given.files.json + given.files.html, "ac");
    EXPECT_FALSE(options("--check 0").checks_data);
    EXPECT_TRUE(options("--check 1").checks_data);
}

// Each with its replacement.
TEST(Options, RemovedOptionsAreRefused) {
    EXPECT_EQ(refusal("--op max"),
              "distgpu: --op: was removed; only sums are measured; run all_reduce_perf -o max of "
              "nccl-tests");
    EXPECT_EQ(refusal("--collective all-reduce,gather"),
              "distgpu: --collective gather: was removed; run gather_perf of nccl-tests");
    EXPECT_EQ(refusal("--type=f8e4m3"),
              "distgpu: --type f8e4m3: was removed; run all_reduce_perf -d f8e4m3 of nccl-tests");
    EXPECT_EQ(refusal("--step compute=1s,allreduce=1M"),
              "distgpu: --step: was removed; time your own steps: nccl-scaling times 1=100 2=50 "
              "4=25");
    for (const char* const option : {"--order x", "--threshold x", "--csv x", "--prometheus x",
                                     "--drain-reason x", "--graph x", "--registered x",
                                     "--minutes 5", "page run.json", "times 1=2 2=1 --html x"}) {
        EXPECT_NE(refusal(option).find(": was removed; "), std::string::npos) << option;
    }
}

// At 1 GB/s, 4 GiB take 4.3 s without progress.
TEST(Options, LargeSizesHaveMoreTime) {
    EXPECT_EQ(options("--timeout 4 -e 1G").timeout, std::chrono::seconds(4 + 1));
    EXPECT_EQ(options("--timeout 4 -e 512M").timeout, std::chrono::seconds(4));
    EXPECT_EQ(options("--timeout 4 -e 4G").timeout, std::chrono::seconds(4 + 4));
}

TEST(Options, AQuickRunHasOneCollectiveAndOneSize) {
    const Options quick = options("--quick");
    EXPECT_TRUE(quick.selection.quick);
    EXPECT_EQ(quick.selection.collectives, std::vector{Collective::all_reduce});
    EXPECT_EQ(quick.selection.sizes, std::vector<std::uint64_t>{512U << 20U});
    EXPECT_EQ(quick.iterations, 10U);
    EXPECT_EQ(quick.warmup, 2U);
    EXPECT_TRUE(quick.probes_size);
    EXPECT_EQ(options("--quick -e 1M").selection.sizes, std::vector<std::uint64_t>{1U << 20U});
    const Options given =
        options("--quick -b 1K -e 2K --collective all-gather --iterations 7 --warmup 3");
    EXPECT_EQ(given.selection.sizes, (std::vector<std::uint64_t>{1024, 2048}));
    EXPECT_FALSE(given.probes_size);
    EXPECT_EQ(given.selection.collectives, std::vector{Collective::all_gather});
    EXPECT_EQ(given.iterations, 7U);
    EXPECT_EQ(given.warmup, 3U);
}

TEST(Options, InvalidOnesAreRefused) {
    for (const char* const line :
         {"--collective all-redcue", "--type triple", "--iterations 0", "--backend gloo",
          "--timeout 0", "surplus", "-f 2 -i 8", "-b 8T", "--tolerance 5", "--check 2",
          "--expect 0", "--baseline old.json --tolerance 101", "diff a.json",
          "-b 8 diff a.json b.json", "--tolerance 3 diff a.json b.json", "times",
          "times 1=2 -b 8"}) {
        EXPECT_FALSE(parse(line)) << line;
    }
}

TEST(Options, ForComparisons) {
    const Options given = options("--baseline old.json --tolerance 7.5");
    EXPECT_EQ(given.baseline_file, "old.json");
    EXPECT_DOUBLE_EQ(given.tolerance, 0.075);
    EXPECT_DOUBLE_EQ(options("--baseline old.json").tolerance, 0.05);
    const Options others = options("--expect 375.5 --fail-on-limiter");
    EXPECT_DOUBLE_EQ(*others.expected_busbw, 375.5e9);
    EXPECT_TRUE(others.fail_on_limiter);
    EXPECT_FALSE(options("").expected_busbw);
    EXPECT_FALSE(options("").fail_on_limiter);
    const Diff diff = std::get<Diff>(*parse("diff a.json b.json --tolerance 3"));
    EXPECT_EQ(diff.before + diff.after, "a.jsonb.json");
    EXPECT_DOUBLE_EQ(diff.tolerance, 0.03);
}

TEST(Options, ThatWouldOverwriteOrLoseAFileAreRefused) {
    EXPECT_EQ(refusal("--baseline run.json --json run.json"),
              "distgpu: --json run.json: is also the baseline; write to another file");
    EXPECT_EQ(refusal("--html page times 1=100 2=50"),
              "distgpu: --html: given before times; give the options of times after it");
}

TEST(Options, HelpIsAText) {
    EXPECT_NE(std::get<Help>(*parse("--help")).find("--backend"), std::string::npos);
    EXPECT_NE(std::get<Help>(*parse("times --help")).find("NODES=SECONDS"), std::string::npos);
}

using Sizes = std::vector<std::uint64_t>;

// Strong scaling is linear with half the time on twice the nodes. As weak scaling, the same times
// would be four times better than linear: E_w = 100 / 25.
TEST(Times, AHundredFiftyTwentyFiveIsLinear) {
    const auto points = std::get<Times>(*parse("times 4=25 1=1e2 2=50"));
    EXPECT_EQ(points.back().nodes, 4U);
    EXPECT_EQ(points.back().weak, 4);
    EXPECT_EQ(points.back().strong, 1);
}

TEST(Times, Refusals) {
    const std::string form = ": not NODES=SECONDS; write 4=25 for 25 s on 4 nodes";
    for (const auto& [times, message] : std::vector<std::pair<std::string, std::string>>{
             {"1=abc 2=50", "1=abc" + form},
             {"1=100 two=50", "two=50" + form},
             {"1=100 50", "50" + form},
             {"1=100 2=50s", "2=50s" + form},
             {"1= 2=50", "1=" + form},
             {"1=inf 2=50", "1=inf" + form},
             {"1=100 2=-5", "times: -5 s for 2 nodes; give seconds above 0"}}) {
        EXPECT_EQ(refusal("times " + times), "distgpu: " + message);
    }
}

TEST(Options, SizesHaveSuffixesThatArePowersOf1024) {
    EXPECT_EQ(options("-b 8 -e 8").selection.sizes, Sizes{8});
    EXPECT_EQ(options("-b 1K -e 1K").selection.sizes, Sizes{1024});
    EXPECT_EQ(options("-b 64m -e 64M").selection.sizes, Sizes{64U << 20U});
    EXPECT_EQ(options("-b 1024G -e 1024G").selection.sizes, Sizes{largest_size});
    for (const char* const text : {"0", "-1", "2T", "1025G", "1e6", "99999999999999999999"}) {
        EXPECT_NE(refusal(std::string("-b ") + text), "") << text;
    }
}

TEST(Sizes, AreMultipliedOrAddedWithoutAnOverflow) {
    EXPECT_EQ(*sizes_of({8, 100, 3, std::nullopt}), (Sizes{8, 24, 72}));
    EXPECT_EQ(*sizes_of({8, 16, 2, std::nullopt}), (Sizes{8, 16}));
    EXPECT_EQ(*sizes_of({8, 20, 2, 4}), (Sizes{8, 12, 16, 20}));
    // The next size would be 2^64.
    constexpr std::uint32_t factor = 1U << 24U;
    EXPECT_EQ(*sizes_of({1, largest_size, factor, std::nullopt}), (Sizes{1, factor}));
    EXPECT_EQ(*sizes_of({largest_size, largest_size, factor, std::nullopt}), Sizes{largest_size});
}

TEST(Sizes, InvalidRangesAreRefused) {
    EXPECT_EQ(sizes_of({8, 4, 2, std::nullopt}).error().object, "-b, -e");
    EXPECT_EQ(sizes_of({8, 16, 1, std::nullopt}).error().object, "-f");
    EXPECT_EQ(sizes_of({1, 10001, 2, 1}).error().object, "-b, -e, -i");
    EXPECT_EQ(sizes_of({1, 10000, 2, 1})->size(), 10000U);
}

}  // namespace
}  // namespace distgpu::scaling
