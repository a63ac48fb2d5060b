#include "report/report_files.h"

#include "base/format.h"
#include "base/values.h"

#include <algorithm>
#include <optional>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

// A report of 1,024 ranks with full series.
constexpr std::size_t max_size = std::size_t{64} << 20U;

constexpr std::string_view default_prefix = "distgpu-";
constexpr std::string_view default_suffix = ".json";

Result<StepReport> read_part(const std::string& file) {
    return read_regular_file(file, max_size).and_then([&](const std::string& text) {
        auto report = read_report(text);
        if (report) return Result<StepReport>(*std::move(report));
        return Result<StepReport>(
            Error{file, "not a report that this distgpu can read",
                  "name the file of the key report; if a newer distgpu wrote it, use that one"});
    });
}

std::pair<std::string, std::string> folder_and_name(const std::string& file) {
    const std::size_t slash = file.rfind('/');
    if (slash == std::string::npos) return {".", file};
    return {file.substr(0, slash + 1), file.substr(slash + 1)};
}

// The files of single nodes: "FILE.NODE". A temporary file, "FILE.NODE.new0", does not count.
std::vector<std::string> parts_of(const std::string& file) {
    const auto [folder, name] = folder_and_name(file);
    std::vector<std::string> parts;
    for (const std::string& each : files_in(folder)) {
        if (!each.starts_with(name + ".") || each.find(".new", name.size()) != std::string::npos) {
            continue;
        }
        parts.push_back(file + each.substr(name.size()));
    }
    return parts;
}

std::uint32_t lowest_rank(const NodeReport& node) {
    return node.ranks.empty() ? UINT32_MAX : node.ranks.front().rank;
}

std::optional<StepReport> merged(const std::vector<std::string>& parts) {
    std::optional<StepReport> whole;
    for (const std::string& part : parts) {
        auto report = read_part(part);
        // Another file with such a name is left alone.
        if (!report || (whole && report->step != whole->step)) continue;
        if (!whole) {
            whole = *std::move(report);
            continue;
        }
        for (NodeReport& node : report->reports) whole->reports.push_back(std::move(node));
    }
    if (whole) {
        std::ranges::sort(whole->reports, {}, [](const NodeReport& node) {
            return std::pair(lowest_rank(node), node.node);
        });
    }
    return whole;
}

}  // namespace

std::string node_file(const std::string& file, std::string_view node, std::uint32_t nodes) {
    return nodes == 1 ? file : formatted("{}.{}", file, node);
}

Result<StepReport> read_step_report(const std::string& file) {
    if (access(file.c_str(), F_OK) == 0) return read_part(file);
    if (auto report = merged(parts_of(file))) return *std::move(report);
    return Error{file, "no report there, nor one of a single node",
                 "name the file that report=PATH named, or run this in the step's folder"};
}

Result<std::string> find_report(const std::string& name, const std::string& folder) {
    if (name.find('/') != std::string::npos || access(name.c_str(), F_OK) == 0) return name;
    const bool is_step = name.find('.') != std::string::npos;
    const std::string prefix = formatted("{}{}{}", default_prefix, name, is_step ? "" : ".");
    std::optional<std::pair<std::uint32_t, std::string>> found;
    for (const std::string& file : files_in(folder)) {
        const std::size_t end = file.find(default_suffix);
        if (!file.starts_with(prefix) || end == std::string::npos || end < prefix.size()) continue;
        const std::string step = file.substr(prefix.size(), end - prefix.size());
        if (is_step != step.empty()) continue;
        const std::uint32_t number = whole_number(step).value_or(0);
        if (found && number < found->first) continue;
        found = {number, folder + "/" + file.substr(0, end + default_suffix.size())};
    }
    if (found) return found->second;
    return Error{name, formatted("no report of that step in {}", folder),
                 "run this in the folder where the step began, or name the report's file"};
}

bool merge_parts(const std::string& file) {
    const std::vector<std::string> parts = parts_of(file);
    const auto whole = merged(parts);
    const bool is_whole = whole && whole->reports.size() == whole->nodes &&
                          std::ranges::all_of(whole->reports, &NodeReport::is_complete);
    if (!is_whole || access(file.c_str(), F_OK) == 0) return false;
    if (!replace_file(file, report_json(*whole) + '\n', Readers::owner)) return false;
    for (const std::string& part : parts) {
        if (const auto report = read_part(part); report && report->step == whole->step) {
            unlink(part.c_str());
        }
    }
    return true;
}

}  // namespace distgpu
