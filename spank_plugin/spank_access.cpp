#include "spank_access.h"

#include "base/io/files.h"
#include "base/values.h"
#include "node/machine.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

namespace distgpu {
namespace {

// This plugin; all null where the loader does not tell.
Dl_info own_object() {
    static const char own = 0;  // lies in this plugin
    Dl_info object{};
    dladdr(&own, &object);
    return object;
}

// One walk over the objects of this process, which are listed in the order of their loading.
struct Walk {
    std::string_view sought;
    std::uintptr_t own;  // where this plugin begins
    bool own_seen = false;
    bool sought_after_own = false;
};

int visit(dl_phdr_info* object, std::size_t /*size*/, void* data) {
    auto& walk = *static_cast<Walk*>(data);
    if (walk.own_seen && file_name(object->dlpi_name) == walk.sought) walk.sought_after_own = true;
    if (object->dlpi_addr == walk.own) walk.own_seen = true;
    return 0;
}

}  // namespace

std::optional<std::uint32_t> item(spank_t spank, spank_item_t which) {
    std::uint32_t value = 0;
    if (spank_get_item(spank, which, &value) != ESPANK_SUCCESS) return std::nullopt;
    return value;
}

std::vector<std::string> program_arguments(spank_t spank) {
    int count = 0;
    char** arguments = nullptr;
    if (spank_get_item(spank, S_JOB_ARGV, &count, &arguments) != ESPANK_SUCCESS ||
        arguments == nullptr) {
        return {};
    }
    return {arguments, arguments + count};
}

bool put_in_front(spank_t spank, const std::vector<std::string>& words) {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    return spank_prepend_task_argv(spank, static_cast<int>(arguments.size()), arguments.data()) ==
           ESPANK_SUCCESS;
#else
    static_cast<void>(spank);
    return words.empty();
#endif
}

void tell(const std::string& line) {
    slurm_spank_log("%s", line.c_str());
}

// Nothing: unset, or longer than a variable of a process can be.
std::optional<std::string> StepVariables::get(const std::string& name) const {
    std::string value(256, '\0');
    // Linux refuses an argument string of more than 128 KiB, but an environment
    // that srun sends may hold a longer one: stop where no real value reaches.
    constexpr std::size_t longest = std::size_t{1} << 18U;
    while (value.size() <= longest) {
        const spank_err_t rc =
            spank_getenv(spank_, name.c_str(), value.data(), static_cast<int>(value.size()));
        if (rc == ESPANK_SUCCESS) {
            value.resize(value.find('\0'));
            return value;
        }
        if (rc != ESPANK_NOSPACE) return std::nullopt;
        value.resize(value.size() * 4);
    }
    return std::nullopt;
}

// spank_setenv() returns success although it dropped a value that is too long: read it back.
bool StepVariables::set(const std::string& name, const std::string& value) {
    constexpr int overwrite = 1;
    return spank_setenv(spank_, name.c_str(), value.c_str(), overwrite) == ESPANK_SUCCESS &&
           get(name) == value;
}

void StepVariables::unset(const std::string& name) {
    spank_unsetenv(spank_, name.c_str());
}

std::vector<std::string> StepVariables::names() const {
    char** environment = nullptr;
    std::vector<std::string> result;
    if (spank_get_item(spank_, S_JOB_ENV, &environment) != ESPANK_SUCCESS) return result;
    for (; environment != nullptr && *environment != nullptr; ++environment) {
        const std::string_view variable = *environment;
        result.emplace_back(variable.substr(0, variable.find('=')));
    }
    return result;
}

std::string own_variable(const char* variable) {
    return ProcessEnvironment().text(variable);
}

std::vector<std::string> own_command_line() {
    std::vector<std::string> arguments;
    const auto text = read_regular_file("/proc/self/cmdline");
    std::string_view rest = text ? std::string_view(*text) : std::string_view();
    while (!rest.empty()) arguments.emplace_back(take_until(rest, '\0'));
    return arguments;
}

std::string own_plugin_file() {
    const Dl_info own = own_object();
    return own.dli_fname == nullptr ? "" : own.dli_fname;
}

FileRoot file_root() {
    struct stat root {};
    if (stat("/", &root) != 0) return {};
    return {root.st_dev, root.st_ino};
}

bool stands_before(std::string_view file_name) {
    Walk walk{file_name, reinterpret_cast<std::uintptr_t>(own_object().dli_fbase)};
    dl_iterate_phdr(visit, &walk);
    return walk.sought_after_own;
}

}  // namespace distgpu
