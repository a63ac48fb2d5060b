// See exec.h.
#include "exec/exec.h"

#include "base/format.h"
#include "mapping/spec/request.h"
#include "node/affinity.h"
#include "node/announcement.h"
#include "node/host_name.h"
#include "node/port_check.h"
#include "node/task_environment.h"
#include "node/variables.h"
#include "output.h"
#include "task/own_task.h"
#include "task/process_environment.h"
#include "task/task_variables.h"

#include <CLI/CLI.hpp>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

struct Arguments {
    std::string spec;
    std::vector<std::string> program;
};

// A port on which this process's program will listen. Those of the other tasks may be in use by
// them already.
std::optional<Error> taken_port(const OwnTask& own) {
    std::vector<std::uint16_t> ports = own.plan.ports;
    if (own.request.framework->port_per_task) {
        ports = {ports[own.place.local.value]};
    } else if (own.task().task != TaskId{0}) {
        return std::nullopt;
    }
    for (const std::uint16_t port : ports) {
        // The listener of an exported port may be the user's own store.
        if (own.plan.rendezvous.port_source == PortSource::exported) break;
        if (check_port(port) != PortState::taken) continue;
        return Error{
            formatted("port {} (from {})", port, describe(own.plan.rendezvous.port_source)),
            "already in use", "give another with the key port=N"};
    }
    return std::nullopt;
}

void narrow_cpus(const OwnTask& own) {
    const auto& binding = own.task().binding;
    if (!binding || binding->cpus == own.node.facts.share.masks[own.place.local.value]) return;
    if (set_affinity(binding->cpus)) return;
    say(formatted("distgpu: rank {}: the kernel refused CPUs {}; they stay as they were",
                  own.task().rank.value, binding->cpus.to_string()));
}

// Becomes the program; returns only where it cannot.
ExitCode become(const std::vector<std::string>& program) {
    std::vector<char*> arguments;
    arguments.reserve(program.size() + 1);
    for (const std::string& argument : program) {
        arguments.push_back(const_cast<char*>(argument.c_str()));  // execvp() does not change them
    }
    arguments.push_back(nullptr);
    execvp(arguments.front(), arguments.data());
    const int problem = errno;
    const bool missing = problem == ENOENT;
    return complain({program.front(), std::strerror(problem), "name a program that can be run"},
                    missing ? ExitCode::not_found : ExitCode::not_executable);
}

// Says what verbose and dry-run ask for; the code to end with, where no program shall run.
std::optional<ExitCode> announce(const OwnTask& own) {
    for (const std::string& note : own.node.notes) say(note);
    const Announcement said =
        announcement(own.request, own.place.layout, own.node.facts, own.plan, own.place.local);
    for (const std::string& line : said.lines) say(line);
    if (said.dry_run.empty()) return std::nullopt;
    const auto printed = print(said.dry_run);
    return printed ? ExitCode::done : complain(printed.error(), ExitCode::exec_failed);
}

// With the plugin, or another exec, which prepared the task already.
Error disagreement(const Difference& difference) {
    const auto said = [](const std::optional<std::string>& value) {
        return value ? *value : std::string("nothing");
    };
    return {difference.name,
            formatted("{} as the task was prepared, {} from distgpu exec", said(difference.present),
                      said(difference.planned)),
            formatted("use one of the two with one mode, or unset {}", prepared_variable)};
}

ExitCode run_exec(const Arguments& arguments) {
    ProcessEnvironment environment;
    auto request = parse_spec("SPEC", arguments.spec);
    if (!request) return complain(request.error(), ExitCode::exec_failed);
    if (request->help) {
        const auto printed = print(spec_help());
        return printed ? ExitCode::done : complain(printed.error(), ExitCode::exec_failed);
    }
    if (request->framework == nullptr) return become(arguments.program);  // `off`
    auto place = find_place(environment, host_name());
    if (!place) return complain(place.error(), ExitCode::exec_failed);
    if (const auto error = refused(*request, *place, environment)) {
        const bool first = place->layout.task(place->node, place->local) == TaskId{0};
        return first ? complain(*error, ExitCode::exec_failed) : ExitCode::exec_failed;
    }
    const auto own = plan_own_task(*std::move(request), *std::move(place), environment);
    if (!own) return complain(own.error(), ExitCode::exec_failed);
    if (prepared_spec(environment)) {
        const auto differing = differences(environment, own->task());
        return differing.empty() ? become(arguments.program)
                                 : complain(disagreement(differing.front()), ExitCode::exec_failed);
    }
    if (const auto error = taken_port(*own)) return complain(*error, ExitCode::exec_failed);
    if (const auto end = announce(*own)) return *end;
    narrow_cpus(*own);
    const auto set = set_task_environment(environment, arguments.spec, own->plan, own->place.local);
    if (!set) return complain(set.error(), ExitCode::exec_failed);
    return become(arguments.program);
}

}  // namespace

void add_exec(CLI::App& app, std::function<ExitCode()>& run) {
    const auto arguments = std::make_shared<Arguments>();
    CLI::App* const exec = app.add_subcommand(
        "exec",
        "Run a program as srun --distgpu=SPEC would, without the plugin: as a task of "
        "srun, mpirun, flux or mpiexec, or alone.");
    exec->add_option("SPEC", arguments->spec, "What --distgpu= takes: MODE[,KEY[=VALUE]]...")
        ->required();
    exec->add_option("PROGRAM", arguments->program, "The program and its arguments, after --")
        ->required();
    exec->callback([arguments, &run] { run = [arguments] { return run_exec(*arguments); }; });
}

}  // namespace distgpu
