// The nccl back end: NCCL's collectives on GPU memory, one GPU for each rank.
#include "analysis/bus_bandwidth.h"
#include "backend/backend.h"
#include "backend/copy_rates.h"
#include "backend/gpu.h"
#include "backend/gpu_check.h"
#include "backend/nccl_communicator.h"
#include "base/format.h"
#include "base/io/file_text.h"

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

// As many collectives are under way in a timed loop; a stream takes about a thousand.
constexpr std::size_t events = 64;

std::string hexadecimal(const nccl::UniqueId& id) {
    std::string text;
    text.reserve(2 * id.bytes.size());
    for (const char byte : id.bytes) {
        text += formatted("{:02x}", static_cast<unsigned char>(byte));
    }
    return text;
}

// Precondition: what hexadecimal() made.
nccl::UniqueId unique_id(std::string_view text) {
    nccl::UniqueId id{};
    for (std::size_t i = 0; i < id.bytes.size() && 2 * i + 2 <= text.size(); ++i) {
        unsigned char byte = 0;
        std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, byte, 16);
        id.bytes[i] = static_cast<char>(byte);
    }
    return id;
}

// As nvidia-smi writes it: GPU-01234567-89ab-cdef-0123-456789abcdef.
std::string text_of(const cuda::Uuid& uuid) {
    std::string text = "GPU";
    for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
        const bool starts_part = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        text += formatted("{}{:02x}", starts_part ? "-" : "", uuid.bytes[i]);
    }
    return text;
}

// "580.65.06", which libcuda does not tell. Empty: the kernel's module is not to be seen here.
std::string driver_version() {
    return read_trimmed("/sys/module/nvidia/version").value_or("");
}

class NcclBackend final : public Backend {
  public:
    explicit NcclBackend(Gpu gpu) : gpu_(std::move(gpu)) {}

    Result<Description> start(const Member& member) override {
        member_ = member;
        auto device = take_device();
        if (!device) return device.error();
        auto token = gpu_.allocate(sizeof(int));
        if (!token) return token.error();
        token_ = *token;
        auto check = check_on_gpu(gpu_);
        std::string why_not;
        if (!check) {
            const auto& [object, problem, remedy] = check.error();
            why_not = formatted("{}: {}", object, problem) + (remedy.empty() ? "" : "; " + remedy);
        }
        check_ = check ? *std::move(check) : check_on_host(gpu_);
        return describe(*device, std::move(why_not));
    }

    std::optional<Error> connect(const Broadcast& broadcast) override {
        nccl::UniqueId id{};
        if (member_.rank == 0) {
            const auto status = gpu_.nccl.get_unique_id(&id);
            if (auto error = gpu_.error_of_nccl(status, "ncclGetUniqueId", nullptr)) return error;
        }
        const auto shared = broadcast(hexadecimal(id));
        if (!shared) return shared.error();
        const auto status = gpu_.nccl.init_rank(&world_, static_cast<int>(member_.world_size),
                                                unique_id(*shared), static_cast<int>(member_.rank));
        if (auto error = gpu_.error_of_nccl(status, "ncclCommInitRank", nullptr)) return error;
        everyone_.emplace(gpu_, world_, Seat{member_.rank, member_.world_size}, token_);
        return std::nullopt;
    }

    Result<std::unique_ptr<Communicator>> split(std::optional<std::uint32_t> colour,
                                                Seat seat) override {
        nccl::Communicator made = nullptr;
        const int key = colour ? static_cast<int>(*colour) : nccl::no_colour;
        const auto status =
            gpu_.nccl.split(world_, key, static_cast<int>(seat.rank), &made, nullptr);
        if (auto error = gpu_.error_of_nccl(status, "ncclCommSplit", world_)) return *error;
        if (made == nullptr) return std::unique_ptr<Communicator>();
        auto group = std::make_unique<NcclCommunicator>(gpu_, made, seat, token_);
        for (const auto buffer : registered_) {
            if (auto error = group->register_buffer(buffer)) return *error;
        }
        return std::unique_ptr<Communicator>(std::move(group));
    }

    std::optional<Error> barrier() override { return everyone_->barrier(); }

