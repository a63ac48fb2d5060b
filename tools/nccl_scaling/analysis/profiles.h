// Real models whose training step is modelled: what they send, and how long they compute.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace distgpu::scaling {

struct Profile {
    enum class Parallelism : std::uint8_t {
        ddp,   // every GPU holds the whole model: gradients are all-reduced in buckets
        fsdp,  // parameters are sharded: gathered for forward and for backward, gradients
               // reduce-scattered, one layer after the other
    };
    std::string_view name;
    Parallelism parallelism = Parallelism::ddp;
    double bytes = 0;          // of all gradients; of fsdp also of all parameters
    std::uint32_t layers = 0;  // of fsdp: what is gathered at a time is one of these
    // Seconds for one batch on one GPU, the optimizer's included in the backward pass: published
    // throughputs are of whole steps. They are split 1 to 2, as the backward pass computes two
    // products (for the inputs' and for the weights' gradients) for each one of the forward pass.
    double forward = 0;
    double backward = 0;
    std::string_view source;  // of these seconds
};

extern const std::array<Profile, 4> profiles;

// DDP's default bucket_cap_mb, which counts in MiB.
inline constexpr double ddp_bucket_bytes = 25.0 * 1024 * 1024;

}  // namespace distgpu::scaling
