#include "run/options.h"

#include "analysis/collectives.h"
#include "base/format.h"
#include "base/values.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace distgpu::scaling {
namespace {

constexpr const char* help_remedy = "see nccl-scaling --help";

// Options as given, before defaults and conversions.
struct RawOptions {
    std::optional<std::uint64_t> begin;
    std::optional<std::uint64_t> end;
    std::optional<std::uint64_t> step;
    std::uint32_t factor = 2;
    std::optional<std::uint32_t> iterations;
    std::optional<std::uint32_t> warmup;
    std::vector<std::string> collectives;
    std::vector<std::string> types{"float"};
    double timeout = 120;
    double tolerance = 5;
    double expect = 0;  // GB/s
    std::vector<std::string> times;
    Diff diff;
};

template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
    std::vector<std::string> names;
    names.reserve(rows.size());
    for (const auto& row : rows) names.emplace_back(row.name);
    return names;
}

// The values of the rows with these names, in the order of the rows.
template <class Rows, class Row, class Value>
std::vector<Value> values_named(const Rows& rows, Value Row::*value,
                                const std::vector<std::string>& names) {
    std::vector<Value> values;
    for (const Row& row : rows) {
        if (std::ranges::find(names, row.name) != names.end()) {
            values.push_back(row.*value);
        }
    }
    return values;
}

// An option, value or subcommand that earlier versions had.
struct RemovedOption {
    std::string_view spelling;  // with the value if only that was removed, or after its subcommand
    std::string_view remedy;
};
constexpr std::string_view times_remedy = "keep the table that times prints";
constexpr std::array removed{
    RemovedOption{"--op", "only sums are measured; run all_reduce_perf -o max of nccl-tests"},
    RemovedOption{
        "--order",
        "run srun --distgpu=pytorch,order=slurm ... --json A.json, the same with order=switch "
        "and B.json, then nccl-scaling diff A.json B.json"},
    RemovedOption{"--step", "time your own steps: nccl-scaling times 1=100 2=50 4=25"},
    RemovedOption{"--threshold",
                  "compare with a run: --baseline RUN.json --tolerance 5, or with one number: "
                  "--expect GB/s"},
    RemovedOption{
        "--csv",
        "write --json run.json, then jq -r '.measurements[] | [.collective, .bytes, .busbw] | "
        "@csv' run.json"},
    RemovedOption{
        "--prometheus",
        "write --json run.json, then jq -r '.headline | \"nccl_scaling_busbw \\(.busbw)\"' "
        "run.json"},
    RemovedOption{"--drain-reason",
                  "write --json run.json, then jq -r '.limiters | join(\", \")' run.json"},
    RemovedOption{"--graph", "run all_reduce_perf -G 1 of nccl-tests"},
    RemovedOption{"--registered", "run all_reduce_perf -R 1 of nccl-tests"},
    RemovedOption{"--minutes",
                  "run nccl-scaling --quick repeatedly; each run names what is slow at that time"},
    RemovedOption{"page", "give --html FILE to the run itself"},
    RemovedOption{"times --json", times_remedy},
    RemovedOption{"times --html", times_remedy},
    RemovedOption{"--collective reduce", "run reduce_perf of nccl-tests"},
    RemovedOption{"--collective gather", "run gather_perf of nccl-tests"},
    RemovedOption{"--collective scatter", "run scatter_perf of nccl-tests"},
    RemovedOption{"--collective all-to-all-v", "write --collective all-to-all"},
    RemovedOption{"--collective bisection", "write --collective send-recv,all-to-all"},
    RemovedOption{"--type double", "run all_reduce_perf -d double of nccl-tests"},
    RemovedOption{"--type int8", "run all_reduce_perf -d int8 of nccl-tests"},
    RemovedOption{"--type int32", "run all_reduce_perf -d int32 of nccl-tests"},
    RemovedOption{"--type int64", "run all_reduce_perf -d int64 of nccl-tests"},
    RemovedOption{"--type f8e4m3", "run all_reduce_perf -d f8e4m3 of nccl-tests"},
    RemovedOption{"--type f8e5m2", "run all_reduce_perf -d f8e5m2 of nccl-tests"},
};

std::optional<Error> refuse_removed(int argc, const char* const* argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string argument(argv[i]);
        const std::string option = argument.substr(0, argument.find('='));
        const bool has_value = option.size() < argument.size();
        std::vector<std::string> spellings{formatted("{} {}", argv[1], option)};
        if (i == 1 || option.starts_with('-')) spellings.push_back(option);
        const std::string next = i + 1 < argc ? argv[i + 1] : "";
        const std::string values = has_value ? argument.substr(option.size() + 1) : next;
        for (const std::string_view value : comma_items(values)) {
            spellings.push_back(formatted("{} {}", option, value));
        }
        for (const auto& [spelling, remedy] : removed) {
            if (std::ranges::find(spellings, spelling) == spellings.end()) continue;
            return Error{std::string(spelling), "was removed", std::string(remedy)};
        }
    }
    return std::nullopt;
}

