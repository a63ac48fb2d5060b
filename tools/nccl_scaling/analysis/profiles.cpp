// The table of models. Sizes in bytes of 10^6 and 10^9.
#include "analysis/profiles.h"

namespace distgpu::scaling {

namespace {

constexpr double forward_share = 1.0 / 3;

// A batch of `samples`, at `rate` samples per second and GPU.
constexpr double forward(double samples, double rate) {
    return forward_share * samples / rate;
}
constexpr double backward(double samples, double rate) {
    return (1 - forward_share) * samples / rate;
}

// Tokens per second and GPU: 2e12 tokens in these GPU hours.
constexpr double llama2_rate(double gpu_hours) {
    return 2e12 / (gpu_hours * 3600);
}
constexpr double llama2_13b = llama2_rate(368'640);
constexpr double llama2_70b = llama2_rate(1'720'320);

}  // namespace

const std::array<Profile, 4> profiles{
    Profile{.name = "ResNet-50",
            .bytes = 102e6,  // 25.6 million parameters, fp32
            .forward = forward(256, 2470),
            .backward = backward(256, 2470),
            .source = "256 images at 2470 images/s: one A100 80GB, mixed precision, NVIDIA "
                      "DeepLearningExamples, PyTorch ResNet-50 v1.5, container 21.03"},
    Profile{.name = "BERT-large",
            .bytes = 1.34e9,  // 335 million parameters, fp32
            .forward = forward(256, 580),
            .backward = backward(256, 580),
            .source = "256 sequences of 128 tokens at 580 sequences/s: one A100 80GB, mixed "
                      "precision, NVIDIA DeepLearningExamples, PyTorch BERT, container 21.11"},
    Profile{.name = "13B FSDP",
            .parallelism = Profile::Parallelism::fsdp,
            .bytes = 26e9,  // bf16
            .layers = 40,
            .forward = forward(4096, llama2_13b),
            .backward = backward(4096, llama2_13b),
            .source = "4096 tokens at 2e12 tokens in 368640 GPU hours of A100 80GB: Llama 2 13B, "
                      "arXiv:2307.09288, tables 1 and 2; contains what was not hidden of its "
                      "own communication"},
    Profile{.name = "70B FSDP",
            .parallelism = Profile::Parallelism::fsdp,
            .bytes = 140e9,  // bf16
            .layers = 80,
            .forward = forward(4096, llama2_70b),
            .backward = backward(4096, llama2_70b),
            .source = "4096 tokens at 2e12 tokens in 1720320 GPU hours of A100 80GB: Llama 2 70B, "
                      "arXiv:2307.09288, tables 1 and 2; contains what was not hidden of its "
                      "own communication"},
};

}  // namespace distgpu::scaling