    // Sends and receives cannot share a buffer.
    bool offers(const Subject& subject) const override {
        constexpr int with_fp8 = 22400;
        const bool is_fp8 = subject.type == DataType::f8e4m3 || subject.type == DataType::f8e5m2;
        if (is_fp8 && gpu_.nccl.version_code < with_fp8) return false;
        const Collective collective = subject.collective;
        return !subject.in_place || is_reduction(collective) ||
               collective == Collective::all_gather || collective == Collective::broadcast;
    }

    Result<std::byte*> allocate(std::size_t bytes) override {
        if (!gpu_.modes.registered) return gpu_.allocate(bytes);
        void* memory = nullptr;
        const auto status = gpu_.nccl.allocate(&memory, bytes);
        if (auto error = gpu_.error_of_nccl(status, "ncclMemAlloc", nullptr)) return *error;
        return registered_.emplace_back(static_cast<std::byte*>(memory), bytes).data();
    }

    std::optional<Error> fill(std::byte* to, std::size_t bytes, const Repeated& content) override {
        return check_->fill(to, bytes, content);
    }

    Result<std::optional<std::size_t>> first_difference(const std::byte* data, std::size_t bytes,
                                                        const Repeated& content) override {
        return check_->first_difference(data, bytes, content);
    }

    std::optional<Error> upload(std::byte* to, std::span<const std::byte> from) override {
        return gpu_.upload(to, from);
    }

    std::optional<Error> download(std::span<std::byte> to, const std::byte* from) override {
        return gpu_.download(to, from);
    }

    Result<Rates> copy_rates(std::span<std::byte> to, const std::byte* from) override {
        return scaling::copy_rates(gpu_, to, from);
    }

    // The memory goes with the process.
    std::optional<Error> finish() override {
        return gpu_.error_of_nccl(gpu_.nccl.destroy(world_), "ncclCommDestroy", nullptr);
    }

  private:
    // The GPU with the local rank's number; where each task sees only its own, that one.
    Result<cuda::Device> take_device() {
        int count = 0;
        cuda::Device device = 0;
        cuda::Context context = nullptr;
        if (auto error = gpu_.error_of(gpu_.cuda.init(0), "cuInit")) return *error;
        if (auto error = gpu_.error_of(gpu_.cuda.device_count(&count), "cuDeviceGetCount")) {
            return *error;
        }
        const int wanted = count == 1 ? 0 : static_cast<int>(member_.local_rank);
        if (wanted >= count) {
            return Error{formatted("local rank {}", wanted), formatted("sees {} GPUs", count),
                         "start one task per GPU"};
        }
        const auto& cuda = gpu_.cuda;
        auto error = gpu_.error_of(cuda.device_get(&device, wanted), "cuDeviceGet");
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

    Description describe(cuda::Device device, std::string host_checks) const {
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
        if (gpu_.modes.graph) fingerprint.push_back({"timed loop", "CUDA graph"});
        if (gpu_.modes.registered) fingerprint.push_back({"buffers", "registered"});
        return {std::move(fingerprint), formatted("{} {}", name.data(), text_of(uuid)),
                std::move(host_checks)};
    }

    Gpu gpu_;
    Member member_;
    nccl::Communicator world_ = nullptr;
    std::optional<NcclCommunicator> everyone_;
    std::byte* token_ = nullptr;
    std::vector<std::span<std::byte>> registered_;
    std::unique_ptr<GpuCheck> check_;
};

}  // namespace

// The driver first: without it NCCL can do nothing.
Result<std::unique_ptr<Backend>> load_nccl_backend(const Modes& modes) {
    auto driver = cuda::load_driver();
    if (!driver) return driver.error();
    auto library = nccl::load_library();
    if (!library) return library.error();
    const bool registers = library->allocate != nullptr && library->register_buffer != nullptr &&
                           library->deregister_buffer != nullptr;
    if (modes.registered && !registers) {
        return Error{"--registered", formatted("NCCL {} cannot do it", library->version),
                     "install NCCL 2.19 or newer, or leave it out"};
    }
    return std::unique_ptr<Backend>(
        std::make_unique<NcclBackend>(Gpu{*driver, *std::move(library), nullptr, modes}));
}

}  // namespace distgpu::scaling
