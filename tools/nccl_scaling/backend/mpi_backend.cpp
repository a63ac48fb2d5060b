// The mpi back end: MPI's collectives on host memory. It does not measure GPUs.
#include "analysis/collectives.h"
#include "backend/backend.h"
#include "backend/number.h"
#include "base/format.h"

#include <algorithm>
#include <array>
#include <limits>
#include <mpi.h>
#include <string_view>

namespace distgpu::scaling {
namespace {

// nullopt for MPI_SUCCESS.
std::optional<Error> error_of(int code, const char* function) {
    if (code == MPI_SUCCESS) return std::nullopt;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    return Error{function, std::string(text.data(), static_cast<std::size_t>(length)), ""};
}

// MPI has no 16-bit floating-point types: the numbers are moved as two bytes, and added by this
// program's own operation. The signature is MPI_User_function.
template <float (*widen)(std::uint16_t), std::uint16_t (*narrow)(float)>
// NOLINTNEXTLINE(readability-non-const-parameter)
void add_16_bits(void* in, void* in_out, int* length, MPI_Datatype* /*type*/) {
    const auto* from = static_cast<const std::uint16_t*>(in);
    auto* to = static_cast<std::uint16_t*>(in_out);
    std::transform(from, from + *length, to, to,
                   [](std::uint16_t a, std::uint16_t b) { return narrow(widen(a) + widen(b)); });
}

// MPI's operations for sums; valid between MPI_Init and MPI_Finalize.
struct Sums {
    MPI_Op of_halves = MPI_OP_NULL;
    MPI_Op of_bfloats = MPI_OP_NULL;

    void create() {
        constexpr int commutes = 1;
        MPI_Op_create(add_16_bits<half_to_float, float_to_half>, commutes, &of_halves);
        MPI_Op_create(add_16_bits<bfloat_to_float, float_to_bfloat>, commutes, &of_bfloats);
    }
    void free() {
        MPI_Op_free(&of_halves);
        MPI_Op_free(&of_bfloats);
    }
    MPI_Op of(DataType type) const {
        if (type == DataType::f32) return MPI_SUM;
        return type == DataType::f16 ? of_halves : of_bfloats;
    }
};

class MpiCommunicator final : public Communicator {
  public:
    MpiCommunicator(MPI_Comm communicator, GroupRank self, const Sums& sums)
        : communicator_(communicator),
          sums_(sums),
          rank_(static_cast<int>(self.rank)),
          size_(static_cast<int>(self.size)) {}

    std::optional<Error> run(const Call& call) override {
        if (call.count > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
            return Error{formatted("{} elements", call.count),
                         "more than one MPI call can handle (2^31 - 1)", "choose a smaller size"};
        }
        return error_of(start(call, static_cast<int>(call.count),
                              call.type == DataType::f32 ? MPI_FLOAT : MPI_UINT16_T),
                        "collective of MPI");
    }

    std::optional<Error> synchronize() override { return std::nullopt; }  // run() has waited

    // Uses the wall clock.
    Result<std::vector<double>> time(const Call& call, std::uint32_t iterations,
                                     const std::function<void()>& report_progress) override {
        std::vector<double> ends;
        ends.reserve(iterations);
        const double begin = MPI_Wtime();
        for (std::uint32_t i = 0; i < iterations; ++i) {
            if (auto error = run(call)) return *error;
            ends.push_back(MPI_Wtime() - begin);
            report_progress();
        }
        return ends;
    }

    std::optional<Error> barrier() override {
        return error_of(MPI_Barrier(communicator_), "MPI_Barrier");
    }

    std::optional<Error> close() override {
        return error_of(MPI_Comm_free(&communicator_), "MPI_Comm_free");
    }

  private:
    int start(const Call& call, int count, MPI_Datatype type) {
        const void* const send = call.send == call.receive ? MPI_IN_PLACE : call.send;
        MPI_Op op = sums_.of(call.type);
        switch (call.collective) {
            case Collective::all_reduce:
                return MPI_Allreduce(send, call.receive, count, type, op, communicator_);
            case Collective::all_gather:
                return all_gather(call, count, type);
            case Collective::reduce_scatter:
                return MPI_Reduce_scatter_block(send, call.receive, count, type, op, communicator_);
            case Collective::broadcast:
                return MPI_Bcast(call.receive, count, type, 0, communicator_);
            case Collective::all_to_all:
                return MPI_Alltoall(send, count, type, call.receive, count, type, communicator_);
            case Collective::send_recv:
                break;
        }
        return exchange(call, count, type);
    }

