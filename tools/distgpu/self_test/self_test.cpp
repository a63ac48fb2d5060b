// `distgpu self-test`: what of the command works on this machine, in seconds and without a job.
#include "base/format.h"
#include "node/discovery/hwloc_environment.h"
#include "output.h"
#include "self_test/probe.h"
#include "subcommands.h"
#include "table.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

std::string_view word(ProbeResult::State state) {
    switch (state) {
        case ProbeResult::State::ok:
            return "ok";
        case ProbeResult::State::absent:
            return "absent";
        case ProbeResult::State::failed:
            break;
    }
    return "FAILED";
}

ExitCode run_self_test() {
    take_hwloc_environment();
    const Deadline deadline = Clock::now() + 5s;  // and two commands of Slurm, 2 s each at most
    std::vector<Row> rows;
    std::size_t failed = 0;
    for (const Probe& probe : all_probes()) {
        ProbeResult result = probe.run(deadline);
        failed += result.state == ProbeResult::State::failed ? 1 : 0;
        rows.push_back(
            {std::string(probe.name), std::string(word(result.state)), std::move(result.text)});
    }
    const std::string text = table(std::move(rows), {.width = 100});
    return print_or_complain(
        text + (failed == 0 ? "distgpu works here\n"
                            : formatted("distgpu does not work here: {} failed\n", failed)),
        failed == 0 ? ExitCode::done : ExitCode::check_failed);
}

}  // namespace

Subcommand self_test_subcommand() {
    return {.name = "self-test",
            .help = "Say what of distgpu works on this machine; at most 10 seconds.",
            .options = {},
            .run = run_self_test};
}

}  // namespace distgpu
