#include "check_config/judge_plugstack.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "check_config/trusted_file.h"
#include "slurm/plugstack_arguments.h"
#include "slurm/pyxis_order.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace distgpu {
namespace {

using Errors = std::vector<Error>;

constexpr std::string_view own_name = "spank_distgpu.so";

bool names(const ConfigLine& line, std::string_view plugin) {
    return std::filesystem::path(line.plugin).filename() == plugin;
}

std::string place_of(const ConfigLine& line) {
    return formatted("{}:{}", line.file, line.number);
}

bool is_there(const std::string& path) {
    std::error_code none;
    return std::filesystem::exists(path, none);
}

// What becomes of launches where Slurm cannot load the plugin.
std::string consequence(const ConfigLine& line) {
    return line.required ? "so every srun, sbatch and salloc would fail"
                         : "so every srun would complain and do without it";
}

class Judge {
  public:
    Judge(const std::vector<ConfigLine>& lines, const SlurmHere& slurm)
        : lines_(lines), slurm_(slurm) {}

    Errors of(std::size_t index) const {
        const ConfigLine& line = lines_[index];
        if (line.ignored) return {*line.ignored};
        Errors errors;
        add(errors, of_file(line));
        if (names(line, own_name)) add_own(errors, index);
        return errors;
    }

    Error missing() const {
        return {std::string(own_name), "no line loads it, so there is no --distgpu",
                formatted("add 'required {}'", slurm_.own_plugin)};
    }

  private:
    static void add(Errors& errors, std::optional<Error> error) {
        if (error) errors.push_back(*std::move(error));
    }

    // The plugin's path, as Slurm looks it up.
    Result<std::string> path_of(const ConfigLine& line) const {
        if (line.plugin.front() == '/') return line.plugin;
        if (!slurm_.plugin_folders) {
            return Error{line.plugin,
                         formatted("Slurm's PluginDir is unknown: {}: {}",
                                   slurm_.plugin_folders.error().object,
                                   slurm_.plugin_folders.error().problem),
                         "write the whole path"};
        }
        for (const std::string& folder : *slurm_.plugin_folders) {
            std::string path = (std::filesystem::path(folder) / line.plugin).string();
            if (is_there(path)) return path;
        }
        return Error{line.plugin,
                     formatted("not in Slurm's PluginDir ({}), {}",
                               join(*slurm_.plugin_folders, ", "), consequence(line)),
                     where_it_is(line)};
    }

    std::string where_it_is(const ConfigLine& line) const {
        if (!names(line, own_name)) return "write the path of a file that is there";
        if (is_there(slurm_.own_plugin)) return formatted("write {}", slurm_.own_plugin);
        return "write its path, or install the package slurm-spank-distgpu on this host";
    }

    std::optional<Error> of_file(const ConfigLine& line) const {
        const auto path = path_of(line);
        if (!path) return path.error();
        if (!is_there(*path)) {
            return Error{*path, "no such file, " + consequence(line), where_it_is(line)};
        }
        if (auto fault = file_fault(*path, FileUse::read)) return fault;
        return of_release(line, *path);
    }

    std::optional<Error> of_release(const ConfigLine& line, const std::string& path) const {
        const auto built = release_of_plugin(path);
        if (!built) {
            return Error{built.error().object,
                         formatted("{}, {}", built.error().problem, consequence(line)),
                         built.error().remedy};
        }
        if (!is_plugin(path)) {
            return Error{
                path,
                "no plugin of Slurm: it has no plugin_name and plugin_type, " + consequence(line),
                where_it_is(line)};
        }
        if (!*built) {
            if (!names(line, own_name)) return std::nullopt;
            return Error{path, "no plugin of Slurm: it has no plugin_version", where_it_is(line)};
        }
        if (!slurm_.release) {
            return Error{path,
                         formatted("built for Slurm {}, and the release of this host is unknown: "
                                   "{}: {}",
                                   text_of(**built), slurm_.release.error().object,
                                   slurm_.release.error().problem),
                         "check it on a host that has Slurm's commands"};
        }
        if (**built == *slurm_.release) return std::nullopt;
        return Error{path,
                     formatted("built for Slurm {}, and this host has {}, {}", text_of(**built),
                               text_of(*slurm_.release), consequence(line)),
                     formatted("install the one for {}", text_of(*slurm_.release))};
    }

    void add_own(Errors& errors, std::size_t index) const {
        const ConfigLine& line = lines_[index];
        add(errors, twice(index));
        if (!line.required) {
            errors.push_back({"optional",
                              "Slurm would start a step all the same when distgpu refuses it",
                              "write required"});
        }
        add(errors, before_pyxis_line(index));
        add_arguments(errors, line);
    }

    std::optional<Error> twice(std::size_t index) const {
        const auto end = lines_.begin() + static_cast<std::ptrdiff_t>(index);
        const auto first = std::find_if(
            lines_.begin(), end, [](const ConfigLine& line) { return names(line, own_name); });
        if (first == end) return std::nullopt;
        return Error{lines_[index].plugin,
                     formatted("listed already in {}, and every srun would say that --distgpu is "
                               "provided by both",
                               place_of(*first)),
                     "take one of the two lines out"};
    }

