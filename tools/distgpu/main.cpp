// The command `distgpu`.
#include "command_line.h"

#include <cstdio>
#include <exception>

namespace distgpu {
namespace {

Program distgpu_program() {
    return {"distgpu",
            DISTGPU_VERSION,
            DISTGPU_BUILD,
            "Variables, GPUs, CPUs and HCAs for the tasks of distributed GPU training.",
            {check_subcommand(), check_config_subcommand(), convert_subcommand(), exec_subcommand(),
             explain_subcommand(), plan_subcommand(), report_subcommand(), run_subcommand(),
             signal_subcommand(), topo_subcommand(), vars_subcommand(), why_subcommand()},
            {{"launch", "exec"},
             {"start", "exec"},
             {"doctor", "check"},
             {"diagnose", "check"},
             {"test", "check"},
             {"verify", "check"},
             {"self-test", "check --node"},
             {"config", "check-config"},
             {"validate", "check-config"},
             {"dry-run", "plan"},
             {"simulate", "plan"},
             {"modes", "vars"},
             {"env", "vars"},
             {"topology", "topo"},
             {"migrate", "convert"},
             {"show", "explain"},
             {"inspect", "explain"},
             {"kill", "signal"},
             {"notify", "signal"},
             {"debug", "why"},
             {"hang", "why"},
             {"stack", "why"}}};
}

}  // namespace
}  // namespace distgpu

int main(int argc, char** argv) {
    using namespace distgpu;
    try {
        return static_cast<int>(run_command_line(distgpu_program(), argc, argv));
    } catch (const std::exception& failure) {  // out of memory
        static_cast<void>(std::fprintf(stderr, "distgpu: %s\n", failure.what()));
        return static_cast<int>(ExitCode::environment);
    }
}
