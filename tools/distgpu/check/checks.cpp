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

Result<Names> read_names(std::string_view option, std::string_view list) {
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

bool any_fatal(const Findings& findings) {
    return std::any_of(findings.begin(), findings.end(), is_fatal);
}

void add(Findings& findings, std::optional<Finding> finding) {
    if (finding) findings.push_back(*std::move(finding));
}

std::span<const NamedCheck* const> all_checks() {
    static constexpr std::array all{
        &variables_check, &ports_check,      &cpus_check,  &gpus_check,  &memory_check,
        &fabric_check,    &interfaces_check, &names_check, &nodes_check, &network_check};
    return all;
}

Result<Checks> choose_checks(const std::optional<std::string>& only,
                             const std::optional<std::string>& skip) {
    const auto wanted = only ? read_names("--only", *only) : Result<Names>(Names());
    if (!wanted) return wanted.error();
    const auto unwanted = skip ? read_names("--skip", *skip) : Result<Names>(Names());
    if (!unwanted) return unwanted.error();
    Checks chosen;
    const auto all = all_checks();
    std::copy_if(all.begin(), all.end(), std::back_inserter(chosen), [&](const NamedCheck* check) {
        return (!only || std::ranges::count(*wanted, check->name) > 0) &&
               std::ranges::count(*unwanted, check->name) == 0;
    });
    return chosen;
}

std::string list_of_checks() {
    std::vector<Row> rows;
    for (const NamedCheck* check : all_checks()) {
        rows.push_back({std::string(check->name), std::string(check->looks_at)});
    }
    return table(std::move(rows), {.width = 100});
}

}  // namespace distgpu
