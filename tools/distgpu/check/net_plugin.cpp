#include "check/net_plugin.h"

#include "base/format.h"
#include "base/io/programs.h"
#include "base/values.h"
#include "node/own_task.h"
#include "output.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <dlfcn.h>

namespace distgpu {
namespace {

// The beginning of ncclNet_vN_t, whose init() has other arguments in each of these versions; the
// first ones are the logger and the profiler, and since 11 a context, an id and a configuration
// come first (include/plugin/net/net_vN.h, NCCL 2.28.9).
struct NetInterface {
    const char* name;
    void* init;
    int (*devices)(int* count);
};

// NCCL's logger has the arguments of printf(3).
// NOLINTNEXTLINE(cert-dcl50-cpp)
void no_log(int /*level*/, unsigned long /*flags*/, const char* /*file*/, int /*line*/,
            const char* /*format*/, ...) {}
int no_profile(void** /*handle*/, int /*type*/, void* /*parent*/, std::int64_t /*id*/,
               void* /*data*/) {
    return 0;
}

bool initialize(const NetInterface& net, int version) {
    constexpr int first_with_context = 11;
    if (version < first_with_context) {
        using Init = int(decltype(&no_log), decltype(&no_profile));
        return reinterpret_cast<Init*>(net.init)(no_log, no_profile) == 0;
    }
    using Init = int(void**, std::uint64_t, const void*, decltype(&no_log), decltype(&no_profile));
    void* context = nullptr;
    constexpr int undefined_traffic_class = -1;
    return reinterpret_cast<Init*>(net.init)(&context, 0, &undefined_traffic_class, no_log,
                                             no_profile) == 0;
}

// Those with which a plugin looks for its libraries and devices.
constexpr std::array<std::string_view, 11> passed_variables{
    "LD_", "FI_", "OFI_", "NCCL_", "RCCL_", "CUDA_", "ROCR_", "HIP_", "UCX_", "RDMAV_", "MLX5_"};

NetPlugin load(const std::string& file, const Environment& environment, Deadline deadline,
               PluginKind kind) {
    // A program that env starts gets them, and not this one.
    std::vector<std::string> words{"/usr/bin/env"};
    for (const std::string& name : environment.names()) {
        const bool is_passed = std::ranges::any_of(
            passed_variables, [&](std::string_view start) { return name.starts_with(start); });
        if (is_passed) words.push_back(formatted("{}={}", name, environment.text(name)));
    }
    words.insert(words.end(), {own_program_path(), "check", "--load-plugin", file});
    if (kind == PluginKind::tuner) words.emplace_back("--tuner");
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    auto text = run_command(words, std::max(left, std::chrono::milliseconds(1)));
    NetPlugin plugin{.file = file};
    if (text) {
        // The plugin itself may print before.
        const std::string_view lines = trimmed(*text);
        plugin.name = printable(lines.substr(lines.rfind('\n') + 1));
        return plugin;
    }
    plugin.problem = text.error().problem;
    plugin.is_missing =
        plugin.problem.find(file + ": cannot open shared object file: No such file") !=
        std::string::npos;
    if (plugin.is_missing) plugin.problem = "not found";
    return plugin;
}

NetPlugin load_first(const std::vector<std::string>& files, const Environment& environment,
                     Deadline deadline, PluginKind kind) {
    NetPlugin plugin;
    for (const std::string& file : files) {
        plugin = load(file, environment, deadline, kind);
        if (!plugin.is_missing) break;
    }
    return plugin;
}

struct FoundInterface {
    const void* address = nullptr;
    int version = 0;
};

// The newest of these versions that the plugin has.
FoundInterface find_interface(void* library, const char* symbol, int oldest, int newest) {
    for (int version = newest; version >= oldest; --version) {
        const void* const found = dlsym(library, formatted("{}_v{}", symbol, version).c_str());
        if (found != nullptr) return {found, version};
    }
    return {};
}

}  // namespace

std::vector<NetPlugin> load_net_plugins(const Environment& environment, bool rccl,
                                        Deadline deadline) {
    std::vector<NetPlugin> plugins;
    for (const std::vector<std::string>& files : net_plugin_files(environment, rccl)) {
        plugins.push_back(load_first(files, environment, deadline, PluginKind::net));
    }
    return plugins;
}

std::optional<NetPlugin> load_tuner_plugin(const Environment& environment, bool rccl,
                                           Deadline deadline) {
    const std::vector<std::string> files = tuner_plugin_files(environment, rccl);
    if (files.empty()) return std::nullopt;
    return load_first(files, environment, deadline, PluginKind::tuner);
}

ExitCode load_plugin(const std::string& file, PluginKind kind) {
    const auto failed = [&](const std::string& problem) {
        print_error_line(problem);
        return ExitCode::check_failed;
    };
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return failed(dlerror());
    if (kind == PluginKind::tuner) {
        // Each version begins with the plugin's name.
        const auto* const name = static_cast<const char* const*>(
            find_interface(library, "ncclTunerPlugin", 2, 6).address);
        if (name == nullptr) return failed("has no symbol ncclTunerPlugin_v2 to v6");
        return print_result(formatted("{}\n", *name), ExitCode::done);
    }
    const FoundInterface found = find_interface(library, "ncclNetPlugin", 6, 11);
    const auto* const net = static_cast<const NetInterface*>(found.address);
    if (net == nullptr) return failed("has no symbol ncclNetPlugin_v6 to v11");
    int devices = 0;
    if (!initialize(*net, found.version)) return failed(formatted("{} does not start", net->name));
    if (net->devices(&devices) != 0 || devices <= 0) {
        return failed(formatted("{} finds no device", net->name));
    }
    return print_result(formatted("{}\n", net->name), ExitCode::done);
}

}  // namespace distgpu