    std::optional<Error> before_pyxis_line(std::size_t index) const {
        const auto begin = lines_.begin() + static_cast<std::ptrdiff_t>(index);
        const auto pyxis = std::find_if(
            begin, lines_.end(), [](const ConfigLine& line) { return names(line, pyxis_plugin); });
        if (pyxis == lines_.end()) return std::nullopt;
        return Error{lines_[index].plugin, std::string(before_pyxis),
                     formatted("put it after {}{}", place_of(*pyxis),
                               pyxis->file == lines_[index].file
                                   ? ""
                                   : ", as in a file whose name sorts last: zz-distgpu.conf")};
    }

    void add_arguments(Errors& errors, const ConfigLine& line) const {
        std::vector<const char*> words;
        std::set<std::string_view> names;
        for (const std::string& word : line.arguments) {
            const std::string_view name = std::string_view(word).substr(0, word.find('='));
            if (word.find_first_of("\"'") != std::string::npos) {
                errors.push_back({word, "Slurm takes the quotes for a part of the argument",
                                  "write it without quotes"});
                continue;
            }
            words.push_back(word.c_str());
            if (names.insert(name).second) continue;
            errors.push_back({word, formatted("{}= stands twice, and the last one counts", name),
                              "take one of the two out"});
        }
        const PlugstackArguments arguments = parse_plugstack_arguments(words);
        errors.insert(errors.end(), arguments.complaints.begin(), arguments.complaints.end());
        add(errors, of_ports(arguments.ports));
        if (!arguments.command.empty()) {
            add(errors, named("command=" + arguments.command, of_command(arguments.command)));
        }
        if (arguments.topology.empty()) return;
        add(errors, of_placeholders(arguments.topology));
        // A file of each node, in a folder that all have.
        const std::string constant = arguments.topology.substr(0, arguments.topology.find('%'));
        add(errors, named("topology=" + arguments.topology,
                          constant == arguments.topology ? file_fault(constant, FileUse::read)
                                                         : folder_fault(constant)));
    }

    static std::optional<Error> of_command(const std::string& path) {
        if (auto fault = file_fault(path, FileUse::execute)) return fault;
        if (!is_another_program(path)) return std::nullopt;
        return Error{path, "another program than distgpu, whose topology steps would wait for",
                     "name the file of the command distgpu, or leave it out"};
    }

    static std::optional<Error> of_placeholders(const std::string& topology) {
        for (std::size_t at = 0; (at = topology.find('%', at)) != std::string::npos; at += 2) {
            const std::string placeholder = topology.substr(at, 2);
            if (placeholder == "%n" || placeholder == "%h" || placeholder == "%%") continue;
            return Error{"topology=" + topology, formatted("{} stands for nothing", placeholder),
                         "write %n for the node's name in Slurm, %h for its host name, %% for %"};
        }
        return std::nullopt;
    }

    // Where the kernel may give a port of the range to any connection of this host.
    std::optional<Error> of_ports(PortRange ports) const {
        const auto first = std::max(ports.first, slurm_.ephemeral_ports.first);
        const auto last = std::min(ports.last, slurm_.ephemeral_ports.last);
        const auto is_kept = [&](std::uint32_t port) {
            return std::any_of(
                slurm_.kept_ports.begin(), slurm_.kept_ports.end(),
                [&](PortRange kept) { return kept.first <= port && port <= kept.last; });
        };
        std::uint32_t port = first;
        while (port <= last && is_kept(port)) ++port;
        if (port > last) return std::nullopt;
        return Error{
            formatted("ports={}-{}", ports.first, ports.last),
            formatted("the kernel of this host gives ports {}-{} to any connection that goes "
                      "out (net.ipv4.ip_local_port_range)",
                      slurm_.ephemeral_ports.first, slurm_.ephemeral_ports.last),
            "give a range outside, or keep yours free with net.ipv4.ip_local_reserved_ports"};
    }

    static std::optional<Error> named(std::string argument, std::optional<Error> fault) {
        if (fault) fault->object = std::move(argument);
        return fault;
    }

    const std::vector<ConfigLine>& lines_;
    const SlurmHere& slurm_;
};

}  // namespace

std::string Remark::text() const {
    const std::string place = line == 0 ? file : formatted("{}:{}", file, line);
    return formatted("{}: {}: {}; {}", printable(place), printable(error.object),
                     printable(error.problem), printable(error.remedy));
}

std::vector<Remark> judge_plugstack(const std::string& file, const std::vector<ConfigLine>& lines,
                                    const SlurmHere& slurm) {
    const Judge judge(lines, slurm);
    std::vector<Remark> remarks;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        for (Error& error : judge.of(i)) {
            remarks.push_back({lines[i].file, lines[i].number, std::move(error)});
        }
    }
    const bool has_own = std::any_of(lines.begin(), lines.end(),
                                     [](const ConfigLine& line) { return names(line, own_name); });
    if (!has_own) remarks.push_back({file, 0, judge.missing()});
    return remarks;
}

}  // namespace distgpu
