// See nvml.h. The prototypes are those of nvml.h of CUDA 11 and later, whose ABI is stable.
#include "node/discovery/nvml.h"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <string_view>

namespace distgpu::discovery {
namespace {

using Device = void*;
using Status = int;  // 0: success

struct Close {
    void operator()(void* handle) const { dlclose(handle); }
};

template <class Function>
void look_up(void* handle, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(handle, name));
}

// Of "NVIDIA H100 80GB HBM3 MIG 1g.10gb" and of "MIG 1g.10gb" the last word.
std::string profile_of(std::string_view name) {
    constexpr std::string_view mark = "MIG ";
    const std::size_t at = name.rfind(mark);
    return at == std::string_view::npos ? "" : std::string(name.substr(at + mark.size()));
}

}  // namespace

struct Nvml::Library {
    explicit Library(const std::string& path) : handle(dlopen(path.c_str(), RTLD_LAZY)) {
        if (!handle) return;
        look_up(handle.get(), "nvmlInit_v2", init);
        look_up(handle.get(), "nvmlShutdown", shutdown);
        look_up(handle.get(), "nvmlDeviceGetHandleByPciBusId_v2", by_pci);
        look_up(handle.get(), "nvmlDeviceGetMaxMigDeviceCount", max_mig);
        look_up(handle.get(), "nvmlDeviceGetMigDeviceHandleByIndex", mig_by_index);
        look_up(handle.get(), "nvmlDeviceGetUUID", uuid);
        look_up(handle.get(), "nvmlDeviceGetName", name);
        look_up(handle.get(), "nvmlDeviceGetMemoryInfo", memory);
        look_up(handle.get(), "nvmlDeviceGetUtilizationRates", rates);
        const bool complete = init != nullptr && shutdown != nullptr && by_pci != nullptr &&
                              max_mig != nullptr && mig_by_index != nullptr && uuid != nullptr &&
                              name != nullptr && memory != nullptr && rates != nullptr;
        usable = complete && init() == 0;
    }
    ~Library() {
        if (usable) shutdown();
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    Library(Library&&) = delete;
    Library& operator=(Library&&) = delete;

    // nvmlMemory_t.
    struct Memory {
        unsigned long long total;
        unsigned long long free;
        unsigned long long used;
    };
    // nvmlUtilization_t, in percent.
    struct Rates {
        unsigned gpu;
        unsigned memory;
    };
    using Text = Status(Device, char* text, unsigned size);
    static std::string text(Text* get, Device device) {
        std::array<char, 128> buffer{};  // NVML's own bound is 96
        return get(device, buffer.data(), buffer.size() - 1) == 0 ? buffer.data() : "";
    }

    std::unique_ptr<void, Close> handle;
    Status (*init)() = nullptr;
    Status (*shutdown)() = nullptr;
    Status (*by_pci)(const char* address, Device* device) = nullptr;
    Status (*max_mig)(Device, unsigned* count) = nullptr;
    Status (*mig_by_index)(Device, unsigned index, Device* instance) = nullptr;
    Status (*memory)(Device, Memory*) = nullptr;
    Status (*rates)(Device, Rates*) = nullptr;
    Text* uuid = nullptr;
    Text* name = nullptr;
    bool usable = false;
};

Nvml::Nvml(const std::string& library) : library_(std::make_shared<Library>(library)) {}

std::vector<MigInstance> Nvml::mig_instances(const std::string& pci) const {
    Device gpu = nullptr;
    unsigned count = 0;
    if (!library_->usable || library_->by_pci(pci.c_str(), &gpu) != 0 ||
        library_->max_mig(gpu, &count) != 0) {
        return {};
    }
    std::vector<MigInstance> instances;
    for (unsigned i = 0; i < count; ++i) {
        Device instance = nullptr;
        if (library_->mig_by_index(gpu, i, &instance) != 0) continue;  // a free place
        std::string uuid = Library::text(library_->uuid, instance);
        if (uuid.empty()) continue;
        instances.push_back({std::move(uuid), profile_of(Library::text(library_->name, instance))});
    }
    return instances;
}

std::optional<GpuMemory> Nvml::memory(const std::string& pci) const {
    Device gpu = nullptr;
    Library::Memory memory{};
    if (!library_->usable || library_->by_pci(pci.c_str(), &gpu) != 0 ||
        library_->memory(gpu, &memory) != 0) {
        return std::nullopt;
    }
    return GpuMemory{memory.total, std::min(memory.free, memory.total)};
}

std::optional<std::uint32_t> Nvml::busy(const std::string& pci) const {
    constexpr unsigned all = 100;
    Device gpu = nullptr;
    Library::Rates rates{};
    if (!library_->usable || library_->by_pci(pci.c_str(), &gpu) != 0 ||
        library_->rates(gpu, &rates) != 0) {
        return std::nullopt;
    }
    return std::min(rates.gpu, all);
}

}  // namespace distgpu::discovery
