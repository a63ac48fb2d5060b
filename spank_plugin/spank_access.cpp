#include "spank_access.h"

#include "base/io/files.h"
#include "base/values.h"
#include "node/machine.h"

#include <cstring>
#include <link.h>
#include <sys/stat.h>

namespace distgpu {
namespace {

// A search in this process's list of loaded objects, which is in the order of loading.
struct LoadOrderSearch {
    std::string_view sought;
    std::string_view own;  // this plugin's file
    bool own_seen = false;
    bool sought_after_own = false;
};

int visit_object(dl_phdr_info* object, std::size_t /*size*/, void* data) {
    auto& search = *static_cast<LoadOrderSearch*>(data);
    if (search.own_seen && file_name(object->dlpi_name) == search.sought) {
        search.sought_after_own = true;
    }
    if (object->dlpi_name == search.own) search.own_seen = true;
    return 0;
}

}  // namespace

std::optional<std::uint32_t> read_item(spank_t spank, spank_item_t which) {
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

bool prepend_to_program(spank_t spank, const std::vector<std::string>& words) {
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

void print_to_user(const std::string& line) {
    slurm_spank_log("%s", line.c_str());
}

// Searches the environment itself: spank_getenv() copies into a buffer whose size the caller
// guesses.
std::optional<std::string> StepVariables::get(const std::string& name) const {
    const char first = name.c_str()[0];
    for (char** next = environment(); next != nullptr && *next != nullptr; ++next) {
        const char* const variable = *next;
        if (variable[0] != first) continue;  // cheaper than a call for each variable
        if (std::strncmp(variable, name.c_str(), name.size()) == 0 &&
            variable[name.size()] == '=') {
            return variable + name.size() + 1;
        }
    }
    return std::nullopt;
}

// spank_setenv() returns success although it dropped a value that is too long (128 KiB with the
// name: setenvf() in env.c, 22.05 to 26.05), so a long value is read back.
bool StepVariables::set(const std::string& name, const std::string& value) {
    constexpr int overwrite = 1;
    constexpr std::size_t short_value = 4096;
    return spank_setenv(spank_, name.c_str(), value.c_str(), overwrite) == ESPANK_SUCCESS &&
           (value.size() <= short_value || get(name) == value);
}

void StepVariables::unset(const std::string& name) {
    spank_unsetenv(spank_, name.c_str());
}

std::vector<std::string> StepVariables::names() const {
    std::vector<std::string> result;
    for (char** next = environment(); next != nullptr && *next != nullptr; ++next) {
        const std::string_view variable = *next;
        result.emplace_back(variable.substr(0, variable.find('=')));
    }
    return result;
}

EnvironmentCopy StepVariables::copy() const {
    EnvironmentCopy copy;
    for (char** next = environment(); next != nullptr && *next != nullptr; ++next) {
        copy.add_entry(*next);
    }
    return copy;
}

char** StepVariables::environment() const {
    char** environment = nullptr;
    const spank_err_t rc = spank_get_item(spank_, S_JOB_ENV, &environment);
    return rc == ESPANK_SUCCESS ? environment : nullptr;
}

std::string process_variable(const char* variable) {
    return ProcessEnvironment().text(variable);
}

std::vector<std::string> own_command_line() {
    std::vector<std::string> arguments;
    const auto text = read_regular_file("/proc/self/cmdline");
    std::string_view rest = text ? std::string_view(*text) : std::string_view();
    while (!rest.empty()) arguments.emplace_back(cut_until(rest, '\0'));
    return arguments;
}

FileRoot file_root() {
    struct stat root {};
    if (stat("/", &root) != 0) return {};
    return {root.st_dev, root.st_ino};
}

bool is_loaded_before(const char* plugin_file, std::string_view file_name) {
    LoadOrderSearch search{file_name, plugin_file};
    dl_iterate_phdr(visit_object, &search);
    return search.sought_after_own;
}

}  // namespace distgpu
