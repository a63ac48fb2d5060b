#include "inspect/gpu_load.h"

#include "base/format.h"
#include "base/io/run_command.h"
#include "base/values.h"
#include "node/discovery/nvml.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace distgpu {

GpuLoad::GpuLoad(std::vector<std::string> gpus, std::string command)
    : gpus_(std::move(gpus)), command_(std::move(command)) {}

std::vector<Busy> GpuLoad::ask() {
    constexpr std::chrono::seconds limit{2};
    if (gpus_.empty() || !answers_) return std::vector<Busy>(gpus_.size());
    // The step is not looked at there.
    const auto lines = run_command({command_, "why", "--gpus", join(gpus_, ","), "-"}, limit);
    answers_ = lines && !lines->empty();
    return parse_gpu_load(lines ? *lines : "", gpus_);
}

std::string gpu_load_lines(const std::string& gpus, const std::string& library) {
    const discovery::Nvml nvml(library);
    std::string lines;
    for (const std::string_view gpu : comma_items(gpus)) {
        const auto busy = nvml.busy(std::string(gpu));
        if (busy) lines += formatted("{} {}\n", gpu, *busy);
    }
    return lines;
}

std::vector<Busy> parse_gpu_load(std::string_view lines, const std::vector<std::string>& gpus) {
    constexpr std::size_t percents = 101;
    std::map<std::string_view, Busy> found;
    while (!lines.empty()) {
        const std::string_view line = lines.substr(0, lines.find('\n'));
        lines.remove_prefix(std::min(line.size() + 1, lines.size()));
        const std::size_t space = std::min(line.find(' '), line.size());
        const std::string_view number = line.substr(std::min(space + 1, line.size()));
        found[line.substr(0, space)] = number_below(number, percents);
    }
    std::vector<Busy> busy;
    busy.reserve(gpus.size());
    for (const std::string& gpu : gpus) busy.push_back(found[gpu]);
    return busy;
}

}  // namespace distgpu
