#include "run/options.h"

#include "analysis/bus_bandwidth.h"
#include "base/format.h"
#include "run/choices.h"
#include "run/sizes.h"
#include "run/step_option.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu::scaling {
namespace {

constexpr const char* see_help = "see nccl-scaling --help";

// As written.
struct Words {
    std::optional<std::string> begin;
    std::optional<std::string> end;
    std::string step;
    std::uint32_t factor = 2;
    std::optional<std::uint32_t> iterations;
    std::optional<std::uint32_t> warmup;
    std::vector<std::string> collectives;
    std::vector<std::string> types{"float"};
    std::vector<std::string> ops{"sum"};
    double timeout = 120;
    double tolerance = 5;
    double expect = 0;  // GB/s
    std::string training_step;
    std::string order;
    std::vector<std::string> times;
    Redraw redraw;
    Diff diff;
};

void declare_sizes(CLI::App& app, Words& words) {
    app.add_option("-b", words.begin,
                   "Smallest size, in bytes or such as 64K, 16M, 1G; default: 8, or the largest "
                   "with --quick")
        ->type_name("SIZE");
    app.add_option("-e", words.end, "Largest size; default: 64M, or 512M with --quick")
        ->type_name("SIZE");
    app.add_option("-f", words.factor, "Factor from one size to the next")
        ->type_name("FACTOR")
        ->capture_default_str();
    app.add_option("-i", words.step, "Step from one size to the next, instead of a factor")
        ->type_name("SIZE")
        ->excludes("-f");
}

void declare_length(CLI::App& app, Options& options) {
    app.add_flag("--quick", options.wishes.quick,
                 "Look for what is slow, in three minutes at most: all-reduce of one size on every "
                 "node alone, on all nodes and on pairs");
    app.add_option("--minutes", options.minutes,
                   "Go on with pairs of nodes until so many minutes have passed")
        ->type_name("M")
        ->check(CLI::Range(0.1, 10000.0));
}

void declare_measurements(CLI::App& app, Words& words, Options& options) {
    const auto collective_names = names_of(collectives);
    app.add_option("--collective", words.collectives,
                   formatted("{}; default: those up to send-recv, with --quick the first",
                             join(collective_names, ", ")))
        ->type_name("NAME")
        ->delimiter(',')
        ->check(CLI::IsMember(collective_names));
    const auto type_names = names_of(data_types);
    app.add_option("--type", words.types, join(type_names, ", "))
        ->type_name("NAME")
        ->delimiter(',')
        ->check(CLI::IsMember(type_names))
        ->capture_default_str();
    const auto op_names = names_of(ops);
    app.add_option("--op", words.ops,
                   formatted("{}: what the collectives that reduce compute", join(op_names, ", ")))
        ->type_name("NAME")
        ->delimiter(',')
        ->check(CLI::IsMember(op_names))
        ->capture_default_str();
    app.add_option("--iterations", words.iterations,
                   "Timed runs of each measurement; default: 20, or 10 with --quick")
        ->type_name("N")
        ->check(CLI::Range(1, 1000000));
    app.add_option("--warmup", words.warmup,
                   "Untimed runs before those; default: 5, or 2 with --quick")
        ->type_name("N")
        ->check(CLI::Range(1, 1000000));
    app.add_option("--check", options.check,
                   "1: hold each collective's result against known data; 0: do not")
        ->type_name("0|1")
        ->check(CLI::IsMember({"0", "1"}))
        ->default_str("1");
    app.add_option("--timeout", words.timeout,
                   "End the run after this many seconds without progress, and one for each GB of "
                   "the largest size")
        ->type_name("SECONDS")
        ->check(CLI::Range(1.0, 86400.0))
        ->capture_default_str();
    options.backend = "nccl";
    app.add_option("--backend", options.backend, "nccl, or mpi: host memory, not a GPU measurement")
        ->type_name("NAME")
        ->check(CLI::IsMember({"nccl", "mpi"}))
        ->capture_default_str();
    app.add_flag("--graph", options.modes.graph, "Time each loop as one CUDA graph");
    app.add_flag("--registered", options.modes.registered,
                 "Register the buffers with NCCL, which allocates them");
}

// One value: there are no other orders to compare.
void declare_order(CLI::App& app, Words& words) {
    app.add_option("--order", words.order,
                   "Measure all nodes with ranks by name and by switch in turns, and say the gain")
        ->type_name("name,switch")
        ->check(CLI::IsMember({"name,switch"}));
}

void declare_files(CLI::App& app, OutputFiles& files) {
    app.add_option("--json", files.json, "Write the results to this file")->type_name("FILE");
    app.add_option("--csv", files.csv, "Write a table to this file")->type_name("FILE");
    app.add_option("--html", files.html, "Write a page with plots to this file")->type_name("FILE");
}

// Those of a run, which `times` has not.
void declare_reports(CLI::App& app, OutputFiles& files) {
    app.add_option("--prometheus", files.prometheus,
                   "Write metrics to this file, for node_exporter's textfile collector")
        ->type_name("FILE");
    app.add_option("--drain-reason", files.drain_reason,
                   "Write why slow nodes should be drained to this file, empty if none is slow")
        ->type_name("FILE");
}

CLI::Option* declare_tolerance(CLI::App& app, Words& words) {
    return app
        .add_option("--tolerance", words.tolerance, "Percent by which a result may be slower")
        ->type_name("PERCENT")
        ->check(CLI::Range(0.0, 100.0))
        ->capture_default_str();
}

void declare_demands(CLI::App& app, Words& words, Demands& demands) {
    app.add_option("--baseline", demands.baseline,
                   "Compare with an earlier run's --json file; exit status 1 if anything is slower")
        ->type_name("FILE");
    declare_tolerance(app, words)->needs("--baseline");
    app.add_option("--threshold", demands.thresholds,
                   "File of bus bandwidths to reach, one per line: collective, size, ranks, GB/s; "
                   "exit status 1 if one is not reached")
        ->type_name("FILE");
}

void declare_judgement(CLI::App& app, Words& words, Options& options) {
    app.add_option(
           "--expect", words.expect,
           "Bus bandwidth that all nodes should reach at the largest size; the verdict says "
           "the percentage")
        ->type_name("GB/s")
        ->check(CLI::PositiveNumber);
    app.add_option("--step", words.training_step,
                   "Model of a training step from the measured times: "
                   "compute=120ms,allreduce=25M*40")
        ->type_name("STEP");
    app.add_flag("--fail-on-limiter", options.fail_on_limiter,
                 "Exit status 1 if the verdict names a limiter");
}

CLI::App* declare_times(CLI::App& app, Words& words, OutputFiles& files) {
    CLI::App* const times = app.add_subcommand(
        "times", "Show how far from linear your own training times are, without measuring");
    times->add_option("times", words.times, "Times such as 1=100 2=50 4=25")
        ->option_text("NODES=SECONDS ...")
        ->required();
    declare_files(*times, files);
    return times;
}

CLI::App* declare_page(CLI::App& app, Redraw& redraw) {
    CLI::App* const page = app.add_subcommand("page", "Draw the page of an earlier run again");
    page->add_option("run", redraw.run, "A file that --json wrote")
        ->option_text("RUN.json")
        ->required();
    page->add_option("--html", redraw.html, "Write the page to this file, not to standard output")
        ->type_name("FILE");
    return page;
}

CLI::App* declare_diff(CLI::App& app, Words& words) {
    CLI::App* const diff = app.add_subcommand(
        "diff", "Compare two earlier runs; exit status 1 if anything is slower in the second");
    diff->add_option("before", words.diff.before, "A file that --json wrote")
        ->option_text("A.json")
        ->required();
    diff->add_option("after", words.diff.after, "Another one")->option_text("B.json")->required();
    declare_tolerance(*diff, words);
    return diff;
}

Result<std::vector<std::uint64_t>> read_sizes(const Words& words, bool quick) {
    const auto end = parse_size(words.end.value_or(quick ? "512M" : "64M"));
    if (!end) return end.error();
    const auto begin =
        words.begin || !quick ? parse_size(words.begin.value_or("8")) : Result<std::uint64_t>(*end);
    if (!begin) return begin.error();
    SizeRange range{*begin, *end, words.factor, std::nullopt};
    if (!words.step.empty()) {
        const auto step = parse_size(words.step);
        if (!step) return step.error();
        range.step = *step;
    }
    return sizes_of(range);
}

// A single collective shows no progress until it is done: a second more for each GB of the largest.
std::chrono::milliseconds timeout_of(double seconds, std::uint64_t largest) {
    constexpr std::uint64_t gb = 1'000'000'000;
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)) +
           std::chrono::seconds(largest / gb);
}

