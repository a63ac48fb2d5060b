// The names that an option takes, and what they stand for: from a table whose rows have a `name`.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace distgpu::scaling {

template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
    std::vector<std::string> names;
    names.reserve(rows.size());
    for (const auto& row : rows) names.emplace_back(row.name);
    return names;
}

// Of those that are taken where none is named.
template <class Rows>
std::vector<std::string> default_names_of(const Rows& rows) {
    std::vector<std::string> names;
    for (const auto& row : rows) {
        if (row.by_default) names.emplace_back(row.name);
    }
    return names;
}

// The values of the rows with these names, in the rows' order.
template <class Rows, class Row, class Value>
std::vector<Value> chosen(const Rows& rows, Value Row::*value,
                          const std::vector<std::string>& names) {
    std::vector<Value> values;
    for (const Row& row : rows) {
        if (std::find(names.begin(), names.end(), row.name) != names.end()) {
            values.push_back(row.*value);
        }
    }
    return values;
}

}  // namespace distgpu::scaling
