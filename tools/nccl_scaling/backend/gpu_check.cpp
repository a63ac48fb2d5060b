#include "backend/gpu_check.h"

#include "backend/kernel_image.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace distgpu::scaling {
namespace {

constexpr std::size_t word_bytes = 16;  // as in check_kernel.cu
constexpr std::size_t largest_table = std::size_t{64} << 10U;
constexpr unsigned threads_of_block = 256;
constexpr unsigned blocks = 1024;  // several for each multiprocessor

class KernelCheck final : public GpuCheck {
  public:
    explicit KernelCheck(const Gpu& gpu) : gpu_(gpu) {}

    std::optional<Error> prepare() {
        const void* const image = kernel_image();
        if (image == nullptr) {
            return Error{"kernels", "built without CUDA", "build it on a machine with nvcc"};
        }
        cuda::Module module = nullptr;
        auto error = gpu_.error_of(gpu_.cuda.load_module(&module, image), "cuModuleLoadData");
        if (!error) error = find(module, "distgpu_fill", fill_);
        if (!error) error = find(module, "distgpu_compare", compare_);
        if (error) return error;
        const auto memory = gpu_.allocate(word_bytes + word_bytes * largest_table);
        if (!memory) return memory.error();
        first_ = *memory;
        tile_ = *memory + word_bytes;
        return std::nullopt;
    }

    std::optional<Error> fill(std::byte* to, std::size_t bytes, const Repeated& content) override {
        Arguments arguments(to, bytes);
        if (auto error = put_tile(arguments, bytes, content)) return error;
        return launch(fill_, arguments);
    }

    Result<std::optional<std::size_t>> first_difference(const std::byte* data, std::size_t bytes,
                                                        const Repeated& content) override {
        constexpr auto none = std::numeric_limits<unsigned long long>::max();
        unsigned long long first = none;
        Arguments arguments(data, bytes);
        auto error = put_tile(arguments, bytes, content);
        if (!error) error = gpu_.upload(first_, std::as_bytes(std::span(&first, 1)));
        if (!error) error = launch(compare_, arguments);
        if (!error) error = gpu_.download(std::as_writable_bytes(std::span(&first, 1)), first_);
        if (error) return *error;
        return first == none ? std::nullopt : std::optional<std::size_t>(first);
    }

  private:
    // Of both kernels.
    struct Arguments {
        Arguments(const std::byte* data, std::size_t size)
            : words(address_of(data) / word_bytes * word_bytes),
              head(static_cast<unsigned>(address_of(data) % word_bytes)),
              bytes(size) {}

        cuda::Address words;
        unsigned head;
        unsigned long long bytes;
        cuda::Address tile = 0;
        unsigned tile_words = 0;
        cuda::Address first = 0;
    };

    std::optional<Error> find(cuda::Module module, const char* name, cuda::Function& kernel) {
        return gpu_.error_of(gpu_.cuda.get_function(&kernel, module, name), "cuModuleGetFunction");
    }

    // After so many words as the table has bytes, both come together again.
    std::optional<Error> put_tile(Arguments& arguments, std::size_t bytes,
                                  const Repeated& content) {
        const std::size_t period = content.table.size();
        const std::size_t words = (arguments.head + bytes + word_bytes - 1) / word_bytes;
        std::vector<std::byte> tile(std::min(words, period) * word_bytes);
        scaling::fill(
            tile, {content.table, (content.first + word_bytes * period - arguments.head) % period});
        arguments.tile = address_of(tile_);
        arguments.tile_words = static_cast<unsigned>(std::min(words, period));
        arguments.first = address_of(first_);
        return gpu_.upload(tile_, tile);
    }

    std::optional<Error> launch(cuda::Function kernel, Arguments& arguments) {
        std::array<void*, 6> parameters{&arguments.words, &arguments.head,       &arguments.bytes,
                                        &arguments.tile,  &arguments.tile_words, &arguments.first};
        const auto launched = gpu_.cuda.launch(kernel, blocks, 1, 1, threads_of_block, 1, 1, 0,
                                               gpu_.stream, parameters.data(), nullptr);
        if (auto error = gpu_.error_of(launched, "cuLaunchKernel")) return error;
        return gpu_.error_of(gpu_.cuda.synchronize_stream(gpu_.stream), "cuStreamSynchronize");
    }

    const Gpu& gpu_;
    cuda::Function fill_ = nullptr;
    cuda::Function compare_ = nullptr;
    std::byte* first_ = nullptr;  // one number, what distgpu_compare found
    std::byte* tile_ = nullptr;
};

class HostCheck final : public GpuCheck {
  public:
    explicit HostCheck(const Gpu& gpu) : gpu_(gpu), tile_(tile_bytes) {}

    std::optional<Error> fill(std::byte* to, std::size_t bytes, const Repeated& content) override {
        for (std::size_t at = 0; at < bytes; at += tile_bytes) {
            const auto tile = std::span(tile_).first(std::min(tile_bytes, bytes - at));
            scaling::fill(tile, {content.table, content.first + at});
            if (auto error = gpu_.upload(to + at, tile)) return error;
        }
        return std::nullopt;
    }

    Result<std::optional<std::size_t>> first_difference(const std::byte* data, std::size_t bytes,
                                                        const Repeated& content) override {
        for (std::size_t at = 0; at < bytes; at += tile_bytes) {
            const auto tile = std::span(tile_).first(std::min(tile_bytes, bytes - at));
            if (auto error = gpu_.download(tile, data + at)) return *error;
            const auto differs =
                scaling::first_difference(tile, {content.table, content.first + at});
            if (differs) return std::optional(at + *differs);
        }
        return std::optional<std::size_t>();
    }

  private:
    static constexpr std::size_t tile_bytes = std::size_t{16} << 20U;

    const Gpu& gpu_;
    std::vector<std::byte> tile_;
};

}  // namespace

Result<std::unique_ptr<GpuCheck>> check_on_gpu(const Gpu& gpu) {
    auto check = std::make_unique<KernelCheck>(gpu);
    if (auto error = check->prepare()) return *error;
    return std::unique_ptr<GpuCheck>(std::move(check));
}

std::unique_ptr<GpuCheck> check_on_host(const Gpu& gpu) {
    return std::make_unique<HostCheck>(gpu);
}

}  // namespace distgpu::scaling
