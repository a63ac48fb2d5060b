#include "node/discovery/nvml.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace distgpu::discovery {
namespace {

using Text = nvml::Status(nvml::Device, char* text, unsigned size);

std::string text_of(nvml::Device device, Text* get) {
    std::array<char, 128> buffer{};  // NVML's own bound is 96
    return get(device, buffer.data(), buffer.size() - 1) == nvml::success ? buffer.data() : "";
}

// Of "NVIDIA H100 80GB HBM3 MIG 1g.10gb" and of "MIG 1g.10gb" the last word.
std::string profile_of(std::string_view name) {
    constexpr std::string_view mark = "MIG ";
    const std::size_t at = name.rfind(mark);
    return at == std::string_view::npos ? "" : std::string(name.substr(at + mark.size()));
}

}  // namespace

Nvml::Nvml(const std::string& library) {
    const auto loaded = nvml::load<nvml::Devices>(library);
    if (!loaded || loaded->init() != nvml::success) return;
    library_ = {new nvml::Devices(*loaded), [](const nvml::Devices* used) {
                    used->shutdown();
                    delete used;
                }};
}

std::vector<MigInstance> Nvml::mig_instances(const std::string& pci) const {
    nvml::Device gpu = nullptr;
    unsigned count = 0;
    if (!library_ || library_->by_pci(pci.c_str(), &gpu) != nvml::success ||
        library_->max_mig(gpu, &count) != nvml::success) {
        return {};
    }
    std::vector<MigInstance> instances;
    for (unsigned i = 0; i < count; ++i) {
        nvml::Device instance = nullptr;
        if (library_->mig_by_index(gpu, i, &instance) != nvml::success) continue;  // a free place
        std::string uuid = text_of(instance, library_->uuid);
        if (uuid.empty()) continue;
        instances.push_back({std::move(uuid), profile_of(text_of(instance, library_->name))});
    }
    return instances;
}

std::optional<GpuMemory> Nvml::memory(const std::string& pci) const {
    nvml::Device gpu = nullptr;
    nvml::Memory memory{};
    if (!library_ || library_->by_pci(pci.c_str(), &gpu) != nvml::success ||
        library_->memory(gpu, &memory) != nvml::success) {
        return std::nullopt;
    }
    return GpuMemory{memory.total, std::min(memory.free, memory.total)};
}

std::optional<std::uint32_t> Nvml::busy(const std::string& pci) const {
    constexpr unsigned all = 100;
    nvml::Device gpu = nullptr;
    nvml::Utilization percent{};
    if (!library_ || library_->by_pci(pci.c_str(), &gpu) != nvml::success ||
        library_->utilization(gpu, &percent) != nvml::success) {
        return std::nullopt;
    }
    return std::min(percent.gpu, all);
}

}  // namespace distgpu::discovery
