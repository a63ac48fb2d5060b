#include "node/out_of_memory.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"

#include <algorithm>
#include <optional>
#include <sys/stat.h>
#include <vector>

namespace distgpu {
namespace {

// The names of the files in both versions of control groups.
struct Names {
    const char* events;  // has the line "oom_kill N"
    const char* limit;
    const char* peak;
};
constexpr Names version1{"memory.oom_control", "memory.limit_in_bytes",
                         "memory.max_usage_in_bytes"};
// Linux before 5.19 has no memory.peak.
constexpr Names version2{"memory.events", "memory.max", "memory.peak"};

struct Group {
    std::string folder;  // of the step
    const Names* names;
};

// The step's part of "/slurm/uid_1000/job_7/step_0/user"; empty if there is none.
std::string step_part(std::string_view group) {
    const std::size_t step = group.find("/step_");
    if (step == std::string_view::npos) return {};
    return std::string(group.substr(0, group.find('/', step + 1)));
}

// The group's folder; empty if there is none. Where slurmd runs in a container, what is mounted is
// a folder within the hierarchy, so the path may begin with folders that are not seen here.
std::string existing_folder(const std::string& root, std::string_view group) {
    while (!group.empty()) {
        std::string folder = root + std::string(group);
        struct stat status {};
        if (stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return folder;
        group.remove_prefix(std::min(group.find('/', 1), group.size()));
    }
    return {};
}

// Source: cgroups(7), /proc/pid/cgroup.
std::optional<Group> find_group(std::string_view own_groups, const std::string& root) {
    while (!own_groups.empty()) {
        std::string_view group = cut_until(own_groups, '\n');
        cut_until(group, ':');
        const std::string_view controllers = cut_until(group, ':');
        const std::string step = step_part(group);
        if (step.empty()) continue;
        if (controllers == "memory")
            return Group{existing_folder(root + "/memory", step), &version1};
        if (controllers.empty()) return Group{existing_folder(root, step), &version2};
    }
    return std::nullopt;
}

// Version 1 counts a kill in the group of the killed process alone, which may be the task's.
bool has_killed(const std::string& folder, const Names& names) {
    std::vector<std::string> groups = files_in(folder);
    std::erase_if(groups, [](const std::string& name) { return !name.starts_with("task_"); });
    groups.emplace_back(".");
    return std::ranges::any_of(groups, [&](const std::string& group) {
        const auto events = read_trimmed(formatted("{}/{}/{}", folder, group, names.events));
        return events && whole_number(value_after(*events, "oom_kill ")).value_or(0) > 0;
    });
}

// In bytes.
std::optional<std::uint64_t> amount(const std::string& folder, const char* file) {
    const auto text = read_trimmed(formatted("{}/{}", folder, file));
    return text ? whole_number_64(*text) : std::nullopt;
}

}  // namespace

std::string out_of_memory_text(const std::string& own_groups, const std::string& root) {
    const auto group = find_group(own_groups, root);
    if (!group || group->folder.empty() || !has_killed(group->folder, *group->names)) return {};
    const auto limit = amount(group->folder, group->names->limit);
    const auto peak = amount(group->folder, group->names->peak);
    constexpr double gibibyte = 1U << 30U;
    // Without a limit of its own the step has the job's; version 1 then shows 2^63.
    constexpr std::uint64_t unlimited = std::uint64_t{1} << 50U;
    if (!limit || !peak || *limit >= unlimited) return "out of memory";
    return formatted("out of memory ({:.1f} of {:.1f} GiB)", static_cast<double>(*peak) / gibibyte,
                     static_cast<double>(*limit) / gibibyte);
}

}  // namespace distgpu
