#include "node/verbose_rows.h"

#include "base/format.h"
#include "base/values.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace distgpu {
namespace {

// A row begins with its lowest rank; the last line, about the rendezvous, has none.
std::uint32_t first_rank(std::string_view row) {
    row.remove_prefix(std::min(row.size(), row.find(' ')));
    row.remove_prefix(std::min(row.size(), row.find_first_not_of(' ')));
    const std::size_t digits = std::min(row.size(), row.find_first_not_of("0123456789"));
    return whole_number(row.substr(0, digits)).value_or(std::numeric_limits<std::uint32_t>::max());
}

}  // namespace

bool VerboseRows::add(std::vector<std::string> rows, Clock::time_point now) {
    if (nodes_ == 0 || rows.size() > max_rows_) return false;
    constexpr std::chrono::seconds patience{5};
    due_ = --nodes_ == 0 ? now : now + patience;
    std::move(rows.begin(), rows.end(), std::back_inserter(rows_));
    return true;
}

std::string VerboseRows::finish() {
    nodes_ = 0;
    due_ = Deadline::max();
    std::ranges::stable_sort(rows_, {}, first_rank);
    std::string text;
    for (const std::string& row : std::exchange(rows_, {})) text += row + '\n';
    return text;
}

NodeMessage message_of_rows(std::string_view rows) {
    NodeMessage message{rows_message, {}};
    while (!rows.empty()) message.lines.emplace_back(cut_until(rows, '\n'));
    return message;
}

}  // namespace distgpu
