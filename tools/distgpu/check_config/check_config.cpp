// `distgpu check-config`: reports mistakes in plugstack.conf before every srun reads it.
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

constexpr std::string_view own_plugin = "spank_distgpu.so";

bool is_own_plugin(const ConfigLine& line) {
    return file_name(line.plugin) == own_plugin;
}

bool file_exists(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

// The permissions that users other than root need.
constexpr mode_t readable = S_IROTH;
constexpr mode_t executable = S_IROTH | S_IXOTH;

// Why root or some user cannot use the file, folder or link `at`, or who other than root could
// replace it. `name`: what the message calls it.
std::optional<Error> check_permissions(const std::string& object, const std::string& at,
                                       const std::string& name, mode_t needed) {
    struct stat status {};
    if (lstat(at.c_str(), &status) != 0) {
        return Error{object, std::strerror(errno), "name an existing file"};
    }
    if (status.st_uid != 0) {
        return Error{object,
                     formatted("{} belongs to user {}, who could replace it", name, status.st_uid),
                     "chown -h root " + at};
    }
    if (S_ISLNK(status.st_mode)) return std::nullopt;  // its target is checked separately
    const bool is_folder = S_ISDIR(status.st_mode);
    const bool keeps_entries = is_folder && (status.st_mode & S_ISVTX) != 0;
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !keeps_entries) {
        return Error{object, "users other than root can change " + name, "chmod go-w " + at};
    }
    if (is_folder) needed = S_IXOTH;
    if ((status.st_mode & needed) == needed) return std::nullopt;
    const char* const rights = is_folder ? "x" : needed == executable ? "rx" : "r";
    return Error{object, "users have no access to " + name, formatted("chmod a+{} {}", rights, at)};
}

// The first permission fault of the file, or of the folder if `path` ends with '/', and of all
// folders above it, both as written and with links resolved.
std::optional<Error> check_path(const std::string& object, const std::string& path, mode_t needed) {
    std::error_code failed;
    const Path real = std::filesystem::canonical(path, failed);
    if (failed) return Error{object, failed.message(), "name an existing file"};
    if (!path.ends_with('/') && !std::filesystem::is_regular_file(real, failed)) {
        return Error{object, "not a regular file", "name a regular file"};
    }
    for (const Path& whole : {Path(path).lexically_normal(), real}) {
        Path at;
        for (const Path& part : whole) {
            if (part.empty()) continue;
            at /= part;
            auto fault = check_permissions(object, at, at == path ? "it" : at.string(), needed);
            if (fault) return fault;
        }
    }
    return std::nullopt;
}

// Lists the mistakes in the order of the lines, one per line: "FILE:LINE: OBJECT: PROBLEM; REMEDY".
// Checks the file of every plugin, and everything else only for distgpu's.
class ConfigChecker {
  public:
    ConfigChecker(const std::vector<ConfigLine>& lines, const Environment& environment)
        : lines_(lines), environment_(environment), release_(slurm_release(environment)) {}

    // `file`: the one that includes the others.
    std::string list_mistakes(const std::string& file) {
        for (auto line = lines_.begin(); line != lines_.end(); ++line) {
            location_ = location_of(*line);
            add_mistake(line->ignored);
            if (line->ignored) continue;
            check_file(*line);
            if (!is_own_plugin(*line)) continue;
            check_position(line);
            check_arguments(*line);
        }
        location_ = file;
        if (std::none_of(lines_.begin(), lines_.end(), is_own_plugin)) {
            add_mistake(std::string(own_plugin), "no line loads it, so there is no --distgpu",
                        "add 'required " DISTGPU_PLUGIN_FILE "'");
        }
        return text_;
    }

  private:
    static std::string location_of(const ConfigLine& line) {
        return formatted("{}:{}", line.file, line.number);
    }

