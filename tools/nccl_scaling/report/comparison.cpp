#include "report/comparison.h"

#include "analysis/collectives.h"
#include "base/format.h"
#include "report/formats.h"
#include "report/names.h"

#include <algorithm>

namespace distgpu::scaling {
namespace {

constexpr double gb = 1e9;

// The first measurement of this group and operation, which a file may contain twice.
const Measurement* find_measurement(const Results& results, const Group& group,
                                    const Operation& operation) {
    for (const Measurement& one : results.measurements) {
        const Group& other = results.groups[one.group];
        if (is_scaling_group(other) && other.kind == group.kind && other.ranks == group.ranks &&
            one.operation == operation && bus_bandwidth(results, one)) {
            return &one;
        }
    }
    return nullptr;
}

Fingerprint with_backend(const Results& results) {
    Fingerprint fingerprint{{"backend", results.backend}};
    fingerprint.insert(fingerprint.end(), results.fingerprint.begin(), results.fingerprint.end());
    return fingerprint;
}

// Both runs side by side: a header, and a row for each measurement that both have.
std::string diff_table(const Results& before, const Results& after, const Comparison& comparison) {
    constexpr std::string_view row = "{:>15}  {:>12}  {:>8}  {}\n";
    std::string text =
        formatted("# before: started {}\n# after: started {}\n", before.started, after.started);
    std::string header = formatted(row, "before (GB/s)", "after (GB/s)", "change", "busbw of");
    text += header.replace(0, 1, "#");
    for (const auto& [measurement, old_rate, new_rate] : comparison.changes) {
        text += formatted(row, format_bandwidth(old_rate), format_bandwidth(new_rate),
                          formatted("{:+.1f} %", 100 * (new_rate / old_rate - 1)),
                          measurement_name(after, after.measurements[measurement]));
    }
    return text;
}

}  // namespace

ExitCode Comparison::exit_code() const {
    if (!failed.empty()) return ExitCode::check_failed;
    return passed_count() > 0 ? ExitCode::done : ExitCode::skipped;
}

Comparison compare_runs(const Results& results, const Baseline& baseline) {
    const Results& before = baseline.results;
    Comparison comparison{
        baseline.file, baseline.tolerance,
        fingerprint_differences(with_backend(results), with_backend(before), "there")};
    for (const Measurement& known : before.measurements) {
        const Group& group = before.groups[known.group];
        if (find_measurement(before, group, known.operation) != &known) continue;
        const Measurement* const found = find_measurement(results, group, known.operation);
        if (found == nullptr) {
            comparison.unmeasured.push_back(
                formatted("{}, {}", operation_name(known.operation), counted(group.ranks, "rank")));
            continue;
        }
        const Change change{static_cast<std::size_t>(found - results.measurements.data()),
                            *bus_bandwidth(before, known), *bus_bandwidth(results, *found)};
        comparison.changes.push_back(change);
        if (change.after < (1 - baseline.tolerance) * change.before) {
            comparison.failed.push_back(change);
        }
    }
    return comparison;
}

std::string comparison_text(const Results& results, const Comparison& comparison) {
    const auto& [file, tolerance, differences, changes, failed, unmeasured] = comparison;
    std::string text;
    for (const std::string& difference : differences) {
        text += formatted("# {}: {}\n", file, difference);
    }
    for (const Change& change : failed) {
        const double least = (1 - tolerance) * change.before;
        text += formatted("# FAILED: {}: {:.4g} GB/s, {} of the {:.4g} that it must reach\n",
                          measurement_name(results, results.measurements[change.measurement]),
                          change.after / gb, format_percent(change.after / least), least / gb);
    }
    for (const std::string& name : unmeasured) text += formatted("# not measured: {}\n", name);
    return text + formatted("# baseline {}, tolerance {}: {} passed, {} failed, {} not measured\n",
                            file, format_percent(tolerance), comparison.passed_count(),
                            failed.size(), unmeasured.size());
}

Result<ExitCode> print_diff(const Diff& diff, std::FILE* out) {
    const auto after = read_results(diff.after);
    if (!after) return after.error();
    const auto before = read_results(diff.before);
    if (!before) return before.error();
    const Comparison comparison = compare_runs(*after, {diff.before, *before, diff.tolerance});
    if (comparison.exit_code() == ExitCode::skipped) {
        return Error{formatted("{} and {}", diff.before, diff.after), "no measurement in common",
                     "compare runs with the same collectives, types, sizes and numbers of ranks"};
    }
    const std::string text =
        diff_table(*before, *after, comparison) + comparison_text(*after, comparison);
    static_cast<void>(std::fputs(text.c_str(), out));
    return comparison.exit_code();
}

std::vector<std::string> fingerprint_differences(const Fingerprint& here, const Fingerprint& other,
                                                 std::string_view there) {
    const auto value_in = [](const Fingerprint& fingerprint, const std::string& name) {
        const auto found = std::ranges::find(fingerprint, name, &Fingerprint::value_type::first);
        return found == fingerprint.end() ? "missing" : formatted("'{}'", found->second);
    };
    std::vector<std::string> found;
    const auto compare = [&](const std::string& name) {
        const std::string own = value_in(here, name);
        const std::string theirs = value_in(other, name);
        if (own != theirs)
            found.push_back(formatted("{} is {} {}, {} here", name, theirs, there, own));
    };
    for (const auto& [name, value] : here) compare(name);
    for (const auto& [name, value] : other) {
        if (value_in(here, name) == "missing") compare(name);
    }
    return found;
}

}  // namespace distgpu::scaling
