#include "inspect/stack_tool.h"

#include "base/format.h"
#include "base/io/run_command.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace distgpu {
namespace {

constexpr std::chrono::seconds limit{5};

bool is_program(const std::string& file) {
    std::error_code error;
    return std::filesystem::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0;
}

std::string find_in(std::string_view path, std::string_view name) {
    while (!path.empty()) {
        const std::string_view folder = path.substr(0, path.find(':'));
        path.remove_prefix(std::min(folder.size() + 1, path.size()));
        std::string file = formatted("{}/{}", folder, name);
        if (folder.starts_with('/') && is_program(file)) return file;
    }
    return "";
}

bool is_by_one_of(const struct stat& file, uid_t other) {
    return file.st_uid == 0 || file.st_uid == geteuid() || file.st_uid == other;
}

std::string find_beside(const std::string& program, std::string_view name) {
    const std::string folder = program.substr(0, program.rfind('/'));
    const std::string file = formatted("{}/{}", folder, name);
    struct stat there {};  // the program
    struct stat around {};
    struct stat link {};
    struct stat target {};
    const bool are_there = stat(program.c_str(), &there) == 0 &&
                           stat(formatted("{}/", folder).c_str(), &around) == 0 &&
                           lstat(file.c_str(), &link) == 0 && stat(file.c_str(), &target) == 0;
    if (!are_there || ((around.st_mode | target.st_mode) & S_IWOTH) != 0) return "";
    if (!is_by_one_of(link, there.st_uid) || !is_by_one_of(target, there.st_uid)) return "";
    return is_program(file) ? file : "";
}

std::string find_tool(std::string_view path, const std::vector<std::string>& programs,
                      std::string_view name) {
    std::string file = find_in(path, name);
    for (const std::string& program : programs) {
        if (file.empty()) file = find_beside(program, name);
    }
    return file;
}

}  // namespace

StackTools find_stack_tools(std::string_view path, const std::vector<std::string>& programs) {
    return {find_tool(path, programs, "py-spy"), find_tool(path, programs, "eu-stack"),
            find_tool(path, programs, "gdb")};
}

Result<Stack> read_python_stack(const StackTools& tools, pid_t pid, bool stands) {
    if (tools.py_spy.empty()) {
        return Error{"py-spy", "not found on the node",
                     "pip install py-spy, in your environment or on the nodes"};
    }
    std::vector<std::string> command{tools.py_spy, "dump", "--json", "--pid", formatted("{}", pid)};
    if (stands) command.emplace_back("--nonblocking");
    const auto printed = run_command(command, limit);
    if (!printed) return Error{"py-spy", printed.error().problem, ""};
    auto stack = parse_py_spy(*printed, pid);
    if (!stack) return Error{"py-spy", "printed no stack", ""};
    return *std::move(stack);
}

Result<Stack> read_native_stack(const StackTools& tools, pid_t pid) {
    const std::string number = formatted("{}", pid);
    std::vector<std::string> command;
    if (!tools.eu_stack.empty()) {
        command = {tools.eu_stack, "-1", "-p", number};
    } else if (!tools.gdb.empty()) {
        // By default gdb runs scripts and loads libraries that the process's files name.
        command = {tools.gdb, "-batch", "-nx", "-iex", "set auto-load no",
                   "-p",      number,   "-ex", "bt"};
    } else {
        return Error{"eu-stack and gdb", "not found on the node", "install elfutils there"};
    }
    return run_command(command, limit).transform(parse_backtrace);
}

Error refused_look(const Error& error, std::string_view yama) {
    const auto said = [&](std::string_view words) {
        return error.problem.find(words) != std::string::npos;
    };
    if (!said("ermission") && !said("not permitted")) return error;
    if (!yama.empty() && yama != "0") {
        constexpr std::string_view opens_tasks =
            "start the step with --distgpu=MODE,watch, which opens each task's own process, or ";
        return {"stacks",
                formatted("the kernel lets no process look into another (kernel.yama.ptrace_scope "
                          "is {})",
                          yama),
                formatted("{}ask your administrator to set it to 0",
                          yama == "1" ? opens_tasks : std::string_view())};
    }
    return {"stacks", "the kernel lets nobody look into the program, which forbids it itself", ""};
}

}  // namespace distgpu
