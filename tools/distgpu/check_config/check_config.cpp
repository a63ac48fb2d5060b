// `distgpu check-config`: what is wrong with plugstack.conf, before every srun reads it.
#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"
#include "check_config/plugstack.h"
#include "command_line.h"
#include "node/machine.h"
#include "output.h"
#include "slurm/plugstack_arguments.h"
#include "slurm/slurm_conf.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <sys/stat.h>
#include <system_error>

namespace distgpu {
namespace {

using Path = std::filesystem::path;

constexpr std::string_view own_name = "spank_distgpu.so";

bool is_own(const ConfigLine& line) {
    return file_name(line.plugin) == own_name;
}

bool is_there(const std::string& path) {
    std::error_code none;
    return std::filesystem::exists(path, none);
}

// What a file has to give to others than root.
constexpr mode_t readable = S_IROTH;
constexpr mode_t executable = S_IROTH | S_IXOTH;

// Why the processes of root and of every user cannot use a file, folder or link, or who else than
// root could replace it. `name`: of it, for a message.
std::optional<Error> fault_of(const std::string& object, const std::string& at,
                              const std::string& name, mode_t needed) {
    struct stat status {};
    if (lstat(at.c_str(), &status) != 0) {
        return Error{object, std::strerror(errno), "name a file that is there"};
    }
    if (status.st_uid != 0) {
        constexpr const char* problem =
            "{} belongs to user {}, who could put anything in its place";
        return Error{object, formatted(problem, name, status.st_uid), "chown -h root " + at};
    }
    if (S_ISLNK(status.st_mode)) return std::nullopt;  // what it leads to has rights of its own
    const bool is_folder = S_ISDIR(status.st_mode);
    const bool keeps_entries = is_folder && (status.st_mode & S_ISVTX) != 0;
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !keeps_entries) {
        return Error{object, name + " may be changed by others than root", "chmod go-w " + at};
    }
    if (is_folder) needed = S_IXOTH;
    if ((status.st_mode & needed) == needed) return std::nullopt;
    const char* const rights = is_folder ? "x" : needed == executable ? "rx" : "r";
    return Error{object, "users have no access to " + name, formatted("chmod a+{} {}", rights, at)};
}

// The first fault of the file, or of the folder that ends with '/', and of all folders above it, as
// written and where its links lead.
std::optional<Error> fault_along(const std::string& object, const std::string& path,
                                 mode_t needed) {
    std::error_code failed;
    const Path real = std::filesystem::canonical(path, failed);
    if (failed) return Error{object, failed.message(), "name a file that is there"};
    if (!path.ends_with('/') && !std::filesystem::is_regular_file(real, failed)) {
        return Error{object, "not a regular file", "name a regular file"};
    }
    for (const Path& whole : {Path(path).lexically_normal(), real}) {
        Path at;
        for (const Path& part : whole) {
            if (part.empty()) continue;
            at /= part;
            auto fault = fault_of(object, at, at == path ? "it" : at.string(), needed);
            if (fault) return fault;
        }
    }
    return std::nullopt;
}

// Says one line "FILE:LINE: OBJECT: PROBLEM; REMEDY" for each mistake, in the order of the lines.
// What is said of a file holds for each plugin, the rest for distgpu's.
class Judge {
  public:
    Judge(const std::vector<ConfigLine>& lines, const Environment& environment)
        : lines_(lines), environment_(environment), release_(slurm_release(environment)) {}

    // `file`: the one that includes the others.
    std::string of(const std::string& file) {
        for (auto line = lines_.begin(); line != lines_.end(); ++line) {
            place_ = place_of(*line);
            say(line->ignored);
            if (line->ignored) continue;
            judge_file(*line);
            if (!is_own(*line)) continue;
            judge_place(line);
            judge_arguments(*line);
        }
        place_ = file;
        if (std::none_of(lines_.begin(), lines_.end(), is_own)) {
            say(std::string(own_name), "no line loads it, so there is no --distgpu",
                "add 'required " DISTGPU_PLUGIN_FILE "'");
        }
        return text_;
    }

  private:
    static std::string place_of(const ConfigLine& line) {
        return formatted("{}:{}", line.file, line.number);
    }

    void say(const std::string& object, const std::string& problem, const std::string& remedy) {
        text_ += printable(formatted("{}: {}: {}; {}", place_, object, problem, remedy)) + '\n';
    }
    void say(const std::optional<Error>& fault) {
        if (fault) say(fault->object, fault->problem, fault->remedy);
    }

    void judge_file(const ConfigLine& line) {
        // What becomes of launches where Slurm cannot load the plugin.
        const std::string so = line.required ? ", so every srun, sbatch and salloc would fail"
                                             : ", so every srun would complain and do without it";
        const std::string where =
            !is_own(line) ? "write the path of a file that is there"
            : is_there(DISTGPU_PLUGIN_FILE)
                ? "write " DISTGPU_PLUGIN_FILE
                : "write its path, or install the package slurm-spank-distgpu on this host";
        std::string path = line.plugin;
        if (path.front() != '/') {
            if (!folders_) folders_ = plugin_folders(environment_);
            if (!*folders_) {
                return say(path, "Slurm's PluginDir is unknown: " + folders_->error().cause(),
                           "write the whole path");
            }
            const auto folder = std::ranges::find_if(
                **folders_, [&](const std::string& each) { return is_there(Path(each) / path); });
            if (folder == (*folders_)->end()) {
                const std::string folders = join(**folders_, ", ");
                return say(path, formatted("not in Slurm's PluginDir ({}){}", folders, so), where);
            }
            path = Path(*folder) / path;
        }
        if (!is_there(path)) return say(path, "no such file" + so, where);
        if (const auto fault = fault_along(path, path, readable)) return say(fault);
        const auto release = plugin_release(path);
        if (!release) {
            const Error& error = release.error();
            return say(path, error.problem + so, error.remedy.empty() ? where : error.remedy);
        }
        if (release->empty()) {
            if (is_own(line)) say(path, "no plugin of Slurm: it has no plugin_version", where);
        } else if (!release_) {
            say(path,
                formatted("built for Slurm {}, and the release of this host is unknown: {}",
                          *release, release_.error().cause()),
                "check it on a host that has Slurm's commands");
        } else if (*release != *release_) {
            say(path,
                formatted("built for Slurm {}, and this host has {}{}", *release, *release_, so),
                "install the one for " + *release_);
        }
    }

