// distgpu-task PID TASK: with the key signal, the plugin turns what Slurm knows as the task into
// this program, the parent of the task's program. It is linked statically, because in a container
// it starts from an open file of the host and finds no library.
#include "base/values.h"
#include "inspect/task_parent.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    const auto pid = argc == 3 ? distgpu::whole_number(argv[1]) : std::nullopt;
    const auto task = argc == 3 ? distgpu::whole_number(argv[2]) : std::nullopt;
    if (!pid || !task) {
        static_cast<void>(
            std::fputs("distgpu-task: started by srun --distgpu=MODE,signal alone\n", stderr));
        return EXIT_FAILURE;
    }
    distgpu::be_task_parent(static_cast<pid_t>(*pid), *task);
}
