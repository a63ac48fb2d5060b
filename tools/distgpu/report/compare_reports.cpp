#include "report/compare_reports.h"

#include "base/format.h"
#include "report/summary.h"
#include "table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

namespace distgpu {
namespace {

constexpr std::size_t max_width = 80;
constexpr double percent = 100;

using Number = std::optional<double>;

struct Quantity {
    std::string_view name;
    Number (*of)(const StepReport&);
    std::string (*text)(double);
};

template <auto member>
Number rank_mean(const StepReport& report) {
    return mean_of(ranks_of(report), [](const RankOnNode& each) {
        return Number(static_cast<double>(each.rank->*member));
    });
}

Number start_of(const StepReport& report) {
    return mean_of(ranks_of(report), [](const RankOnNode& each) { return each.rank->first_gpu; });
}

Number gpu_busy(const StepReport& report) {
    return mean_busy(gpus_of(report));
}

Number gpu_energy(const StepReport& report) {
    return mean_of(gpus_of(report), [](const GpuOnNode& each) { return each.gpu->joules; });
}

Number gpu_memory(const StepReport& report) {
    return mean_of(gpus_of(report), [](const GpuOnNode& each) {
        return each.gpu->memory_total > 0 ? Number(static_cast<double>(each.gpu->memory_peak))
                                          : std::nullopt;
    });
}

Number time_of(const StepReport& report) {
    return seconds_of(report);
}

constexpr std::array<Quantity, 11> quantities{
    {{"time", time_of, time_text},
     {"GPU busy", gpu_busy, busy_text},
     {"energy per GPU", gpu_energy, energy_text},
     {"memory of a GPU", gpu_memory, bytes_text},
     {"CPU time of a rank", rank_mean<&RankReport::cpu_seconds>, time_text},
     {"CPU time of its loaders", rank_mean<&RankReport::worker_cpu_seconds>, time_text},
     {"memory of a rank", rank_mean<&RankReport::memory_peak>, bytes_text},
     {"read by a rank", rank_mean<&RankReport::bytes_read>, bytes_text},
     {"written by a rank", rank_mean<&RankReport::bytes_written>, bytes_text},
     {"TCP of a rank", rank_mean<&RankReport::bytes_exchanged>, bytes_text},
     {"first GPU work after", start_of, time_text}}};

struct Change {
    Row row;
    double size = 0;  // by which the rows are ordered
};

Change change_of(const Quantity& quantity, const StepReport& before, const StepReport& after) {
    const Number old_value = quantity.of(before);
    const Number new_value = quantity.of(after);
    const auto text = [&](const Number& number) {
        return number ? quantity.text(*number) : "not measured";
    };
    Change change{{std::string(quantity.name), text(old_value), text(new_value)}, -1};
    if (!old_value || !new_value) return change;
    if (*old_value == *new_value) {
        change.size = 0;
        change.row.emplace_back("none");
    } else if (*old_value <= 0 || *new_value <= 0) {
        change.size = std::numeric_limits<double>::infinity();
    } else {
        // Half and twice as much are equally large changes.
        change.size = std::abs(std::log(*new_value / *old_value));
        // A percentage of percent would be misread.
        change.row.push_back(quantity.text == busy_text
                                 ? formatted("{:+.1f} points", *new_value - *old_value)
                                 : formatted("{:+.1f}%", percent * (*new_value / *old_value - 1)));
    }
    return change;
}

std::string models_of(const StepReport& report) {
    std::set<std::string> models;
    for (const GpuOnNode& each : gpus_of(report)) {
        models.insert(each.gpu->model.empty() ? "unknown" : each.gpu->model);
    }
    return models.empty() ? "none" : join(models, ", ");
}

// What is not the same in both, so that their difference is not only the program's.
std::vector<std::string> obstacles(const StepReport& before, const StepReport& after) {
    std::vector<std::string> texts;
    const auto compare = [&](std::string_view what, const auto& one, const auto& other) {
        if (one != other)
            texts.push_back(formatted("other {}: {} before, {} after", what, one, other));
    };
    compare("number of GPUs", gpus_of(before).size(), gpus_of(after).size());
    compare("models of GPUs", models_of(before), models_of(after));
    compare("number of ranks", ranks_of(before).size(), ranks_of(after).size());
    compare("number of nodes", before.nodes, after.nodes);
    compare("--distgpu", before.spec, after.spec);
    for (const auto& [report, name] : {std::pair{&before, "before"}, std::pair{&after, "after"}}) {
        if (report->reports.size() < report->nodes) {
            texts.push_back(formatted("{}: reports of {} of {} nodes only", name,
                                      report->reports.size(), report->nodes));
        }
        if (!has_ended(*report)) {
            texts.push_back(formatted("{}: written before the step's end", name));
        }
    }
    return texts;
}

}  // namespace

std::string compare_reports(const StepReport& before, const StepReport& after) {
    std::vector<Change> changes(quantities.size());
    std::ranges::transform(quantities, changes.begin(), [&](const Quantity& quantity) {
        return change_of(quantity, before, after);
    });
    std::ranges::stable_sort(changes, std::ranges::greater(), &Change::size);
    std::string text =
        table({{"before:", heading(before)}, {"after:", heading(after)}}, {.width = max_width});
    const auto different = obstacles(before, after);
    if (!different.empty()) text += "\nnot the same in both, which can explain any change below:\n";
    for (const std::string& each : different) {
        text += table({{each}}, {.indent = 2, .width = max_width});
    }
    std::vector<Row> rows{{"QUANTITY", "BEFORE", "AFTER", "CHANGE"}};
    for (Change& change : changes) rows.push_back(std::move(change.row));
    return text + "\n" + table(std::move(rows), {.indent = 2});
}

}  // namespace distgpu
