#include "check/checks.h"

#include "base/format.h"
#include "base/values.h"
#include "table.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace distgpu {
namespace {

using Names = std::vector<std::string_view>;

Result<Names> parse_check_names(std::string_view option, std::string_view list) {
    Names known;
    for (const NamedCheck* check : all_checks()) known.push_back(check->name);
    Names names = comma_items(list);
    for (const std::string_view name : names) {
        if (std::ranges::count(known, name) > 0) continue;
        const auto nearest = nearest_word(name, known);
        return Error{formatted("{}={}", option, list), formatted("unknown check '{}'", name),
                     nearest ? formatted("did you mean '{}'?", *nearest)
                             : std::string("see distgpu check --list")};
    }
    return names;
}

}  // namespace

bool has_fatal(const Findings& findings) {
    return std::any_of(findings.begin(), findings.end(), is_fatal);
}

void add_finding(Findings& findings, std::optional<Finding> finding) {
    if (finding) findings.push_back(*std::move(finding));
}

std::span<const NamedCheck* const> all_checks() {
    static constexpr std::array all{&variables_check, &ports_check,  &cpus_check,
                                    &limits_check,    &gpus_check,   &memory_check,
                                    &nvlink_check,    &fabric_check, &interfaces_check,
                                    &names_check,     &nodes_check,  &network_check};
    return all;
}

Result<Checks> choose_checks(const std::optional<std::string>& only,
                             const std::optional<std::string>& skip) {
    const auto included = only ? parse_check_names("--only", *only) : Result<Names>(Names());
    if (!included) return included.error();
    const auto excluded = skip ? parse_check_names("--skip", *skip) : Result<Names>(Names());
    if (!excluded) return excluded.error();
    Checks chosen;
    const auto all = all_checks();
    std::copy_if(all.begin(), all.end(), std::back_inserter(chosen), [&](const NamedCheck* check) {
        return (!only || std::ranges::count(*included, check->name) > 0) &&
               std::ranges::count(*excluded, check->name) == 0;
    });
    return chosen;
}

std::string list_of_checks() {
    std::vector<Row> rows;
    for (const NamedCheck* check : all_checks()) {
        rows.push_back({std::string(check->name), std::string(check->description)});
    }
    return table(std::move(rows), {.width = 100});
}

}  // namespace distgpu
