// Declares NVML's functions itself, because programs are built without its header and run without
// its library. Values and signatures: NVML API Reference Guide, nvml.h 12.9, which calls the _v2
// functions by their plain names.
#include "node/nvml.h"

#include "base/io/shared_library.h"

#include <algorithm>
#include <array>

namespace distgpu {
namespace {

using Status = int;  // nvmlReturn_t
using Device = void*;

constexpr Status success = 0;

// nvmlMemory_t
struct Memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

// nvmlUtilization_t, in percent
struct Utilization {
    unsigned gpu;
    unsigned memory;
};

// nvmlGpuFabricInfo_t
struct Fabric {
    std::array<unsigned char, 16> uuid;  // of the nodes that NVLink connects; zeros within a node
    Status status;
    unsigned clique;
    unsigned char state;
};
constexpr unsigned char fabric_completed = 3;  // NVML_GPU_FABRIC_STATE_COMPLETED

using GetText = Status(Device, char* text, unsigned size);

std::string text_of(Device device, GetText* get) {
    std::array<char, 128> buffer{};  // NVML's maximum is 96
    return get(device, buffer.data(), buffer.size() - 1) == success ? buffer.data() : "";
}

// The last word of "NVIDIA H100 80GB HBM3 MIG 1g.10gb" or "MIG 1g.10gb".
std::string profile_of(std::string_view name) {
    constexpr std::string_view mark = "MIG ";
    const std::size_t at = name.rfind(mark);
    return at == std::string_view::npos ? "" : std::string(name.substr(at + mark.size()));
}

}  // namespace

struct Nvml::Library {
    Status (*init)();
    Status (*shutdown)();
    Status (*by_pci)(const char* address, Device* device);
    Status (*max_mig)(Device device, unsigned* count);
    Status (*mig_by_index)(Device device, unsigned index, Device* instance);
    GetText* uuid;
    GetText* name;
    Status (*memory)(Device device, Memory* memory);
    Status (*utilization)(Device device, Utilization* percent);
    Status (*fabric)(Device device, Fabric* fabric);  // null in drivers before 525
};

Nvml::Nvml(const std::string& library) {
    auto loaded = SharedLibrary::load(library.c_str(), "");
    if (!loaded) return;
    Library found{};
    loaded->resolve(found.init, "nvmlInit_v2");
    loaded->resolve(found.shutdown, "nvmlShutdown");
    loaded->resolve(found.by_pci, "nvmlDeviceGetHandleByPciBusId_v2");
    loaded->resolve(found.max_mig, "nvmlDeviceGetMaxMigDeviceCount");
    loaded->resolve(found.mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex");
    loaded->resolve(found.uuid, "nvmlDeviceGetUUID");
    loaded->resolve(found.name, "nvmlDeviceGetName");
    loaded->resolve(found.memory, "nvmlDeviceGetMemoryInfo");
    loaded->resolve(found.utilization, "nvmlDeviceGetUtilizationRates");
    loaded->resolve_optional(found.fabric, "nvmlDeviceGetGpuFabricInfo");
    if (!loaded->missing().empty() || found.init() != success) return;
    library_ = {new Library(found), [](const Library* used) {
                    used->shutdown();
                    delete used;
                }};
}

std::vector<MigInstance> Nvml::mig_instances(const std::string& pci) const {
    Device gpu = nullptr;
    unsigned count = 0;
    if (!library_ || library_->by_pci(pci.c_str(), &gpu) != success ||
        library_->max_mig(gpu, &count) != success) {
        return {};
    }
    std::vector<MigInstance> instances;
    for (unsigned i = 0; i < count; ++i) {
        Device instance = nullptr;
        if (library_->mig_by_index(gpu, i, &instance) != success) continue;  // a free slot
        std::string uuid = text_of(instance, library_->uuid);
        if (uuid.empty()) continue;
        instances.push_back({std::move(uuid), profile_of(text_of(instance, library_->name))});
    }
    return instances;
}

std::optional<GpuMemory> Nvml::memory(const std::string& pci) const {
    Device gpu = nullptr;
    Memory memory{};
    if (!library_ || library_->by_pci(pci.c_str(), &gpu) != success ||
        library_->memory(gpu, &memory) != success) {
        return std::nullopt;
    }
    return GpuMemory{memory.total, std::min(memory.free, memory.total)};
}

std::optional<std::uint32_t> Nvml::utilization(const std::string& pci) const {
    Device gpu = nullptr;
    Utilization percent{};
    if (!library_ || library_->by_pci(pci.c_str(), &gpu) != success ||
        library_->utilization(gpu, &percent) != success) {
        return std::nullopt;
    }
    return std::min(percent.gpu, 100U);
}

bool Nvml::is_linked_to_other_nodes(const std::string& pci) const {
    Device gpu = nullptr;
    Fabric fabric{};
    if (!library_ || library_->fabric == nullptr ||
        library_->by_pci(pci.c_str(), &gpu) != success ||
        library_->fabric(gpu, &fabric) != success) {
        return false;
    }
    return fabric.state == fabric_completed &&
           std::ranges::any_of(fabric.uuid, [](unsigned char byte) { return byte != 0; });
}

}  // namespace distgpu
