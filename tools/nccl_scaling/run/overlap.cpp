// See overlap.h.
#include "run/overlap.h"

#include "analysis/bus_bandwidth.h"
#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>

namespace distgpu::scaling {
namespace {

constexpr std::uint32_t kernels_to_size_by = 16;

using Seconds = Compute::Seconds;

class Trials {
  public:
    Trials(Compute& compute, Communicator& group, const Call& call, const Loop& loop)
        : compute_(compute), group_(group), call_(call), loop_(loop) {}

    Result<std::vector<OverlapTrial>> run() {
        const auto kernels = kernels_as_long_as_the_call();
        if (!kernels) return kernels.error();
        std::vector<OverlapTrial> trials;
        trials.reserve(loop_.iterations);
        for (std::uint32_t i = 0; i < loop_.iterations; ++i) {
            auto trial = run_once(*kernels);
            if (!trial) return trial.error();
            trials.push_back(*trial);
        }
        return trials;
    }

  private:
    // The first runs of both also warm up.
    Result<std::uint32_t> kernels_as_long_as_the_call() {
        Seconds compute;
        Seconds communication;
        for (std::uint32_t i = 0; i <= loop_.warmup; ++i) {
            const auto kernels = compute_.run(kernels_to_size_by, nullptr, call_);
            if (!kernels) return kernels.error();
            compute = *kernels;
            const auto call = run(0, &group_);
            if (!call) return call.error();
            communication = *call;
        }
        const double one = compute.compute / kernels_to_size_by;
        return std::max(1U,
                        static_cast<std::uint32_t>(std::lround(communication.communication / one)));
    }

    Result<OverlapTrial> run_once(std::uint32_t kernels) {
        const auto call = run(0, &group_);
        if (!call) return call.error();
        const auto compute = run(kernels, nullptr);
        if (!compute) return compute.error();
        const auto together = run(kernels, &group_);
        if (!together) return together.error();
        return OverlapTrial{{compute->compute, call->communication}, *together};
    }

    // All ranks begin together.
    Result<Seconds> run(std::uint32_t kernels, Communicator* group) {
        if (auto error = group_.barrier()) return *error;
        auto seconds = compute_.run(kernels, group, call_);
        loop_.made_progress();
        return seconds;
    }

    Compute& compute_;
    Communicator& group_;
    const Call call_;
    const Loop& loop_;
};

// By how much the second is longer than the first; both are medians over the trials.
double slowdown(const std::vector<double>& alone, const std::vector<double>& together) {
    return std::max(0.0, median(together) / median(alone) - 1);
}

}  // namespace

tl::expected<std::vector<OverlapTrial>, Fault> overlap_trials(Compute& compute, Communicator& group,
                                                              std::byte* bucket, const Loop& loop) {
    const auto bytes = static_cast<std::size_t>(ddp_bucket_bytes);
    const Call call{Collective::all_reduce, DataType::f32, bytes / row_of(DataType::f32).bytes,
                    bucket, bucket};
    auto trials = Trials(compute, group, call, loop).run();
    if (!trials) return tl::make_unexpected(fault_of(trials.error()));
    return *std::move(trials);
}

Overlap overlap_of(const std::vector<std::vector<OverlapTrial>>& ranks) {
    const auto slowest = [&](double Seconds::*part, Seconds OverlapTrial::*when) {
        std::vector<double> seconds(ranks.front().size());
        for (const auto& trials : ranks) {
            std::transform(seconds.begin(), seconds.end(), trials.begin(), seconds.begin(),
                           [&](double longest, const OverlapTrial& trial) {
                               return std::max(longest, trial.*when.*part);
                           });
        }
        return seconds;
    };
    return {slowdown(slowest(&Seconds::compute, &OverlapTrial::alone),
                     slowest(&Seconds::compute, &OverlapTrial::together)),
            slowdown(slowest(&Seconds::communication, &OverlapTrial::alone),
                     slowest(&Seconds::communication, &OverlapTrial::together))};
}

}  // namespace distgpu::scaling