// The words were checked.
Result<Options> understand(const Words& words, Options options) {
    const std::string& baseline = options.demands.baseline;
    if (!baseline.empty() && baseline == options.files.json) {
        return Error{"--json " + baseline, "is the baseline", "write to another file"};
    }
    if (options.backend == "mpi" && (options.modes.graph || options.modes.registered)) {
        return Error{options.modes.graph ? "--graph" : "--registered",
                     "the back end mpi has no GPU", "leave it out"};
    }
    const bool quick = options.wishes.quick;
    options.orders = !words.order.empty();
    options.iterations = words.iterations.value_or(quick ? 10 : 20);
    options.warmup = words.warmup.value_or(quick ? 2 : 5);
    auto sizes = read_sizes(words, quick);
    if (!sizes) return sizes.error();
    options.wishes.sizes = *std::move(sizes);
    const auto& named = words.collectives;
    const auto usual =
        quick ? std::vector<std::string>{"all-reduce"} : default_names_of(collectives);
    options.wishes.collectives =
        chosen(collectives, &CollectiveRow::collective, named.empty() ? usual : named);
    options.wishes.types = chosen(data_types, &DataTypeRow::type, words.types);
    options.wishes.ops = chosen(ops, &OpRow::op, words.ops);
    options.timeout = timeout_of(words.timeout, options.wishes.sizes.back());
    options.demands.tolerance = words.tolerance / 100;
    constexpr double gb = 1e9;
    if (words.expect > 0) options.expect = words.expect * gb;
    if (words.training_step.empty()) return options;
    return parse_step(words.training_step, options.wishes).transform([&](TrainingStep step) {
        options.step = std::move(step);
        return std::move(options);
    });
}

