// The nccl back end: NCCL's collectives on GPU memory, one GPU for each rank.
#include "analysis/collectives.h"
#include "backend/backend.h"
#include "backend/gpu.h"
#include "base/format.h"
#include "base/io/files.h"
#include "base/io/shared_library.h"

#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu::scaling {
namespace {

// Limits the collectives in flight in a timed loop; a stream can queue about a thousand.
constexpr std::size_t events = 64;

std::string hexadecimal(const nccl::UniqueId& id) {
    std::string text;
    text.reserve(2 * id.bytes.size());
    for (const char byte : id.bytes) {
        text += formatted("{:02x}", static_cast<unsigned char>(byte));
    }
    return text;
}

// Inverse of hexadecimal().
nccl::UniqueId unique_id(std::string_view text) {
    nccl::UniqueId id{};
    for (std::size_t i = 0; i < id.bytes.size() && 2 * i + 2 <= text.size(); ++i) {
        unsigned char byte = 0;
        std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, byte, 16);
        id.bytes[i] = static_cast<char>(byte);
    }
    return id;
}

// As in nvidia-smi: GPU-01234567-89ab-cdef-0123-456789abcdef.
std::string text_of(const cuda::Uuid& uuid) {
    std::string text = "GPU";
    for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
        const bool starts_part = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        text += formatted("{}{:02x}", starts_part ? "-" : "", uuid.bytes[i]);
    }
    return text;
}

// "580.65.06", which libcuda does not report. Empty if the kernel module is not visible here.
std::string driver_version() {
    return read_trimmed("/sys/module/nvidia/version").value_or("");
}

// Errors (object: libcuda.so.1): not found; too old, with the missing functions.
Result<cuda::Driver> load_driver() {
    // The driver's own library, not the toolkit's stub libcuda.so, which cannot do anything.
    constexpr const char* file = "libcuda.so.1";
    auto library = SharedLibrary::load(
        file, "run on a node with NVIDIA's driver, or measure host memory with --backend mpi");
    if (!library) return library.error();
    cuda::Driver driver{};
    library->resolve(driver.init, "cuInit");
    library->resolve(driver.driver_version, "cuDriverGetVersion");
    library->resolve(driver.error_string, "cuGetErrorString");
    library->resolve(driver.device_count, "cuDeviceGetCount");
    library->resolve(driver.device_get, "cuDeviceGet");
    library->resolve(driver.device_name, "cuDeviceGetName");
    library->resolve(driver.device_uuid, "cuDeviceGetUuid");
    library->resolve(driver.device_attribute, "cuDeviceGetAttribute");
    library->resolve(driver.retain_primary_context, "cuDevicePrimaryCtxRetain");
    library->resolve(driver.set_current_context, "cuCtxSetCurrent");
    library->resolve(driver.create_stream, "cuStreamCreate");
    library->resolve(driver.query_stream, "cuStreamQuery");
    library->resolve(driver.synchronize_stream, "cuStreamSynchronize");
    library->resolve(driver.allocate, "cuMemAlloc_v2");
    library->resolve(driver.copy_to_device, "cuMemcpyHtoDAsync_v2");
    library->resolve(driver.copy_within, "cuMemcpyDtoDAsync_v2");
    library->resolve(driver.copy_to_host, "cuMemcpyDtoH_v2");
    library->resolve(driver.create_event, "cuEventCreate");
    library->resolve(driver.record_event, "cuEventRecord");
    library->resolve(driver.query_event, "cuEventQuery");
    library->resolve(driver.elapsed, "cuEventElapsedTime");
    if (library->missing().empty()) return driver;
    return Error{file, "has no " + library->missing(), "install a newer driver"};
}

