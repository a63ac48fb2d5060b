#include "report/read_gpus.h"

#include "base/format.h"
#include "base/io/clock.h"
#include "base/json_fields.h"
#include "base/values.h"
#include "inspect/process_facts.h"
#include "inspect/rank_gpus.h"
#include "mapping/texts/variables.h"
#include "node/host_helper.h"
#include "node/nvml.h"
#include "output.h"
#include "report/gpu_reading.h"

#include <algorithm>
#include <ctime>
#include <iostream>
#include <map>

namespace distgpu {
namespace {

double own_cpu_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// The number in a file of sysfs; nullopt if it is missing or has none.
std::optional<std::uint64_t> number_in(const std::string& file) {
    const auto text = read_trimmed(file);
    return text ? whole_number_64(*text) : std::nullopt;
}

// The files of the driver amdgpu (Linux's Documentation/gpu/amdgpu) and of PCI.
GpuReading read_by_sysfs(const std::string& pci, const std::string& folder) {
    GpuReading reading{.pci = pci};
    if (const auto busy = number_in(folder + "/gpu_busy_percent")) {
        reading.source = "amdgpu";
        reading.times = {seconds_since_1970()};
        reading.busy = {static_cast<std::uint32_t>(std::min<std::uint64_t>(*busy, 100))};
    }
    reading.memory_total = number_in(folder + "/mem_info_vram_total").value_or(0);
    reading.memory_used = number_in(folder + "/mem_info_vram_used").value_or(0);
    for (const std::string& sensor : files_in(folder + "/hwmon")) {
        const auto microwatts = number_in(formatted("{}/hwmon/{}/power1_average", folder, sensor));
        constexpr double micro = 1e-6;
        if (microwatts) reading.watts = micro * static_cast<double>(*microwatts);
    }
    const auto lanes = [&](const char* file) {
        return static_cast<std::uint32_t>(number_in(folder + file).value_or(0));
    };
    reading.pcie_width = lanes("/current_link_width");
    reading.pcie_width_max = lanes("/max_link_width");
    return reading;
}

class GpuLoop {
  public:
    GpuLoop(const std::string& library, std::string devices)
        : nvml_(library), devices_(std::move(devices)) {}

    GpuReadings answer(std::string_view line) {
        GpuReadings readings;
        std::vector<std::string> gpus;
        for (const std::string_view word : words_in(line)) {
            const auto pid = whole_number(word);
            if (!pid) continue;
            readings.processes.push_back({*pid, gpus_of(*pid)});
            for (const std::string& pci : readings.processes.back().gpus) {
                if (std::ranges::find(gpus, pci) == gpus.end()) gpus.push_back(pci);
            }
        }
        for (const std::string& pci : gpus) readings.gpus.push_back(read(pci));
        for (const GpuXid& xid : nvml_.new_xids(gpus)) {
            const auto gpu = std::ranges::find(readings.gpus, xid.pci, &GpuReading::pci);
            if (gpu != readings.gpus.end()) gpu->xids.push_back(xid.number);
        }
        readings.cpu_seconds = own_cpu_seconds();
        return readings;
    }

  private:
    // A process's variables do not change, and to find GPUs takes long.
    const std::vector<std::string>& gpus_of(std::uint32_t pid) {
        constexpr std::size_t most = 4096;  // a launcher may start ranks again and again
        if (known_.size() == most) known_.clear();
        const auto [found, is_new] = known_.try_emplace(pid);
        if (!is_new) return found->second;
        const auto variables =
            read_environment(static_cast<pid_t>(pid)).value_or(EnvironmentCopy());
        const BoundRecord bound = read_bound_record(variables.text(bound_variable));
        for (const GpuFacts& gpu : gpus_.find(variables, bound)) {
            if (!gpu.pci.empty()) found->second.push_back(gpu.pci);
        }
        return found->second;
    }

    GpuReading read(const std::string& pci) {
        constexpr double million = 1e6;
        constexpr double thousand = 1e3;
        const auto state = nvml_.state(pci, last_[pci]);
        if (!state) return read_by_sysfs(pci, devices_ + "/" + pci);
        GpuReading reading{.pci = pci,
                           .uuid = state->uuid,
                           .model = state->model,
                           .source = "NVML",
                           .reasons = state->slow_clocks,
                           .pcie_width = state->pcie_width,
                           .pcie_width_max = state->pcie_width_max,
                           .is_lost = state->is_lost};
        for (const GpuBusy& sample : state->busy) {
            reading.times.push_back(static_cast<double>(sample.time) / million);
            reading.busy.push_back(sample.percent);
            last_[pci] = std::max(last_[pci], sample.time);
        }
        if (state->memory) {
            reading.memory_total = state->memory->total;
            reading.memory_used = state->memory->total - state->memory->free;
        }
        if (state->millijoules) {
            reading.joules = static_cast<double>(*state->millijoules) / thousand;
        }
        return reading;
    }

    Nvml nvml_;
    std::string devices_;
    NodeGpus gpus_;
    std::map<std::uint32_t, std::vector<std::string>> known_;  // GPUs of a process
    std::map<std::string, std::uint64_t> last_;                // time of a GPU's last sample
};

}  // namespace

ExitCode read_gpus(const std::string& library, const std::string& devices) {
    handle_step_signals([](int) {});  // this process ends with the sampler
    GpuLoop loop(library, devices);
    for (std::string line; std::getline(std::cin, line);) {
        if (!print(fields_json(loop.answer(line)).line() + '\n')) return ExitCode::environment;
    }
    return ExitCode::done;
}

}  // namespace distgpu