    void judge_place(std::vector<ConfigLine>::const_iterator line) {
        if (const auto first = std::find_if(lines_.begin(), line, is_own); first != line) {
            say(line->plugin,
                formatted("listed already in {}, and every srun would say that --distgpu is "
                          "provided by both",
                          place_of(*first)),
                "take one of the two lines out");
        }
        if (!line->required) {
            say("optional", "Slurm would start a step all the same when distgpu refuses it",
                "write required");
        }
        const auto pyxis = std::find_if(line, lines_.end(), [](const ConfigLine& each) {
            return file_name(each.plugin) == pyxis_plugin;
        });
        if (pyxis == lines_.end()) return;
        const char* const sorts_last =
            pyxis->file == line->file ? ""
                                      : ", as in a file whose name sorts last: zz-distgpu.conf";
        say(line->plugin, std::string(before_pyxis),
            formatted("put it after {}{}", place_of(*pyxis), sorts_last));
    }

    void judge_arguments(const ConfigLine& line) {
        std::vector<const char*> words;
        std::set<std::string_view> names;
        for (const std::string& word : line.arguments) {
            const std::string_view name = std::string_view(word).substr(0, word.find('='));
            if (word.find_first_of("\"'") != std::string::npos) {
                say(word, "Slurm takes the quotes for a part of the argument",
                    "write it without quotes");
                continue;
            }
            words.push_back(word.c_str());
            if (names.insert(name).second) continue;
            say(word, formatted("{}= stands twice, and the last one counts", name),
                "take one of the two out");
        }
        const PlugstackArguments arguments = parse_plugstack_arguments(words);
        for (const Error& complaint : arguments.complaints) say(complaint);
        judge_ports(arguments.ports);
        if (const std::string& path = arguments.command; !path.empty()) {
            auto fault = fault_along("command=" + path, path, executable);
            if (!fault && is_another_program(path)) {
                fault = Error{"command=" + path,
                              "another program than distgpu, whose topology steps would wait for",
                              "name the file of the command distgpu, or leave it out"};
            }
            say(fault);
        }
        if (!arguments.topology.empty()) judge_topology(arguments.topology);
    }

    void judge_topology(const std::string& path) {
        const std::string object = "topology=" + path;
        const std::size_t first = path.find('%');
        for (std::size_t at = first; at != std::string::npos; at = path.find('%', at + 2)) {
            const std::string placeholder = path.substr(at, 2);
            if (has_word("%n %h %%", placeholder)) continue;
            say(object, placeholder + " stands for nothing",
                "write %n for the node's name in Slurm, %h for its host name, %% for %");
            break;
        }
        // With a placeholder: a file of each node, in a folder that all have.
        const std::string folder = path.substr(0, path.rfind('/', first) + 1);
        say(fault_along(object, first == std::string::npos ? path : folder, readable));
    }

    // Where the kernel may give a port of the range to any connection of this host.
    void judge_ports(PortRange ports) {
        const auto of_kernel = [](const char* file) {
            std::string list = read_trimmed(std::string("/proc/sys/net/ipv4/") + file).value_or("");
            std::ranges::replace(list, '\t', '-');
            return list;
        };
        const std::string kept = of_kernel("ip_local_reserved_ports");
        const std::string given = of_kernel("ip_local_port_range");
        for (std::uint32_t port = ports.first; port <= ports.last; ++port) {
            if (!has_port(given, port) || has_port(kept, port)) continue;
            return say(formatted("ports={}-{}", ports.first, ports.last),
                       formatted("the kernel of this host gives ports {} to any connection that "
                                 "goes out (net.ipv4.ip_local_port_range)",
                                 given),
                       "give a range outside, or keep yours free with "
                       "net.ipv4.ip_local_reserved_ports");
        }
    }

    const std::vector<ConfigLine>& lines_;
    const Environment& environment_;
    Result<std::string> release_;
    std::optional<Result<std::vector<std::string>>> folders_;  // once a line needs them
    std::string place_;                                        // of what is judged
    std::string text_;
};

ExitCode run_check_config(const std::optional<std::string>& given) {
    const ProcessEnvironment environment;
    const std::string file = given.value_or(plugstack_path(environment));
    const auto lines = read_plugstack(file);
    if (!lines) return complain(lines.error(), ExitCode::environment);
    const std::string text = Judge(*lines, environment).of(file);
    return print_or_complain(text, text.empty() ? ExitCode::done : ExitCode::check_failed);
}

}  // namespace

Subcommand check_config_subcommand() {
    const auto file = std::make_shared<std::optional<std::string>>();
    return {.name = "check-config",
            .help =
                "Check plugstack.conf on this host: paths, Slurm's release, order and arguments, "
                "before every srun reads it.",
            .options = {{"FILE", file.get(),
                         "The file to check (default: the one that slurm.conf names)"}},
            .run = [file] { return run_check_config(*file); }};
}

}  // namespace distgpu