// Errors (object: libnccl.so.2): not found; too old, with the missing functions.
Result<nccl::Library> load_nccl() {
    auto shared = SharedLibrary::load(
        "libnccl.so.2", "install NCCL 2.18 or newer, or name its folder in LD_LIBRARY_PATH");
    if (!shared) return shared.error();
    nccl::Library library{};
    library.path = shared->path();
    shared->resolve(library.get_version, "ncclGetVersion");
    shared->resolve(library.error_string, "ncclGetErrorString");
    shared->resolve(library.last_error, "ncclGetLastError");
    shared->resolve(library.get_unique_id, "ncclGetUniqueId");
    shared->resolve(library.init_rank, "ncclCommInitRank");
    shared->resolve(library.split, "ncclCommSplit");
    shared->resolve(library.destroy, "ncclCommDestroy");
    shared->resolve(library.async_error, "ncclCommGetAsyncError");
    shared->resolve(library.all_reduce, "ncclAllReduce");
    shared->resolve(library.broadcast, "ncclBroadcast");
    shared->resolve(library.all_gather, "ncclAllGather");
    shared->resolve(library.reduce_scatter, "ncclReduceScatter");
    shared->resolve_optional(library.all_to_all, "ncclAlltoAll");
    shared->resolve(library.send, "ncclSend");
    shared->resolve(library.receive, "ncclRecv");
    shared->resolve(library.group_start, "ncclGroupStart");
    shared->resolve(library.group_end, "ncclGroupEnd");
    int version = 0;
    if (library.get_version != nullptr && library.get_version(&version) == nccl::success) {
        library.version = nccl::version_text(version);
    }
    if (shared->missing().empty()) return library;
    return Error{formatted("{} ({})", library.path, library.version), "has no " + shared->missing(),
                 "install NCCL 2.18 or newer"};
}

class NcclBackend final : public Backend {
  public:
    explicit NcclBackend(Gpu gpu) : gpu_(std::move(gpu)) {}

    Result<Description> start(const Member& member) override {
        member_ = member;
        auto device = select_device();
        if (!device) return device.error();
        auto token = gpu_.allocate(sizeof(float));
        if (!token) return token.error();
        token_ = *token;
        return describe(*device);
    }

    std::optional<Error> connect(const Broadcast& broadcast) override {
        nccl::UniqueId id{};
        if (member_.rank == 0) {
            const auto status = gpu_.nccl.get_unique_id(&id);
            if (auto error = gpu_.error_of_nccl(status, "ncclGetUniqueId", nullptr)) return error;
        }
        const std::string shared = broadcast(hexadecimal(id));
        const auto status = gpu_.nccl.init_rank(&world_, static_cast<int>(member_.world_size),
                                                unique_id(shared), static_cast<int>(member_.rank));
        if (auto error = gpu_.error_of_nccl(status, "ncclCommInitRank", nullptr)) return error;
        world_communicator_.emplace(gpu_, world_, GroupRank{member_.rank, member_.world_size},
                                    token_);
        return std::nullopt;
    }

    Result<std::unique_ptr<Communicator>> split(std::optional<std::uint32_t> colour,
                                                GroupRank self) override {
        nccl::Communicator made = nullptr;
        const int key = colour ? static_cast<int>(*colour) : nccl::no_colour;
        const auto status =
            gpu_.nccl.split(world_, key, static_cast<int>(self.rank), &made, nullptr);
        if (auto error = gpu_.error_of_nccl(status, "ncclCommSplit", world_)) return *error;
        if (made == nullptr) return std::unique_ptr<Communicator>();
        return std::unique_ptr<Communicator>(
            std::make_unique<NcclCommunicator>(gpu_, made, self, token_));
    }

    std::optional<Error> barrier() override { return world_communicator_->barrier(); }

    // Sends and receives cannot share a buffer.
    bool supports(const Operation& operation) const override {
        const Collective collective = operation.collective;
        return !operation.in_place || info_of(collective).is_reduction ||
               collective == Collective::all_gather || collective == Collective::broadcast;
    }

    Result<std::byte*> allocate(std::size_t bytes) override { return gpu_.allocate(bytes); }

    // Uses the stream of the collectives: a plain copy may return before it is done, and other
    // streams do not wait for it.
    std::optional<Error> upload(std::byte* to, std::span<const std::byte> from) override {
        return finish_copy(
            gpu_.cuda.copy_to_device(address_of(to), from.data(), from.size(), gpu_.stream),
            "cuMemcpyHtoDAsync");
    }

