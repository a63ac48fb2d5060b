#include "facts/slow_rates.h"

#include "analysis/statistics.h"
#include "base/format.h"

#include <array>

namespace distgpu::scaling {
namespace {

constexpr double low = 0.85;  // beside the median

std::string bytes_per_second(double rate) {
    return rate < 1e12 ? formatted("{:.1f} GB/s", rate / 1e9)
                       : formatted("{:.1f} TB/s", rate / 1e12);
}

// As links are called.
std::string bits_per_second(double rate) {
    return formatted("{:.0f} Gb/s", 8 * rate / 1e9);
}

struct Row {
    std::optional<double> Rates::*rate;
    std::string RankFacts::*owner;
    const char* what;
    std::string (*text)(double rate);
};
constexpr std::array rows{
    Row{&Rates::memory, &RankFacts::gpu, "copies within its memory", bytes_per_second},
    Row{&Rates::to_gpu, &RankFacts::gpu, "copies from the host's memory", bytes_per_second},
    Row{&Rates::from_gpu, &RankFacts::gpu, "copies to the host's memory", bytes_per_second},
    Row{&Rates::port, &RankFacts::port, "its link", bits_per_second},
};

}  // namespace

void add_slow_rates(std::vector<RankFacts>& ranks) {
    for (const auto& [rate, owner, what, text] : rows) {
        std::vector<double> all;
        for (const RankFacts& rank : ranks) {
            if (rank.rates.*rate) all.push_back(*(rank.rates.*rate));
        }
        if (all.empty()) continue;
        const double middle = median(std::move(all));
        for (RankFacts& rank : ranks) {
            const auto& own = rank.rates.*rate;
            if (!own || *own >= low * middle) continue;
            rank.unusual.push_back(formatted("{}: {} at {:.0f}% of the median of all ranks, {}",
                                             rank.*owner, what, 100 * *own / middle, text(*own)));
        }
    }
}

}  // namespace distgpu::scaling
