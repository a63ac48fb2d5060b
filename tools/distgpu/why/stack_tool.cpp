// See stack_tool.h.
#include "why/stack_tool.h"

#include "base/format.h"
#include "base/io/run_command.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace distgpu {
namespace {

constexpr std::chrono::seconds limit{5};

std::string find_in(std::string_view path, std::string_view name) {
    while (!path.empty()) {
        const std::string_view folder = path.substr(0, path.find(':'));
        path.remove_prefix(std::min(folder.size() + 1, path.size()));
        std::string file = formatted("{}/{}", folder, name);
        std::error_code error;
        if (folder.starts_with('/') && std::filesystem::is_regular_file(file, error) &&
            access(file.c_str(), X_OK) == 0) {
            return file;
        }
    }
    return "";
}

std::string find_in_any(const std::vector<std::string>& paths, std::string_view name) {
    for (const std::string& path : paths) {
        std::string file = find_in(path, name);
        if (!file.empty()) return file;
    }
    return "";
}

}  // namespace

StackTools find_stack_tools(const std::vector<std::string>& paths) {
    return {find_in_any(paths, "py-spy"), find_in_any(paths, "eu-stack"),
            find_in_any(paths, "gdb")};
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
        command = {tools.gdb, "-batch", "-nx", "-p", number, "-ex", "bt"};
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
