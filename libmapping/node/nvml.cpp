// Declares NVML's functions itself, because programs are built without its header and run without
// its library. Values and signatures: NVML API Reference Guide, nvml.h 12.9, which calls the _v2
// functions by their plain names.
#include "node/nvml.h"

#include "base/io/shared_library.h"

#include <algorithm>
#include <array>
#include <chrono>

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

constexpr Status not_found = 6;     // NVML_ERROR_NOT_FOUND
constexpr Status gpu_is_lost = 15;  // NVML_ERROR_GPU_IS_LOST

// nvmlSample_t, of which the value is a union of up to eight bytes
struct Sample {
    unsigned long long time;  // microseconds since 1970
    unsigned value;
    unsigned unused;
};
constexpr int utilization_samples = 1;  // NVML_GPU_UTILIZATION_SAMPLES

// nvmlEventData_t
struct Event {
    Device device;
    unsigned long long type;
    unsigned long long data;  // an Xid's number
    unsigned instance;
    unsigned compute_instance;
};
constexpr unsigned long long xid_event = 8;  // nvmlEventTypeXidCriticalError

// nvmlClocksEventReasons of which a user can do something about, or should know
struct ClockReason {
    unsigned long long bit;
    const char* name;
};
constexpr std::array<ClockReason, 6> clock_reasons{{{0x4, "power cap"},
                                                    {0x8, "hardware slowdown"},
                                                    {0x10, "sync boost"},
                                                    {0x20, "software thermal"},
                                                    {0x40, "hardware thermal"},
                                                    {0x80, "power brake"}}};

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
    // Null in older drivers
    Status (*fabric)(Device device, Fabric* fabric);  // before 525
    Status (*samples)(Device device, int kind, unsigned long long since, int* type, unsigned* count,
                      Sample* samples);
    Status (*energy)(Device device, unsigned long long* millijoules);
    Status (*clocks)(Device device, unsigned long long* reasons);
    Status (*pcie_width)(Device device, unsigned* lanes);
    Status (*pcie_width_max)(Device device, unsigned* lanes);
    Status (*make_events)(void** set);
    Status (*record_events)(Device device, unsigned long long kinds, void* set);
    Status (*next_event)(void* set, Event* event, unsigned milliseconds);
    Status (*free_events)(void* set);

    std::vector<GpuBusy> busy_samples(Device gpu, std::uint64_t since) const;
};

// MIG instances and a few old GPUs have neither samples nor a utilization.
std::vector<GpuBusy> Nvml::Library::busy_samples(Device gpu, std::uint64_t since) const {
    std::array<Sample, 1024> buffer{};  // the driver keeps some hundred
    unsigned count = buffer.size();
    int type = 0;
    const Status status =
        samples == nullptr ? not_found
                           : samples(gpu, utilization_samples, since, &type, &count, buffer.data());
    std::vector<GpuBusy> busy;
    if (status == success) {
        for (unsigned i = 0; i < std::min<std::size_t>(count, buffer.size()); ++i) {
            busy.push_back({buffer[i].time, std::min(buffer[i].value, 100U)});
        }
    }
    // Without one since then the driver answers not_found.
    Utilization percent{};
    if (samples != nullptr && (status == success || status == not_found)) return busy;
    if (utilization(gpu, &percent) == success) {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        busy.push_back({static_cast<std::uint64_t>(
                            std::chrono::duration_cast<std::chrono::microseconds>(now).count()),
                        std::min(percent.gpu, 100U)});
    }
    return busy;
}

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
    loaded->resolve_optional(found.samples, "nvmlDeviceGetSamples");
    loaded->resolve_optional(found.energy, "nvmlDeviceGetTotalEnergyConsumption");
    loaded->resolve_optional(found.clocks, "nvmlDeviceGetCurrentClocksThrottleReasons");
    loaded->resolve_optional(found.pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
    loaded->resolve_optional(found.pcie_width_max, "nvmlDeviceGetMaxPcieLinkWidth");
    loaded->resolve_optional(found.make_events, "nvmlEventSetCreate");
    loaded->resolve_optional(found.record_events, "nvmlDeviceRegisterEvents");
    loaded->resolve_optional(found.next_event, "nvmlEventSetWait_v2");
    loaded->resolve_optional(found.free_events, "nvmlEventSetFree");
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

std::optional<GpuState> Nvml::state(const std::string& pci, std::uint64_t since) const {
    Device gpu = nullptr;
    const Status found = library_ ? library_->by_pci(pci.c_str(), &gpu) : not_found;
    if (found == gpu_is_lost) return GpuState{.is_lost = true};
    if (found != success) return std::nullopt;
    Memory memory{};
    const Status has_memory = library_->memory(gpu, &memory);
    if (has_memory == gpu_is_lost) return GpuState{.is_lost = true};
    GpuState state{.uuid = text_of(gpu, library_->uuid),
                   .model = text_of(gpu, library_->name),
                   .busy = library_->busy_samples(gpu, since)};
    if (has_memory == success) {
        state.memory = GpuMemory{memory.total, std::min(memory.free, memory.total)};
    }
    unsigned long long number = 0;
    const auto reads = [&](auto* call, auto& value) {
        return call != nullptr && call(gpu, &value) == success;
    };
    if (reads(library_->energy, number)) state.millijoules = number;
    if (reads(library_->clocks, number)) {
        for (const ClockReason& reason : clock_reasons) {
            if ((number & reason.bit) != 0) state.slow_clocks.emplace_back(reason.name);
        }
    }
    unsigned lanes = 0;
    if (reads(library_->pcie_width, lanes)) state.pcie_width = lanes;
    if (reads(library_->pcie_width_max, lanes)) state.pcie_width_max = lanes;
    return state;
}

std::vector<GpuXid> Nvml::new_xids(const std::vector<std::string>& gpus) {
    std::vector<GpuXid> xids;
    if (!library_ || library_->make_events == nullptr || library_->record_events == nullptr ||
        library_->next_event == nullptr || library_->free_events == nullptr) {
        return xids;
    }
    void* set = events_.get();
    if (set == nullptr && library_->make_events(&set) == success) {
        events_ = {set, [library = library_](void* used) { library->free_events(used); }};
    }
    if (set == nullptr) return xids;
    for (const std::string& pci : gpus) {
        Device gpu = nullptr;
        const bool is_recorded =
            std::ranges::any_of(recorded_, [&](const auto& each) { return each.second == pci; });
        if (!is_recorded && library_->by_pci(pci.c_str(), &gpu) == success &&
            library_->record_events(gpu, xid_event, set) == success) {
            recorded_.emplace_back(gpu, pci);
        }
    }
    Event event{};
    constexpr std::size_t most = 64;  // a GPU that fails may report without end
    while (xids.size() < most && library_->next_event(set, &event, 0) == success) {
        const auto gpu =
            std::ranges::find(recorded_, event.device, [](const auto& each) { return each.first; });
        if (event.type != xid_event || gpu == recorded_.end()) continue;
        xids.push_back({gpu->second, static_cast<std::uint32_t>(event.data)});
    }
    return xids;
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
