// The words that JSON, CSV and the page use for the values of results.h and report_input.h. Those
// of collectives and data types are in analysis/bus_bandwidth.h.
#pragma once

#include "report/report_input.h"
#include "results/results.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace distgpu::scaling::words {

template <class Value>
struct Word {
    Value value;
    std::string_view word;
};

inline constexpr std::array group_kinds{Word<Group::Kind>{Group::Kind::gpus, "gpus"},
                                        Word<Group::Kind>{Group::Kind::nodes, "nodes"},
                                        Word<Group::Kind>{Group::Kind::node, "node"},
                                        Word<Group::Kind>{Group::Kind::pair, "pair"},
                                        Word<Group::Kind>{Group::Kind::rail, "rail"},
                                        Word<Group::Kind>{Group::Kind::pair_rail, "pair_rail"}};
inline constexpr std::array efficiency_kinds{
    Word<EfficiencyCurve::Kind>{EfficiencyCurve::Kind::communication, "communication"},
    Word<EfficiencyCurve::Kind>{EfficiencyCurve::Kind::weak, "weak"},
    Word<EfficiencyCurve::Kind>{EfficiencyCurve::Kind::strong, "strong"}};
inline constexpr std::array limiter_kinds{
    Word<Limiter::Kind>{Limiter::Kind::node, "slow node"},
    Word<Limiter::Kind>{Limiter::Kind::node_rail, "slow port"},
    Word<Limiter::Kind>{Limiter::Kind::rail, "slow rail"},
    Word<Limiter::Kind>{Limiter::Kind::leaf, "slow switch"},
    Word<Limiter::Kind>{Limiter::Kind::uplink, "slow uplink"},
    Word<Limiter::Kind>{Limiter::Kind::spine, "slow between switches"},
    Word<Limiter::Kind>{Limiter::Kind::paths, "routing collision"}};
inline constexpr std::array demand_kinds{
    Word<JudgedDemand::Kind>{JudgedDemand::Kind::baseline, "baseline"},
    Word<JudgedDemand::Kind>{JudgedDemand::Kind::thresholds, "thresholds"}};
inline constexpr std::array outcomes{
    Word<Judgement::Outcome>{Judgement::Outcome::passed, "passed"},
    Word<Judgement::Outcome>{Judgement::Outcome::failed, "failed"},
    Word<Judgement::Outcome>{Judgement::Outcome::skipped, "skipped"}};

// Precondition: `table` has the value; each table above names all values of its type.
template <class Table, class Value>
std::string_view word_of(const Table& table, Value value) {
    return std::find_if(table.begin(), table.end(),
                        [&](const auto& entry) { return entry.value == value; })
        ->word;
}

// Nothing: no value is called `word`.
template <class Table>
auto value_of(const Table& table, std::string_view word) {
    const auto found = std::find_if(table.begin(), table.end(),
                                    [&](const auto& entry) { return entry.word == word; });
    return found == table.end() ? std::nullopt : std::optional(found->value);
}

// What must be said wherever the results are shown; empty: nothing.
inline std::string_view note(const Results& results) {
    return results.backend == "mpi" ? "host memory; not a GPU measurement" : "";
}

}  // namespace distgpu::scaling::words
