// The command `nccl-scaling`.
#include "backend/backend.h"
#include "base/format.h"
#include "base/io/shared_library.h"
#include "base/result.h"
#include "base/values.h"
#include "bootstrap/channel.h"
#include "bootstrap/membership.h"
#include "node/machine.h"
#include "node/step_variables.h"
#include "report/formats.h"
#include "run/options.h"
#include "run/recorder.h"
#include "run/run.h"

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>

namespace distgpu::scaling {
namespace {

// Of many ranks with the same complaint, one says it.
bool speaks() {
    const ProcessEnvironment environment;
    const auto rank = environment.get("RANK");
    return rank.value_or(environment.get("OMPI_COMM_WORLD_RANK").value_or("0")) == "0";
}

void say(const std::string& line) {
    static_cast<void>(std::fprintf(stderr, "%s\n", line.c_str()));
}

int complain(const Error& error, ExitCode code) {
    if (speaks()) say(error.message());
    return static_cast<int>(code);
}

void say(const Failure& failure) {
    if (failure.problem.empty()) return;  // rank 0 says it
    std::string line = "distgpu: nccl-scaling: " + failure.phase + ": ";
    if (!failure.missing.empty()) {
        line += formatted("{}: ", join(failure.missing, ", "));
    }
    say(line + failure.problem);
}

// For tests: DISTGPU_SCALING_CORRUPT=RANK:ELEMENT changes that element of every result on that rank
// before it is checked.
std::optional<std::size_t> corrupted_element(const Membership& membership) {
    const std::string text = ProcessEnvironment().get("DISTGPU_SCALING_CORRUPT").value_or("");
    const std::string own = formatted("{}:", membership.rank);
    if (text.rfind(own, 0) != 0) return std::nullopt;
    return whole_number_64(std::string_view(text).substr(own.size()));
}

// Where a rank is lost, another thread ends the process: this one may be inside a collective that
// never ends.
End ending(const Membership& membership, Recorder& recorder) {
    return [&](const Ending& ending) {
        const bool begun = ending.code != ExitCode::usage;  // else older files stay as they are
        if (membership.rank == 0 && begun) recorder.fail(ending.failure);
        if (membership.rank <= 1) say(ending.failure);  // of the others' complaints one is enough
        _exit(static_cast<int>(ending.code));
    };
}

// On rank 0, whose file it is; the others hear over the channel what is wrong with it.
void read_baseline(const Options& options, Channel& channel, Recorder& recorder) {
    if (options.baseline.empty()) return;
    channel.begin("comparison");
    auto results = read_results(options.baseline);
    if (results) {
        return recorder.hold_against({options.baseline, *std::move(results), options.tolerance});
    }
    const Error& error = results.error();
    channel.fail(ExitCode::usage,
                 formatted("{}: {}; {}", error.object, error.problem, error.remedy));
}

// NCCL's threads move the data between nodes, beside this program's own.
void warn_of_few_cpus(const Membership& membership) {
    constexpr std::size_t enough = 4;
    KernelCpuSet own{};
    const std::size_t cpus =
        read_affinity(0, own) ? CpuSet::from_words(own).count() : CpuSet::cpu_limit;
    if (membership.rank != 0 || cpus >= enough) return;
    const Error few{
        "rank 0", formatted("may use {}, where NCCL needs about {}", counted(cpus, "CPU"), enough),
        "if the other ranks have no more, start them with --cpus-per-task=4"};
    say(few.message());
}

int run_as(const Membership& membership, const Options& options, Backend& backend) {
    Recorder recorder(options, stdout);
    const End end = ending(membership, recorder);
    const ProcessEnvironment environment;
    auto channel =
        open_channel(membership, {.timeout = options.timeout,
                                  .names = names_of_step(environment),
                                  .end = end,
                                  .secret = handed_secret(environment),
                                  .warn = [](const Error& error) { say(error.message()); }});
    if (!channel) end(channel.error());
    if (membership.rank == 0) read_baseline(options, **channel, recorder);
    return static_cast<int>(
        run({options, membership, corrupted_element(membership), **channel, backend, recorder}));
}

// Its module alone is linked with MPI: a program linked with libmpi would not start on a machine
// without it, where it is to run the nccl back end. It is found beside the program, or where the
// package has it, by the program's RUNPATH.
Result<std::unique_ptr<Backend>> load_mpi_backend() {
    constexpr const char* file = "libnccl_scaling_mpi.so";
    constexpr const char* symbol = "distgpu_scaling_make_mpi_backend";
    auto module =
        SharedLibrary::load(file, "install an MPI library, and the package that was built with it");
    if (!module) return module.error();
    Backend* (*make)() = nullptr;
    module->resolve(make, symbol);
    if (make == nullptr) {
        return Error{file, formatted("has no {}", symbol), "install it from the same build"};
    }
    return std::unique_ptr<Backend>(make());
}

int start(int argc, char** argv) {
    const auto asked = parse_options(argc, argv);
    if (!asked) return complain(asked.error(), ExitCode::usage);
    const auto print = [](const std::string& text) {
        static_cast<void>(std::fputs(text.c_str(), stdout));
        return 0;
    };
    if (const auto* help = std::get_if<Help>(&*asked)) return print(*help);
    if (const auto* times = std::get_if<Times>(&*asked)) return print(times_table(*times));
    if (const auto* diff = std::get_if<Diff>(&*asked)) {
        const auto done = diff_runs(*diff, stdout);
        return done ? static_cast<int>(*done) : complain(done.error(), ExitCode::usage);
    }
    const auto& options = std::get<Options>(*asked);
    const auto membership = read_membership(ProcessEnvironment(), host_name());
    if (!membership) return complain(membership.error(), ExitCode::environment);
    const auto backend = options.backend == "mpi" ? load_mpi_backend() : load_nccl_backend();
    if (!backend) return complain(backend.error(), ExitCode::environment);
    if (options.backend == "nccl") warn_of_few_cpus(*membership);
    return run_as(*membership, options, **backend);
}

}  // namespace
}  // namespace distgpu::scaling

int main(int argc, char** argv) {
    try {
        return distgpu::scaling::start(argc, argv);
    } catch (const std::exception& failure) {  // memory has run out
        static_cast<void>(std::fprintf(stderr, "distgpu: nccl-scaling: %s\n", failure.what()));
        return static_cast<int>(distgpu::ExitCode::environment);
    }
}