    void add_mistake(const std::string& object, const std::string& problem,
                     const std::string& remedy) {
        text_ += printable(formatted("{}: {}: {}; {}", location_, object, problem, remedy)) + '\n';
    }
    void add_mistake(const std::optional<Error>& fault) {
        if (fault) add_mistake(fault->object, fault->problem, fault->remedy);
    }

    void check_file(const ConfigLine& line) {
        // If Slurm cannot load the plugin.
        const std::string effect = line.required
                                       ? ", so every srun, sbatch and salloc would fail"
                                       : ", so every srun would print an error and run without it";
        const std::string remedy =
            !is_own_plugin(line) ? "write the path of an existing file"
            : file_exists(DISTGPU_PLUGIN_FILE)
                ? "write " DISTGPU_PLUGIN_FILE
                : "write its path, or install the package slurm-spank-distgpu on this host";
        std::string path = line.plugin;
        if (path.front() != '/') {
            if (!folders_) folders_ = plugin_folders(environment_);
            if (!*folders_) {
                return add_mistake(path,
                                   "Slurm's PluginDir is unknown: " + folders_->error().cause(),
                                   "write the whole path");
            }
            const auto folder = std::ranges::find_if(**folders_, [&](const std::string& each) {
                return file_exists(Path(each) / path);
            });
            if (folder == (*folders_)->end()) {
                const std::string folders = join(**folders_, ", ");
                return add_mistake(
                    path, formatted("not in Slurm's PluginDir ({}){}", folders, effect), remedy);
            }
            path = Path(*folder) / path;
        }
        if (!file_exists(path)) return add_mistake(path, "no such file" + effect, remedy);
        if (const auto fault = check_path(path, path, readable)) return add_mistake(fault);
        const auto release = plugin_release(path);
        if (!release) {
            const Error& error = release.error();
            return add_mistake(path, error.problem + effect,
                               error.remedy.empty() ? remedy : error.remedy);
        }
        if (release->empty()) {
            if (is_own_plugin(line)) {
                add_mistake(path, "not a Slurm plugin: it has no plugin_version", remedy);
            }
        } else if (!release_) {
            add_mistake(path,
                        formatted("built for Slurm {}, but the release of this host is unknown: {}",
                                  *release, release_.error().cause()),
                        "check it on a host that has Slurm's commands");
        } else if (*release != *release_) {
            add_mistake(path,
                        formatted("built for Slurm {}, but this host has {}{}", *release, *release_,
                                  effect),
                        "install the plugin for " + *release_);
        }
        if (is_own_plugin(line)) check_step_file(path);
    }

    // X_step.so, which the plugin X.so loads into a step that uses distgpu. It lies next to X.so
    // itself, not next to a link.
    void check_step_file(const std::string& plugin) {
        constexpr std::string_view ending = ".so";
        std::error_code failed;
        std::string path = std::filesystem::canonical(plugin, failed);
        if (path.ends_with(ending)) path.resize(path.size() - ending.size());
        path += "_step.so";
        if (file_exists(path)) return add_mistake(check_path(path, path, readable));
        add_mistake(path, "no such file, so every step with --distgpu would fail",
                    "install the plugin again, which has two files");
    }

    void check_position(std::vector<ConfigLine>::const_iterator line) {
        if (const auto first = std::find_if(lines_.begin(), line, is_own_plugin); first != line) {
            add_mistake(line->plugin,
                        formatted("already listed in {}, so every srun would report that both "
                                  "provide --distgpu",
                                  location_of(*first)),
                        "remove one of the two lines");
        }
        if (!line->required) {
            add_mistake("optional", "Slurm would still start a step that distgpu refuses",
                        "write required");
        }
        const auto pyxis = std::find_if(line, lines_.end(), [](const ConfigLine& each) {
            return file_name(each.plugin) == pyxis_plugin;
        });
        if (pyxis == lines_.end()) return;
        const char* const sorts_last =
            pyxis->file == line->file ? ""
                                      : ", as in a file whose name sorts last: zz-distgpu.conf";
        add_mistake(line->plugin, std::string(before_pyxis),
                    formatted("put it after {}{}", location_of(*pyxis), sorts_last));
    }