    // Sends to the next rank, receives from the previous one.
    int exchange(const Call& call, int count, MPI_Datatype type) {
        return MPI_Sendrecv(call.send, count, type, (rank_ + 1) % size_, 0, call.receive, count,
                            type, (rank_ + size_ - 1) % size_, 0, communicator_, MPI_STATUS_IGNORE);
    }

    int all_gather(const Call& call, int count, MPI_Datatype type) {
        const std::byte* const own =
            call.receive + static_cast<std::size_t>(rank_) * call.count * info_of(call.type).bytes;
        return MPI_Allgather(call.send == own ? MPI_IN_PLACE : call.send, count, type, call.receive,
                             count, type, communicator_);
    }

    MPI_Comm communicator_;
    const Sums& sums_;
    int rank_;
    int size_;
};

std::string library_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string_view all(text.data(), static_cast<std::size_t>(length));
    return std::string(all.substr(0, all.find_first_of(",\n")));
}

class MpiBackend final : public Backend {
  public:
    Result<Description> start(const Member& member) override {
        member_ = member;
        return Description{{{"library", library_version()}}, ""};
    }

    std::optional<Error> connect(const Broadcast& /*unused*/) override {
        if (auto error = error_of(MPI_Init(nullptr, nullptr), "MPI_Init")) return error;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        int size = 0;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        if (std::cmp_not_equal(size, member_.world_size)) {
            return Error{"--backend mpi",
                         formatted("MPI has a world size of {}, not {}", size, member_.world_size),
                         "start it with srun --mpi=pmix --distgpu=pytorch, or with mpirun"};
        }
        sums_.create();
        return std::nullopt;
    }

    // Ordered by `self`, which may differ from the order of MPI's ranks.
    Result<std::unique_ptr<Communicator>> split(std::optional<std::uint32_t> colour,
                                                GroupRank self) override {
        MPI_Comm part = MPI_COMM_NULL;
        const int key = colour ? static_cast<int>(*colour) : MPI_UNDEFINED;
        if (auto error =
                error_of(MPI_Comm_split(MPI_COMM_WORLD, key, static_cast<int>(self.rank), &part),
                         "MPI_Comm_split")) {
            return *error;
        }
        if (part == MPI_COMM_NULL) return std::unique_ptr<Communicator>();
        return std::unique_ptr<Communicator>(std::make_unique<MpiCommunicator>(part, self, sums_));
    }

    std::optional<Error> barrier() override {
        return error_of(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    }

    // MPI_Bcast has one buffer, and MPI_Reduce_scatter_block in place puts its result elsewhere
    // than NCCL.
    bool supports(const Operation& operation) const override {
        switch (operation.collective) {
            case Collective::broadcast:
                return operation.in_place;
            case Collective::all_reduce:
            case Collective::all_gather:
                return true;
            default:
                return !operation.in_place;
        }
    }

    Result<std::byte*> allocate(std::size_t bytes) override {
        void* memory = nullptr;
        if (auto error =
                error_of(MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &memory),
                         "MPI_Alloc_mem")) {
            return *error;
        }
        memory_.push_back(memory);
        return static_cast<std::byte*>(memory);
    }

    std::optional<Error> upload(std::byte* to, std::span<const std::byte> from) override {
        std::ranges::copy(from, to);
        return std::nullopt;
    }

    std::optional<Error> download(std::span<std::byte> to, const std::byte* from) override {
        std::copy_n(from, to.size(), to.begin());
        return std::nullopt;
    }

    std::optional<Error> copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
        std::copy_n(from, bytes, to);
        return std::nullopt;
    }

    std::optional<Error> finish() override {
        for (void* memory : memory_) MPI_Free_mem(memory);
        sums_.free();
        return error_of(MPI_Finalize(), "MPI_Finalize");
    }

  private:
    Member member_;
    Sums sums_;
    std::vector<void*> memory_;
};

}  // namespace
}  // namespace distgpu::scaling

extern "C" __attribute__((visibility("default"))) distgpu::scaling::Backend*
distgpu_scaling_make_mpi_backend() {
    return std::make_unique<distgpu::scaling::MpiBackend>().release();
}
