#include "report/timeline.h"

#include <algorithm>

namespace distgpu {

void Interval::add(double value) {
    sum += value;
    most = count == 0 ? value : std::max(most, value);
    ++count;
}

void Interval::add(const Interval& other) {
    if (other.count == 0) return;
    most = count == 0 ? other.most : std::max(most, other.most);
    sum += other.sum;
    count += other.count;
}

void fold(Intervals& series) {
    for (std::size_t i = 0; i < series.size(); ++i) {
        if (i % 2 == 1) {
            series[i / 2].add(series[i]);
        } else if (i > 0) {
            series[i / 2] = series[i];
        }
    }
    series.resize((series.size() + 1) / 2);
}

void add_to(Intervals& series, std::size_t index, double value) {
    if (series.size() <= index) series.resize(index + 1);
    series[index].add(value);
}

}  // namespace distgpu
