// distgpu-sampler STEP: with the key report, the plugin starts it on each node of a step. It is a
// program of its own, linked statically, because it takes memory as long as the step runs.
#include "node/host_helper.h"
#include "report/sampler.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    const auto step = argc == 2 ? distgpu::read_step_sampler(argv[1]) : std::nullopt;
    if (!step) {
        std::fputs("distgpu-sampler: started by srun --distgpu=MODE,report alone\n", stderr);
        return EXIT_FAILURE;
    }
    const auto sampled =
        distgpu::sample_step_for_report({.step = *step, .control = distgpu::helper_fd});
    if (sampled) return EXIT_SUCCESS;
    // One line for the step, not one for each node.
    if (step->index == 0) std::fprintf(stderr, "%s\n", sampled.error().message().c_str());
    return EXIT_FAILURE;
}
