#include "report/times_report.h"

#include "base/format.h"
#include "report/units.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

namespace distgpu::scaling {
namespace {

std::string verdict(const TimesReport& report) {
    return formatted("{}: {:.0f}% of linear (weak), {:.0f}% (strong); limiter: not measured",
                     counted(report.weak.back().nodes, "node"), 100 * report.weak.back().efficiency,
                     100 * report.strong.back().efficiency);
}

Error bad_times(std::string problem, std::string remedy) {
    return {"times", std::move(problem), std::move(remedy)};
}

}  // namespace

Error refusal_of(const UnusableTimes& times) {
    const auto& [nodes, seconds] = times.time;
    switch (times.reason) {
        case UnusableTimes::Reason::too_few:
            return bad_times(formatted("{} given", times.count),
                             "give times for at least two numbers of nodes, such as 1=100 2=50");
        case UnusableTimes::Reason::no_nodes:
            return bad_times("0 nodes", "the number of nodes must be at least 1");
        case UnusableTimes::Reason::not_positive:
            return bad_times(formatted("{} s for {}", seconds, counted(nodes, "node")),
                             "give seconds above 0");
        case UnusableTimes::Reason::twice:
            break;
    }
    return bad_times(counted(nodes, "node") + " given twice",
                     "give one time for each number of nodes");
}

std::string times_table(const TimesReport& report) {
    constexpr std::string_view row = "{:>10}  {:>12}  {:>10}  {:>12}\n";
    std::string text = formatted(row, "nodes", "seconds", "E_w (weak)", "E_s (strong)");
    text.front() = '#';
    for (std::size_t i = 0; i < report.weak.size(); ++i) {
        text += formatted(row, report.weak[i].nodes, report.weak[i].seconds,
                          format_percent(report.weak[i].efficiency),
                          format_percent(report.strong[i].efficiency));
    }
    return text +
           "# weak: each node had the same work in every run; strong: all nodes together had the "
           "same work; one of the two fits your runs\n" +
           verdict(report) + "\n";
}

std::string times_csv(const TimesReport& report) {
    std::string text = "nodes,seconds,weak,strong\r\n";
    for (std::size_t i = 0; i < report.weak.size(); ++i) {
        text += formatted("{},{},{},{}\r\n", report.weak[i].nodes, report.weak[i].seconds,
                          report.weak[i].efficiency, report.strong[i].efficiency);
    }
    return text;
}

std::string times_json(const TimesReport& report) {
    nlohmann::ordered_json times = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < report.weak.size(); ++i) {
        times.push_back({{"nodes", report.weak[i].nodes},
                         {"seconds", report.weak[i].seconds},
                         {"weak", report.weak[i].efficiency},
                         {"strong", report.strong[i].efficiency}});
    }
    const nlohmann::ordered_json json{{"schema", "distgpu.scaling-times/1"},
                                      {"verdict", verdict(report)},
                                      {"baseline_nodes", report.weak.front().nodes},
                                      {"times", times}};
    return json.dump(1) + "\n";
}

}  // namespace distgpu::scaling
