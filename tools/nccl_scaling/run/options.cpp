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

constexpr const char* see_help = "see nccl-scaling --help";

// As written.
struct Words {
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

// The values of the rows with these names, in the rows' order.
template <class Rows, class Row, class Value>
std::vector<Value> chosen(const Rows& rows, Value Row::*value,
                          const std::vector<std::string>& names) {
    std::vector<Value> values;
    for (const Row& row : rows) {
        if (std::ranges::find(names, row.name) != names.end()) {
            values.push_back(row.*value);
        }
    }
    return values;
}

// What earlier editions had, and what to write instead.
struct Removed {
    std::string_view words;  // an option, with its value if others stay, or behind its subcommand
    std::string_view instead;
};
constexpr std::string_view times_instead = "keep the table that times prints";
constexpr std::array removed{
    Removed{"--op", "only sums are measured; run all_reduce_perf -o max of nccl-tests"},
    Removed{"--order",
            "run srun --distgpu=pytorch,order=slurm ... --json A.json, the same with order=switch "
            "and B.json, then nccl-scaling diff A.json B.json"},
    Removed{"--step", "time your own steps: nccl-scaling times 1=100 2=50 4=25"},
    Removed{"--threshold",
            "hold it against a run: --baseline RUN.json --tolerance 5, or against one number: "
            "--expect GB/s"},
    Removed{"--csv",
            "write --json run.json, then jq -r '.measurements[] | [.collective, .bytes, .busbw] | "
            "@csv' run.json"},
    Removed{"--prometheus",
            "write --json run.json, then jq -r '.headline | \"nccl_scaling_busbw \\(.busbw)\"' "
            "run.json"},
    Removed{"--drain-reason",
            "write --json run.json, then jq -r '.limiters | join(\", \")' run.json"},
    Removed{"--graph", "run all_reduce_perf -G 1 of nccl-tests"},
    Removed{"--registered", "run all_reduce_perf -R 1 of nccl-tests"},
    Removed{"--minutes", "run nccl-scaling --quick again and again; each names what is slow then"},
    Removed{"page", "give --html FILE to the run itself"},
    Removed{"times --json", times_instead},
    Removed{"times --html", times_instead},
    Removed{"--collective reduce", "run reduce_perf of nccl-tests"},
    Removed{"--collective gather", "run gather_perf of nccl-tests"},
    Removed{"--collective scatter", "run scatter_perf of nccl-tests"},
    Removed{"--collective all-to-all-v", "write --collective all-to-all"},
    Removed{"--collective bisection", "write --collective send-recv,all-to-all"},
    Removed{"--type double", "run all_reduce_perf -d double of nccl-tests"},
    Removed{"--type int8", "run all_reduce_perf -d int8 of nccl-tests"},
    Removed{"--type int32", "run all_reduce_perf -d int32 of nccl-tests"},
    Removed{"--type int64", "run all_reduce_perf -d int64 of nccl-tests"},
    Removed{"--type f8e4m3", "run all_reduce_perf -d f8e4m3 of nccl-tests"},
    Removed{"--type f8e5m2", "run all_reduce_perf -d f8e5m2 of nccl-tests"},
};

std::optional<Error> refuse_removed(int argc, const char* const* argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string word(argv[i]);
        const std::string option = word.substr(0, word.find('='));
        const bool has_value = option.size() < word.size();
        std::vector<std::string> written{formatted("{} {}", argv[1], option)};
        if (i == 1 || option.starts_with('-')) written.push_back(option);
        const std::string next = i + 1 < argc ? argv[i + 1] : "";
        const std::string values = has_value ? word.substr(option.size() + 1) : next;
        for (const std::string_view value : comma_items(values)) {
            written.push_back(formatted("{} {}", option, value));
        }
        for (const auto& [words, instead] : removed) {
            if (std::ranges::find(written, words) == written.end()) continue;
            return Error{std::string(words), "no longer there", std::string(instead)};
        }
    }
    return std::nullopt;
}

constexpr const char* of_json = "A file that --json wrote";

template <class Value>
CLI::Option* add(CLI::App& app, const char* name, Value& value, const char* placeholder,
                 const std::string& help) {
    return app.add_option(name, value, help)->type_name(placeholder);
}

