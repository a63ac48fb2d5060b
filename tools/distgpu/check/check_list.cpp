#include "check/check_list.h"

#include "base/format.h"
#include "base/nearest_word.h"
#include "base/values.h"
#include "table.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

namespace distgpu {
namespace {

using Names = std::vector<std::string_view>;

Names all_names() {
    Names names;
    for (const NamedCheck* check : all_checks()) names.push_back(check->name);
    return names;
}

bool holds(const Names& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

Result<Names> read_names(std::string_view option, std::string_view list) {
    const Names known = all_names();
    Names names = comma_items(list);
    for (const std::string_view name : names) {
        if (holds(known, name)) continue;
        const auto nearest = nearest_word(name, known);
        return Error{formatted("{}={}", option, list), formatted("unknown check '{}'", name),
                     nearest ? formatted("did you mean '{}'?", *nearest)
                             : std::string("see distgpu check --list")};
    }
    return names;
}

}  // namespace

std::span<const NamedCheck* const> all_checks() {
#define DISTGPU_ADDRESS(name) &name##_check,
    static constexpr std::array all{DISTGPU_CHECKS(DISTGPU_ADDRESS)};
#undef DISTGPU_ADDRESS
    return all;
}

Result<Checks> choose_checks(const std::optional<std::string>& only,
                             const std::optional<std::string>& skip) {
    auto wanted = only ? read_names("--only", *only) : Result<Names>(all_names());
    if (!wanted) return wanted.error();
    auto unwanted = skip ? read_names("--skip", *skip) : Result<Names>(Names());
    if (!unwanted) return unwanted.error();
    Checks chosen;
    const auto all = all_checks();
    std::copy_if(all.begin(), all.end(), std::back_inserter(chosen), [&](const NamedCheck* check) {
        return holds(*wanted, check->name) && !holds(*unwanted, check->name);
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
