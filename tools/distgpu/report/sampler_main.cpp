// distgpu-sampler STEP: with the key report, the plugin starts it on each node of a step. It is a
// program of its own, linked statically, because it takes memory as long as the step runs.
#include "base/io/files.h"
#include "node/host_helper.h"
#include "report/sampler.h"

#include <cstdlib>
#include <unistd.h>

int main(int argc, char** argv) {
    const auto step = argc == 2 ? distgpu::read_step_sampler(argv[1]) : std::nullopt;
    if (!step) {
        distgpu::write_all(STDERR_FILENO,
                           "distgpu-sampler: started by srun --distgpu=MODE,report alone\n");
        return EXIT_FAILURE;
    }
    const auto sampled =
        distgpu::sample_step_for_report({.step = *step, .control = distgpu::helper_fd});
    if (sampled) return EXIT_SUCCESS;
    // One line for the step, not one for each node.
    if (step->index == 0) distgpu::write_all(STDERR_FILENO, sampled.error().message() + '\n');
    return EXIT_FAILURE;
}
