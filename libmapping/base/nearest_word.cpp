// Optimal string alignment distance: Levenshtein's with swaps of neighbours,
// the commonest typing error ("pytorhc").
#include "base/nearest_word.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace distgpu {
namespace {

std::size_t edits(std::string_view a, std::string_view b) {
    // rows[i][j]: edits between the first i letters of a and the first j of b.
    std::vector<std::vector<std::size_t>> rows(a.size() + 1,
                                               std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                rows[i][j] = i + j;
                continue;
            }
            const std::size_t replace = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            rows[i][j] = std::min({replace, rows[i - 1][j] + 1, rows[i][j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
            }
        }
    }
    return rows[a.size()][b.size()];
}

}  // namespace

std::optional<std::string_view> nearest_word(std::string_view word,
                                             std::span<const std::string_view> candidates) {
    constexpr std::size_t longest_word = 32;  // the table grows with the product of lengths
    if (word.size() > longest_word) return std::nullopt;
    std::optional<std::string_view> nearest;
    std::size_t fewest =
        word.size() >= 5 ? std::max<std::size_t>(2, word.size() / 3) : word.size() / 3;
    for (const std::string_view candidate : candidates) {
        const std::size_t distance = edits(word, candidate);
        if (distance < fewest || (distance == fewest && !nearest)) {
            fewest = distance;
            nearest = candidate;
        }
    }
    return nearest;
}

}  // namespace distgpu