constexpr const char* json_file_help = "A file that --json wrote";

template <class Value>
CLI::Option* add_option(CLI::App& app, const char* name, Value& value, const char* placeholder,
                        const std::string& help) {
    return app.add_option(name, value, help)->type_name(placeholder);
}

// A size in bytes, or with a suffix that stands for a power of 1024.
CLI::Option* add_size_option(CLI::App& app, const char* name, std::optional<std::uint64_t>& size,
                             const std::string& help) {
    CLI::Validator with_suffix = CLI::AsSizeValue(false);
    CLI::Validator in_range = CLI::Range(std::uint64_t{1}, largest_size);
    return add_option(app, name, size, "SIZE", help)
        ->transform(with_suffix.description(""))
        ->check(in_range.description(""));
}

void declare_sizes(CLI::App& app, RawOptions& raw, Options& options) {
    add_size_option(
        app, "-b", raw.begin,
        "Smallest size, in bytes or such as 64K, 16M, 1G; default: 8, or the largest with "
        "--quick");
    add_size_option(app, "-e", raw.end,
                    "Largest size; default: 64M, with --quick chosen by a probe, up to 512M");
    add_option(app, "-f", raw.factor, "FACTOR", "Factor from one size to the next")
        ->capture_default_str();
    add_size_option(app, "-i", raw.step, "Step from one size to the next, instead of a factor")
        ->excludes("-f");
    app.add_flag("--quick", options.selection.quick,
                 "Find what is slow within three minutes: all-reduce of one size, which a "
                 "probe chooses, on every node alone, on all nodes and on pairs");
}

void declare_measurements(CLI::App& app, RawOptions& raw, Options& options) {
    const auto collective_names = names_of(collectives);
    add_option(app, "--collective", raw.collectives, "NAME",
               formatted("{}; default: all, with --quick the first", join(collective_names, ", ")))
        ->delimiter(',')
        ->check(CLI::IsMember(collective_names));
    const auto type_names = names_of(data_types);
    add_option(app, "--type", raw.types, "NAME", join(type_names, ", "))
        ->delimiter(',')
        ->check(CLI::IsMember(type_names))
        ->capture_default_str();
    add_option(app, "--iterations", raw.iterations, "N",
               "Timed runs of each measurement; default: 20, or 10 with --quick")
        ->check(CLI::Range(1, 1000000));
    add_option(app, "--warmup", raw.warmup, "N",
               "Untimed runs before them; default: 5, or 2 with --quick")
        ->check(CLI::Range(1, 1000000));
    add_option(app, "--check", options.checks_data, "0|1",
               "1: compare a part of each collective's result with known data; 0: do not")
        ->check(CLI::IsMember({"0", "1"}))
        ->default_str("1");
    add_option(
        app, "--timeout", raw.timeout, "SECONDS",
        "End the run after this many seconds without progress, and one for each GB of the largest "
        "size")
        ->check(CLI::Range(1.0, 86400.0))
        ->capture_default_str();
    options.backend = "nccl";
    add_option(app, "--backend", options.backend, "NAME",
               "nccl, or mpi: host memory, not a GPU measurement")
        ->check(CLI::IsMember({"nccl", "mpi"}))
        ->capture_default_str();
}

CLI::Option* declare_tolerance(CLI::App& app, RawOptions& raw) {
    return add_option(app, "--tolerance", raw.tolerance, "PERCENT",
                      "Percent by which a result may be slower")
        ->check(CLI::Range(0.0, 100.0))
        ->capture_default_str();
}

void declare_comparison(CLI::App& app, RawOptions& raw, Options& options) {
    add_option(app, "--baseline", options.baseline_file, "FILE",
               "Compare with an earlier run's --json file; exit status 1 if anything is slower");
    declare_tolerance(app, raw)->needs("--baseline");
    add_option(app, "--expect", raw.expect, "GB/s",
               "Bus bandwidth that all nodes should reach at the largest size; the verdict has the "
               "percentage")
        ->check(CLI::PositiveNumber);
    app.add_flag("--fail-on-limiter", options.fail_on_limiter,
                 "Exit status 1 if the verdict names a limiter");
}

// Subcommands that measure nothing.
void declare_subcommands(CLI::App& app, RawOptions& raw) {
    CLI::App* const times = app.add_subcommand(
        "times", "Compute the scaling efficiency from your own training times, without measuring");
    times->add_option("times", raw.times, "Times such as 1=100 2=50 4=25")
        ->option_text("NODES=SECONDS ...")
        ->required();
    CLI::App* const diff = app.add_subcommand(
        "diff", "Compare two earlier runs; exit status 1 if anything is slower in the second");
    diff->add_option("before", raw.diff.before, json_file_help)->option_text("A.json")->required();
    diff->add_option("after", raw.diff.after, "The later one")->option_text("B.json")->required();
    declare_tolerance(*diff, raw);
}