// In bytes, or with a suffix, of which each is a power of 1024.
CLI::Option* add_size(CLI::App& app, const char* name, std::optional<std::uint64_t>& size,
                      const std::string& help) {
    CLI::Validator with_suffix = CLI::AsSizeValue(false);
    CLI::Validator in_range = CLI::Range(std::uint64_t{1}, largest_size);
    return add(app, name, size, "SIZE", help)
        ->transform(with_suffix.description(""))
        ->check(in_range.description(""));
}

void declare_length(CLI::App& app, Words& words, Options& options) {
    add_size(app, "-b", words.begin,
             "Smallest size, in bytes or such as 64K, 16M, 1G; default: 8, or the largest with "
             "--quick");
    add_size(app, "-e", words.end,
             "Largest size; default: 64M, with --quick what a first probe chooses, up to 512M");
    add(app, "-f", words.factor, "FACTOR", "Factor from one size to the next")
        ->capture_default_str();
    add_size(app, "-i", words.step, "Step from one size to the next, instead of a factor")
        ->excludes("-f");
    app.add_flag("--quick", options.wishes.quick,
                 "Look for what is slow, in three minutes at most: all-reduce of one size, which a "
                 "first probe chooses, on every node alone, on all nodes and on pairs");
}

void declare_measurements(CLI::App& app, Words& words, Options& options) {
    const auto collective_names = names_of(collectives);
    add(app, "--collective", words.collectives, "NAME",
        formatted("{}; default: all, with --quick the first", join(collective_names, ", ")))
        ->delimiter(',')
        ->check(CLI::IsMember(collective_names));
    const auto type_names = names_of(data_types);
    add(app, "--type", words.types, "NAME", join(type_names, ", "))
        ->delimiter(',')
        ->check(CLI::IsMember(type_names))
        ->capture_default_str();
    add(app, "--iterations", words.iterations, "N",
        "Timed runs of each measurement; default: 20, or 10 with --quick")
        ->check(CLI::Range(1, 1000000));
    add(app, "--warmup", words.warmup, "N",
        "Untimed runs before those; default: 5, or 2 with --quick")
        ->check(CLI::Range(1, 1000000));
    add(app, "--check", options.check, "0|1",
        "1: compare a part of each collective's result with known data; 0: do not")
        ->check(CLI::IsMember({"0", "1"}))
        ->default_str("1");
    add(app, "--timeout", words.timeout, "SECONDS",
        "End the run after this many seconds without progress, and one for each GB of the largest "
        "size")
        ->check(CLI::Range(1.0, 86400.0))
        ->capture_default_str();
    options.backend = "nccl";
    add(app, "--backend", options.backend, "NAME",
        "nccl, or mpi: host memory, not a GPU measurement")
        ->check(CLI::IsMember({"nccl", "mpi"}))
        ->capture_default_str();
}

CLI::Option* declare_tolerance(CLI::App& app, Words& words) {
    return add(app, "--tolerance", words.tolerance, "PERCENT",
               "Percent by which a result may be slower")
        ->check(CLI::Range(0.0, 100.0))
        ->capture_default_str();
}

void declare_judgement(CLI::App& app, Words& words, Options& options) {
    add(app, "--baseline", options.baseline, "FILE",
        "Compare with an earlier run's --json file; exit status 1 if anything is slower");
    declare_tolerance(app, words)->needs("--baseline");
    add(app, "--expect", words.expect, "GB/s",
        "Bus bandwidth that all nodes should reach at the largest size; the verdict says the "
        "percentage")
        ->check(CLI::PositiveNumber);
    app.add_flag("--fail-on-limiter", options.fail_on_limiter,
                 "Exit status 1 if the verdict names a limiter");
}

// Subcommands that measure nothing.
void declare_subcommands(CLI::App& app, Words& words) {
    CLI::App* const times = app.add_subcommand(
        "times", "Show how far from linear your own training times are, without measuring");
    times->add_option("times", words.times, "Times such as 1=100 2=50 4=25")
        ->option_text("NODES=SECONDS ...")
        ->required();
    CLI::App* const diff = app.add_subcommand(
        "diff", "Compare two earlier runs; exit status 1 if anything is slower in the second");
    diff->add_option("before", words.diff.before, of_json)->option_text("A.json")->required();
    diff->add_option("after", words.diff.after, "Another one")->option_text("B.json")->required();
    declare_tolerance(*diff, words);
}