// Options of a run say nothing to a subcommand, and would be lost.
std::optional<Error> refuse_before(const CLI::App& subcommand) {
    const std::string& name = subcommand.get_name();
    for (const CLI::Option* const option : subcommand.get_parent()->get_options()) {
        if (option->count() == 0) continue;
        return Error{option->get_name(), formatted("given before {}", name),
                     formatted("give the options of {} after it", name)};
    }
    return std::nullopt;
}

Result<Times> understand_times(const Words& words, OutputFiles files) {
    return parse_times(words.times).transform([&](TimesReport report) {
        return Times{std::move(report), std::move(files)};
    });
}

}  // namespace

Result<Asked> parse_options(int argc, const char* const* argv) {
    CLI::App app(
        "Measure how far collectives are from linear scaling over nodes, and which node is slow.\n"
        "Start it with srun --distgpu=pytorch, one task per GPU.",
        "nccl-scaling");
    Words words;
    Options options;
    OutputFiles times_files;
    declare_sizes(app, words);
    declare_length(app, options);
    declare_measurements(app, words, options);
    declare_order(app, words);
    declare_files(app, options.files);
    declare_reports(app, options.files);
    declare_demands(app, words, options.demands);
    declare_judgement(app, words, options);
    const CLI::App* const times = declare_times(app, words, times_files);
    const CLI::App* const page = declare_page(app, words.redraw);
    declare_diff(app, words);
    app.require_subcommand(0, 1);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success&) {
        return Asked(app.help());
    } catch (const CLI::ParseError& refused) {
        return Error{"command line", refused.what(), see_help};
    }
    const auto asked = [](auto understood) { return Asked(std::move(understood)); };
    if (app.get_subcommands().empty()) {
        return understand(words, std::move(options)).transform(asked);
    }
    if (const auto error = refuse_before(*app.get_subcommands().front())) return *error;
    if (times->parsed()) return understand_times(words, times_files).transform(asked);
    if (page->parsed()) return Asked(words.redraw);
    words.diff.tolerance = words.tolerance / 100;
    return Asked(words.diff);
}

}  // namespace distgpu::scaling