// Applies the defaults and converts units. CLI11 has already validated `raw`.
Result<Options> resolve_options(const RawOptions& raw, Options options) {
    if (!options.baseline_file.empty() && options.baseline_file == options.files.json) {
        return Error{"--json " + options.baseline_file, "is also the baseline",
                     "write to another file"};
    }
    const bool quick = options.selection.quick;
    options.probes_size = quick && !raw.begin;
    options.iterations = raw.iterations.value_or(quick ? 10 : 20);
    options.warmup = raw.warmup.value_or(quick ? 2 : 5);
    const auto end = raw.end.value_or(std::uint64_t{quick ? 512U : 64U} << 20U);
    const auto begin = raw.begin.value_or(quick ? end : 8);
    auto sizes = sizes_of({begin, end, raw.factor, raw.step});
    if (!sizes) return sizes.error();
    options.selection.sizes = *std::move(sizes);
    const auto default_names =
        quick ? std::vector<std::string>{"all-reduce"} : names_of(collectives);
    options.selection.collectives =
        values_named(collectives, &CollectiveInfo::collective,
                     raw.collectives.empty() ? default_names : raw.collectives);
    options.selection.types = values_named(data_types, &DataTypeInfo::type, raw.types);
    // Another second for each GB, because a collective shows no progress until it is done.
    options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(raw.timeout * 1000)) +
                      std::chrono::seconds(options.selection.sizes.back() / 1'000'000'000);
    options.tolerance = raw.tolerance / 100;
    constexpr double gb = 1e9;
    if (raw.expect > 0) options.expected_busbw = raw.expect * gb;
    return options;
}

std::optional<TrainingTime> parse_time(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const auto nodes = whole_number(text.substr(0, equals));
    const auto seconds = decimal(text.substr(equals + 1));
    if (!nodes || !seconds) return std::nullopt;
    return TrainingTime{*nodes, *seconds};
}

// `texts`: such as "4=25" for 25 s on 4 nodes.
Result<CommandLine> read_times(const std::vector<std::string>& texts) {
    std::vector<TrainingTime> times;
    times.reserve(texts.size());
    for (const std::string& text : texts) {
        const auto time = parse_time(text);
        if (!time) return Error{text, "not NODES=SECONDS", "write 4=25 for 25 s on 4 nodes"};
        times.push_back(*time);
    }
    return scaling_efficiency(std::move(times)).transform([](Times points) {
        return CommandLine(std::move(points));
    });
}

// Refuses a run's options in front of a subcommand, which would ignore them.
std::optional<Error> refuse_options_before(const CLI::App& subcommand) {
    const std::string& name = subcommand.get_name();
    for (const CLI::Option* const option : subcommand.get_parent()->get_options()) {
        if (option->count() == 0) continue;
        return Error{option->get_name(), formatted("given before {}", name),
                     formatted("give the options of {} after it", name)};
    }
    return std::nullopt;
}

}  // namespace

Result<CommandLine> parse_options(int argc, const char* const* argv) {
    CLI::App app(
        "Measure the scaling efficiency of collectives over nodes, and find the slow node.\n"
        "Start it with srun --distgpu=pytorch, one task per GPU.",
        "nccl-scaling");
    if (auto error = refuse_removed(argc, argv)) return *std::move(error);
    RawOptions raw;
    Options options;
    declare_sizes(app, raw, options);
    declare_measurements(app, raw, options);
    add_option(app, "--json", options.files.json, "FILE", "Write the results to this file");
    add_option(app, "--html", options.files.html, "FILE", "Write a page with plots to this file");
    declare_comparison(app, raw, options);
    declare_subcommands(app, raw);
    app.require_subcommand(0, 1);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success&) {
        return CommandLine(app.help());
    } catch (const CLI::ParseError& error) {
        return Error{"command line", error.what(), help_remedy};
    }
    if (app.get_subcommands().empty()) {
        return resolve_options(raw, std::move(options)).transform([](Options resolved) {
            return CommandLine(std::move(resolved));
        });
    }
    const CLI::App& subcommand = *app.get_subcommands().front();
    if (const auto error = refuse_options_before(subcommand)) return *error;
    if (subcommand.get_name() == "times") return read_times(raw.times);
    raw.diff.tolerance = raw.tolerance / 100;
    return CommandLine(raw.diff);
}

Result<std::vector<std::uint64_t>> sizes_of(const SizeRange& range) {
    constexpr std::size_t max_sizes = 10000;
    if (range.begin > range.end) {
        return Error{"-b, -e", formatted("{} is more than {}", range.begin, range.end),
                     "give the smaller size with -b"};
    }
    if (range.factor < 2) return Error{"-f", "a factor below 2", "give 2 or more"};
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t size = range.begin; size <= range.end;
         size = range.step ? size + *range.step : size * range.factor) {
        if (sizes.size() == max_sizes) {
            return Error{"-b, -e, -i", formatted("more than {} sizes", max_sizes),
                         "give a larger step with -i"};
        }
        sizes.push_back(size);
        if (!range.step && size > range.end / range.factor) break;  // the next is too large
    }
    return sizes;
}

}  // namespace distgpu::scaling
