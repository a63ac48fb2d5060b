#include "mapping/spec/other_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace distgpu {
namespace {

struct OtherWord {
    std::string_view word;  // in our letters
    std::string_view ours;
};

constexpr std::array mode_words{
    OtherWord{"ddp", "pytorch"},
    OtherWord{"fsdp", "pytorch"},
    OtherWord{"torch", "pytorch"},
    OtherWord{"nccl", "pytorch"},
    OtherWord{"torch.distributed", "torchrun"},
    OtherWord{"torch.distributed.run", "torchrun"},
    OtherWord{"torch.distributed.launch", "torchrun"},
    OtherWord{"torchelastic", "torchrun"},
    OtherWord{"elastic", "torchrun"},
    OtherWord{"pytorch-lightning", "lightning"},
    OtherWord{"pl", "lightning"},
    OtherWord{"hf", "accelerate"},
    OtherWord{"huggingface", "accelerate"},
    OtherWord{"hugging-face", "accelerate"},
    OtherWord{"trainer", "accelerate"},
    OtherWord{"zero", "deepspeed"},
    OtherWord{"megatron-core", "megatron"},
    OtherWord{"mosaicml", "composer"},
    OtherWord{"mosaic", "composer"},
    OtherWord{"hvd", "horovod"},
    OtherWord{"horovodrun", "horovod"},
    OtherWord{"openmpi", "ompi"},
    OtherWord{"open-mpi", "ompi"},
    OtherWord{"mpirun", "ompi"},
    OtherWord{"mpiexec", "ompi"},
    OtherWord{"keras", "tensorflow"},
    OtherWord{"flax", "jax"},
    OtherWord{"none", "off"},
    OtherWord{"no", "off"},
};

constexpr std::array key_words{
    OtherWord{"master-port", "port"},
    OtherWord{"main-process-port", "port"},
    OtherWord{"master-addr", "master"},
    OtherWord{"master-address", "master"},
    OtherWord{"main-process-ip", "master"},
    OtherWord{"addr", "master"},
    OtherWord{"host", "master"},
    OtherWord{"nproc-per-node", "nproc"},
    OtherWord{"nprocs-per-node", "nproc"},
    OtherWord{"num-processes", "nproc"},
    OtherWord{"num-gpus", "nproc"},
    OtherWord{"rdzv-backend", "rdzv"},
    OtherWord{"omp-num-threads", "omp"},
    OtherWord{"threads", "omp"},
    OtherWord{"gpu-bind", "gpus"},
    OtherWord{"cpu-bind", "cpus"},
    OtherWord{"nics", "hcas"},
    OtherWord{"ib", "hcas"},
    OtherWord{"debug", "verbose"},
    OtherWord{"v", "verbose"},
    OtherWord{"test", "dry-run"},
};

std::optional<std::string_view> ours(const auto& words, std::string_view word) {
    const std::string wanted = in_our_letters(word);
    const auto at = std::find_if(words.begin(), words.end(),
                                 [&](const OtherWord& each) { return each.word == wanted; });
    return at == words.end() ? std::nullopt : std::optional(at->ours);
}

}  // namespace

std::optional<std::string_view> mode_meant_by(std::string_view word) {
    return ours(mode_words, word);
}

std::optional<std::string_view> key_meant_by(std::string_view word) {
    return ours(key_words, word);
}

std::string in_our_letters(std::string_view word) {
    std::string letters(word);
    std::transform(letters.begin(), letters.end(), letters.begin(), [](unsigned char c) {
        return c == '_' ? '-' : static_cast<char>(std::tolower(c));
    });
    return letters;
}

}  // namespace distgpu