// The words were checked.
Result<Options> understand(const Words& words, Options options) {
    if (!options.baseline.empty() && options.baseline == options.files.json) {
        return Error{"--json " + options.baseline, "is the baseline", "write to another file"};
    }
    const bool quick = options.wishes.quick;
    options.probe = quick && !words.begin;
    options.iterations = words.iterations.value_or(quick ? 10 : 20);
    options.warmup = words.warmup.value_or(quick ? 2 : 5);
    const auto end = words.end.value_or(std::uint64_t{quick ? 512U : 64U} << 20U);
    const auto begin = words.begin.value_or(quick ? end : 8);
    auto sizes = sizes_of({begin, end, words.factor, words.step});
    if (!sizes) return sizes.error();
    options.wishes.sizes = *std::move(sizes);
    const auto usual = quick ? std::vector<std::string>{"all-reduce"} : names_of(collectives);
    options.wishes.collectives = chosen(collectives, &CollectiveRow::collective,
                                        words.collectives.empty() ? usual : words.collectives);
    options.wishes.types = chosen(data_types, &DataTypeRow::type, words.types);
    // A single collective shows no progress until it is done: a second more for each GB.
    options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(words.timeout * 1000)) +
                      std::chrono::seconds(options.wishes.sizes.back() / 1'000'000'000);
    options.tolerance = words.tolerance / 100;
    constexpr double gb = 1e9;
    if (words.expect > 0) options.expect = words.expect * gb;
    return options;
}

std::optional<NodesTime> nodes_time(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const auto nodes = whole_number(text.substr(0, equals));
    const auto seconds = decimal(text.substr(equals + 1));
    if (!nodes || !seconds) return std::nullopt;
    return NodesTime{*nodes, *seconds};
}

// Of texts like "4=25": 25 s on 4 nodes.
Result<Asked> read_times(const std::vector<std::string>& texts) {
    std::vector<NodesTime> times;
    times.reserve(texts.size());
    for (const std::string& text : texts) {
        const auto time = nodes_time(text);
        if (!time) return Error{text, "not NODES=SECONDS", "write 4=25 for 25 s on 4 nodes"};
        times.push_back(*time);
    }
    return scaling_efficiency(std::move(times)).transform([](Times points) {
        return Asked(std::move(points));
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

}  // namespace

Result<Asked> parse_options(int argc, const char* const* argv) {
    CLI::App app(
        "Measure how far collectives are from linear scaling over nodes, and which node is slow.\n"
        "Start it with srun --distgpu=pytorch, one task per GPU.",
        "nccl-scaling");
    if (auto error = refuse_removed(argc, argv)) return *std::move(error);
    Words words;
    Options options;
    declare_length(app, words, options);
    declare_measurements(app, words, options);
    add(app, "--json", options.files.json, "FILE", "Write the results to this file");
    add(app, "--html", options.files.html, "FILE", "Write a page with plots to this file");
    declare_judgement(app, words, options);
    declare_subcommands(app, words);
    app.require_subcommand(0, 1);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success&) {
        return Asked(app.help());
    } catch (const CLI::ParseError& refused) {
        return Error{"command line", refused.what(), see_help};
    }
    if (app.get_subcommands().empty()) {
        return understand(words, std::move(options)).transform([](Options understood) {
            return Asked(std::move(understood));
        });
    }
    const CLI::App& subcommand = *app.get_subcommands().front();
    if (const auto error = refuse_before(subcommand)) return *error;
    if (subcommand.get_name() == "times") return read_times(words.times);
    words.diff.tolerance = words.tolerance / 100;
    return Asked(words.diff);
}

Result<std::vector<std::uint64_t>> sizes_of(const SizeRange& range) {
    constexpr std::size_t most_sizes = 10000;
    if (range.begin > range.end) {
        return Error{"-b, -e", formatted("{} is more than {}", range.begin, range.end),
                     "give the smaller size with -b"};
    }
    if (range.factor < 2) return Error{"-f", "a factor below 2", "give 2 or more"};
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t size = range.begin; size <= range.end;
         size = range.step ? size + *range.step : size * range.factor) {
        if (sizes.size() == most_sizes) {
            return Error{"-b, -e, -i", formatted("more than {} sizes", most_sizes),
                         "give a larger step with -i"};
        }
        sizes.push_back(size);
        if (!range.step && size > range.end / range.factor) break;  // the next would not fit
    }
    return sizes;
}

}  // namespace distgpu::scaling
