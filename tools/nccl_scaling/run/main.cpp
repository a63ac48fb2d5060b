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

// True on one rank, so that an error of all ranks is printed once.
bool reports_errors() {
    const ProcessEnvironment environment;
    const auto rank = environment.get("RANK");
    return rank.value_or(environment.get("OMPI_COMM_WORLD_RANK").value_or("0")) == "0";
}

void print_line(const std::string& line) {
    static_cast<void>(std::fprintf(stderr, "%s\n", line.c_str()));
}

int print_error(const Error& error, ExitCode code) {
    if (reports_errors()) print_line(error.message());
    return static_cast<int>(code);
}

void print_failure(const Failure& failure) {
    if (failure.problem.empty()) return;  // rank 0 prints it
    std::string line = "distgpu: nccl-scaling: " + failure.phase + ": ";
    if (!failure.missing.empty()) {
        line += formatted("{}: ", join(failure.missing, ", "));
    }
    print_line(line + failure.problem);
}

// For tests: DISTGPU_SCALING_CORRUPT=RANK:ELEMENT changes this element of every result on that rank
// before the check.
std::optional<std::size_t> corrupted_element(const Membership& membership) {
    const std::string text = ProcessEnvironment().get("DISTGPU_SCALING_CORRUPT").value_or("");
    const std::string own = formatted("{}:", membership.rank);
    if (text.rfind(own, 0) != 0) return std::nullopt;
    return whole_number_64(std::string_view(text).substr(own.size()));
}

// Writes the partial results, prints the failure and exits. Another thread calls it if a rank is
// lost, because the main thread may be in a collective that never ends.
TerminationHandler make_termination_handler(const Membership& membership, Recorder& recorder) {
    return [&](const Termination& termination) {
        const bool has_begun = termination.code != ExitCode::usage;  // otherwise keep older files
        if (membership.rank == 0 && has_begun) recorder.fail(termination.failure);
        if (membership.rank <= 1) print_failure(termination.failure);  // one of the others suffices
        _exit(static_cast<int>(termination.code));
    };
}

// On rank 0. An error ends the other ranks through the channel.
void read_baseline(const Options& options, Channel& channel, Recorder& recorder) {
    if (options.baseline_file.empty()) return;
    channel.begin_phase("comparison");
    auto results = read_results(options.baseline_file);
    if (results) {
        return recorder.set_baseline(
            {options.baseline_file, *std::move(results), options.tolerance});
    }
    const Error& error = results.error();
    channel.fail(ExitCode::usage,
                 formatted("{}: {}; {}", error.object, error.problem, error.remedy));
}

// NCCL's threads, which move the data between nodes, need CPUs in addition to this program's
// thread.
void warn_about_few_cpus(const Membership& membership) {
    constexpr std::size_t enough = 4;
    KernelCpuSet own{};
    const std::size_t cpus =
        read_affinity(0, own) ? CpuSet::from_words(own).count() : CpuSet::cpu_limit;
    if (membership.rank != 0 || cpus >= enough) return;
    const Error few{"rank 0",
                    formatted("has {}, but NCCL needs about {}", counted(cpus, "CPU"), enough),
                    "if the other ranks have no more, start with --cpus-per-task=4"};
    print_line(few.message());
}

int run_rank(const Membership& membership, const Options& options, Backend& backend) {
    Recorder recorder(options, stdout);
    const TerminationHandler terminate = make_termination_handler(membership, recorder);
    const ProcessEnvironment environment;
    auto channel =
        open_channel(membership, {.timeout = options.timeout,
                                  .names = names_of_step(environment),
                                  .on_termination = terminate,
                                  .secret = read_secret_variable(environment),
                                  .warn = [](const Error& error) { print_line(error.message()); }});
    if (!channel) terminate(channel.error());
    if (membership.rank == 0) read_baseline(options, **channel, recorder);
    return static_cast<int>(
        run({options, membership, corrupted_element(membership), **channel, backend, recorder}));
}

// Only this module is linked with MPI. A program linked with libmpi would not start on machines
// without MPI, where it must run the nccl back end. The program's RUNPATH leads to the module: in
// the program's folder, or where the package installs it.
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

int run_command_line(int argc, char** argv) {
    const auto command_line = parse_options(argc, argv);
    if (!command_line) return print_error(command_line.error(), ExitCode::usage);
    const auto print = [](const std::string& text) {
        static_cast<void>(std::fputs(text.c_str(), stdout));
        return 0;
    };
    if (const auto* help = std::get_if<Help>(&*command_line)) return print(*help);
    if (const auto* times = std::get_if<Times>(&*command_line)) return print(times_table(*times));
    if (const auto* diff = std::get_if<Diff>(&*command_line)) {
        const auto done = print_diff(*diff, stdout);
        return done ? static_cast<int>(*done) : print_error(done.error(), ExitCode::usage);
    }
    const auto& options = std::get<Options>(*command_line);
    const auto membership = read_membership(ProcessEnvironment(), host_name());
    if (!membership) return print_error(membership.error(), ExitCode::environment);
    const auto backend = options.backend == "mpi" ? load_mpi_backend() : load_nccl_backend();
    if (!backend) return print_error(backend.error(), ExitCode::environment);
    if (options.backend == "nccl") warn_about_few_cpus(*membership);
    return run_rank(*membership, options, **backend);
}

}  // namespace
}  // namespace distgpu::scaling

int main(int argc, char** argv) {
    try {
        return distgpu::scaling::run_command_line(argc, argv);
    } catch (const std::exception& error) {  // out of memory
        static_cast<void>(std::fprintf(stderr, "distgpu: nccl-scaling: %s\n", error.what()));
        return static_cast<int>(distgpu::ExitCode::environment);
    }
}