    std::optional<Error> download(std::span<std::byte> to, const std::byte* from) override {
        const auto status = gpu_.cuda.copy_to_host(to.data(), address_of(from), to.size());
        return gpu_.error_of(status, "cuMemcpyDtoH");
    }

    std::optional<Error> copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
        return finish_copy(
            gpu_.cuda.copy_within(address_of(to), address_of(from), bytes, gpu_.stream),
            "cuMemcpyDtoDAsync");
    }

    // The memory is freed at the end of the process.
    std::optional<Error> finish() override {
        return gpu_.error_of_nccl(gpu_.nccl.destroy(world_), "ncclCommDestroy", nullptr);
    }

  private:
    static cuda::Address address_of(const std::byte* pointer) {
        return reinterpret_cast<cuda::Address>(pointer);
    }

    std::optional<Error> finish_copy(cuda::Status started, const char* function) const {
        if (auto error = gpu_.error_of(started, function)) return error;
        return gpu_.error_of(gpu_.cuda.synchronize_stream(gpu_.stream), "cuStreamSynchronize");
    }

    // Selects the GPU with the number of the local rank, or the only one that the task sees.
    Result<cuda::Device> select_device() {
        int count = 0;
        cuda::Device device = 0;
        cuda::Context context = nullptr;
        if (auto error = gpu_.error_of(gpu_.cuda.init(0), "cuInit")) return *error;
        if (auto error = gpu_.error_of(gpu_.cuda.device_count(&count), "cuDeviceGetCount")) {
            return *error;
        }
        const int index = count == 1 ? 0 : static_cast<int>(member_.local_rank);
        if (index >= count) {
            return Error{formatted("local rank {}", index), formatted("sees {} GPUs", count),
                         "start one task per GPU"};
        }
        const auto& cuda = gpu_.cuda;
        auto error = gpu_.error_of(cuda.device_get(&device, index), "cuDeviceGet");
        if (!error) {
            error = gpu_.error_of(cuda.retain_primary_context(&context, device),
                                  "cuDevicePrimaryCtxRetain");
        }
        if (!error) error = gpu_.error_of(cuda.set_current_context(context), "cuCtxSetCurrent");
        if (!error) {
            error = gpu_.error_of(cuda.create_stream(&gpu_.stream, cuda::non_blocking),
                                  "cuStreamCreate");
        }
        gpu_.events.resize(events);
        for (cuda::Event& event : gpu_.events) {
            if (!error) error = gpu_.error_of(cuda.create_event(&event, 0), "cuEventCreate");
        }
        if (error) return *error;
        return device;
    }

    Description describe(cuda::Device device) const {
        std::array<char, 256> name{};
        cuda::Uuid uuid{};
        int version = 0;
        int kilohertz = 0;
        gpu_.cuda.device_name(name.data(), static_cast<int>(name.size()), device);
        gpu_.cuda.device_uuid(&uuid, device);
        gpu_.cuda.device_attribute(&kilohertz, cuda::clock_rate, device);
        gpu_.cuda.driver_version(&version);
        Fingerprint fingerprint{
            {"library", gpu_.nccl.path},
            {"NCCL", gpu_.nccl.version},
            {"driver", driver_version()},
            {"CUDA driver API", formatted("{}.{}", version / 1000, version % 1000 / 10)},
            {"GPU", name.data()},
            {"GPU clock", formatted("{} MHz", kilohertz / 1000)}};
        return {std::move(fingerprint), formatted("{} {}", name.data(), text_of(uuid))};
    }

    Gpu gpu_;
    Member member_;
    nccl::Communicator world_ = nullptr;
    std::optional<NcclCommunicator> world_communicator_;
    std::byte* token_ = nullptr;
};

}  // namespace

// Loads the driver first, because NCCL needs it.
Result<std::unique_ptr<Backend>> load_nccl_backend() {
    auto driver = load_driver();
    if (!driver) return driver.error();
    auto library = load_nccl();
    if (!library) return library.error();
    return std::unique_ptr<Backend>(
        std::make_unique<NcclBackend>(Gpu{*driver, *std::move(library)}));
}

}  // namespace distgpu::scaling