    void check_arguments(const ConfigLine& line) {
        std::vector<const char*> words;
        std::set<std::string_view> names;
        for (const std::string& word : line.arguments) {
            const std::string_view name = std::string_view(word).substr(0, word.find('='));
            if (word.find_first_of("\"'") != std::string::npos) {
                add_mistake(word, "Slurm treats the quotes as part of the argument",
                            "write it without quotes");
                continue;
            }
            words.push_back(word.c_str());
            if (names.insert(name).second) continue;
            add_mistake(word, formatted("{}= is given twice, and the last one is used", name),
                        "remove one of the two");
        }
        const PlugstackArguments arguments = parse_plugstack_arguments(words);
        for (const Error& error : arguments.ignored_arguments) add_mistake(error);
        check_ports(arguments.ports);
        if (const std::string& path = arguments.command; !path.empty()) {
            auto fault = check_path("command=" + path, path, executable);
            if (!fault && is_another_program(path)) {
                fault = Error{"command=" + path,
                              "not the distgpu command, so steps would wait for a topology in vain",
                              "give the path of the distgpu command, or leave it out"};
            }
            add_mistake(fault);
        }
        if (!arguments.topology.empty()) check_topology(arguments.topology);
    }

    void check_topology(const std::string& path) {
        const std::string object = "topology=" + path;
        const std::size_t first = path.find('%');
        for (std::size_t at = first; at != std::string::npos; at = path.find('%', at + 2)) {
            const std::string placeholder = path.substr(at, 2);
            if (has_word("%n %h %%", placeholder)) continue;
            add_mistake(object, placeholder + " is not a placeholder",
                        "write %n for the node's name in Slurm, %h for its host name, %% for %");
            break;
        }
        // A path with a placeholder has one file per node, in a folder that exists on all.
        const std::string folder = path.substr(0, path.rfind('/', first) + 1);
        add_mistake(check_path(object, first == std::string::npos ? path : folder, readable));
    }

    // A mistake if the kernel may assign a port of the range to any connection of this host.
    void check_ports(PortRange ports) {
        const auto read_ports = [](const char* file) {
            std::string list = read_trimmed(std::string("/proc/sys/net/ipv4/") + file).value_or("");
            std::ranges::replace(list, '\t', '-');
            return list;
        };
        const std::string reserved = read_ports("ip_local_reserved_ports");
        const std::string dynamic = read_ports("ip_local_port_range");
        for (std::uint32_t port = ports.first; port <= ports.last; ++port) {
            if (!has_port(dynamic, port) || has_port(reserved, port)) continue;
            return add_mistake(formatted("ports={}-{}", ports.first, ports.last),
                               formatted("the kernel of this host assigns ports {} to outgoing "
                                         "connections (net.ipv4.ip_local_port_range)",
                                         dynamic),
                               "use a range outside of it, or reserve yours with "
                               "net.ipv4.ip_local_reserved_ports");
        }
    }

    const std::vector<ConfigLine>& lines_;
    const Environment& environment_;
    Result<std::string> release_;
    std::optional<Result<std::vector<std::string>>> folders_;  // PluginDir, read when needed
    std::string location_;                                     // "FILE:LINE" that is checked
    std::string text_;
};

ExitCode run_check_config(const std::optional<std::string>& given) {
    const ProcessEnvironment environment;
    const std::string file = given.value_or(plugstack_path(environment));
    const auto lines = read_plugstack(file);
    if (!lines) return report_error(lines.error(), ExitCode::environment);
    const std::string text = ConfigChecker(*lines, environment).list_mistakes(file);
    return print_result(text, text.empty() ? ExitCode::done : ExitCode::check_failed);
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
