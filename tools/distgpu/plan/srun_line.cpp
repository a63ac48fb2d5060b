// See srun_line.h. getopt_long(3) reads the options, as in srun itself.
#include "plan/srun_line.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/values.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <getopt.h>
#include <optional>
#include <string_view>
#include <utility>

namespace distgpu {
namespace {

// What getopt_long() answers for options without a letter of their own.
enum Code : int { spec = 256, tasks_per_node, gpus_per_node, gpus_per_task, gres, dealt, skipped };

// slurm_opt.c of 22.05 and 26.05.
constexpr const char* letters =
    "+:A:B:bC:c:D:d:Ee:F:G:HhI::i:J:jK::kL:lM:m:N:n:Oo:p:Qq:r:S:sT:t:uVvW:w:Xx:Z";
constexpr std::array planned{
    option{"distgpu", required_argument, nullptr, spec},
    option{"nodes", required_argument, nullptr, 'N'},
    option{"nodelist", required_argument, nullptr, 'w'},
    option{"ntasks", required_argument, nullptr, 'n'},
    option{"ntasks-per-node", required_argument, nullptr, tasks_per_node},
    option{"tasks-per-node", required_argument, nullptr, tasks_per_node},
    option{"distribution", required_argument, nullptr, 'm'},
    option{"cpus-per-task", required_argument, nullptr, 'c'},
    option{"gpus", required_argument, nullptr, 'G'},
    option{"gpus-per-node", required_argument, nullptr, gpus_per_node},
    option{"gpus-per-task", required_argument, nullptr, gpus_per_task},
    option{"gres", required_argument, nullptr, gres},
    option{"nodefile", required_argument, nullptr, 'F'},
    option{"relative", required_argument, nullptr, 'r'},
    option{"het-group", required_argument, nullptr, dealt},
    option{"ntasks-per-core", required_argument, nullptr, dealt},
    option{"ntasks-per-gpu", required_argument, nullptr, dealt},
    option{"ntasks-per-socket", required_argument, nullptr, dealt},
    option{"multi-prog", no_argument, nullptr, dealt},
};
// That say nothing of a plan.
constexpr std::string_view with_value =
    "account acctg-freq bb bbf begin chdir cluster clusters cluster-constraint comment "
    "constraint container container-id core-spec cores-per-socket cpu-bind cpu-freq "
    "cpus-per-gpu deadline delay-boot dependency epilog error exclude export export-file "
    "extra-node-info gid gpu-bind gpu-freq gpus-per-socket gres-flags hint input "
    "job-name jobid licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu "
    "mem-per-gpu mincpus mpi msg-timeout network open-mode output partition power prefer "
    "priority profile prolog qos reservation signal slurmd-debug sockets-per-node "
    "switches task-epilog task-prolog thread-spec threads threads-per-core time time-min "
    "tmp tres-bind tres-per-task uid wait wckey container-image container-mounts "
    "container-name container-workdir container-env";
constexpr std::string_view without_value =
    "accel-bind bcast compress disable-status exact exclusive hold immediate join "
    "kill-on-bad-exit label nice no-allocate no-kill overcommit overlap oversubscribe "
    "preserve-env propagate pty quiet quit-on-interrupt reboot resv-ports send-libs "
    "spread-job stepmgr unbuffered use-min-nodes verbose whole x11 container-mount-home "
    "container-writable";

// Every option that srun has.
class Options {
  public:
    Options() {
        add(with_value, required_argument);
        add(without_value, optional_argument);
        list_.assign(planned.begin(), planned.end());
        for (const auto& [name, has_value] : names_) {
            list_.push_back({name.c_str(), has_value, nullptr, skipped});
        }
        list_.push_back({});
    }

    const option* list() const { return list_.data(); }

  private:
    void add(std::string_view names, int has_value) {
        for (std::size_t at = 0; at < names.size();) {
            const std::size_t end = std::min(names.find(' ', at), names.size());
            names_.emplace_back(names.substr(at, end - at), has_value);
            at = end + 1;
        }
    }

    std::vector<std::pair<std::string, int>> names_;
    std::vector<option> list_;
};

struct Total {
    std::string gpus;           // --gpus
    std::string gpus_per_task;  // --gpus-per-task
};

Error unknown_deal(std::string_view word) {
    return {excerpt(word), "only Slurm knows how it deals the tasks",
            "leave it out here, or see the plan of the step itself with --distgpu=...,dry-run"};
}

// "4" of "gpu:h100:4,license:a".
std::string gpus_of(std::string_view gres) {
    for (const std::string_view item : comma_items(gres)) {
        if (item.substr(0, 3) == "gpu") return std::string(item);
    }
    return "";
}

// Takes one option; the error where the plan cannot follow it.
std::optional<Error> take(int code, const std::string& value, std::string_view word, SrunLine& line,
                          Total& total) {
    LayoutText& layout = line.shape.layout;
    switch (code) {
        case spec:
            line.spec = value;
            break;
        case 'N':
            layout.nodes = value;
            break;
        case 'w':
            layout.nodelist = value;
            break;
        case 'n':
            layout.ntasks = value;
            break;
        case tasks_per_node:
            layout.tasks_per_node = value;
            break;
        case 'm':
            layout.distribution = value.substr(0, value.find(':'));
            break;
        case 'c':
            line.shape.cpus_per_task = value;
            break;
        case 'G':
            total.gpus = value;
            break;
        case gpus_per_task:
            total.gpus_per_task = value;
            break;
        case gpus_per_node:
            line.shape.gpus_per_node = value;
            break;
        case gres:
            line.shape.gpus_per_node = gpus_of(value);
            break;
        case 'F':
        case 'r':
        case dealt:
            return unknown_deal(word);
        case '?':
            return Error{excerpt(word), "no option of srun",
                         "write it as srun has it, with the program behind all options"};
        case ':':
            return Error{excerpt(word), "it needs a value", "give one, as in -N2"};
        default:
            break;
    }
    return std::nullopt;
}

// One node, or as many as the tasks need.
void add_nodes(SrunLine& line) {
    LayoutText& layout = line.shape.layout;
    const std::uint32_t tasks = whole_number(layout.ntasks).value_or(0);
    const std::uint32_t each = whole_number(layout.tasks_per_node).value_or(0);
    if (!layout.nodelist.empty()) layout.nodes.clear();
    if (layout.nodelist.empty() && layout.nodes.empty()) {
        layout.nodes = std::to_string(tasks == 0 || each == 0 ? 1 : (tasks - 1) / each + 1);
    }
    if (layout.ntasks.empty()) return;
    // With both, --ntasks-per-node is the most on a node.
    layout.tasks_per_node.clear();
    const std::uint32_t nodes = whole_number(layout.nodes).value_or(0);
    if (nodes == 1 || tasks == nodes || (nodes > 0 && tasks == std::uint64_t{nodes} * each)) return;
    line.left_out.push_back({formatted("--ntasks={}", excerpt(layout.ntasks)),
                             "divided evenly here, but Slurm counts the free CPUs of each node",
                             "use --ntasks-per-node=N"});
}

void add_gpus(SrunLine& line, const Total& total) {
    const auto leave_out = [&](const char* name, const std::string& value) {
        if (value.empty()) return;
        line.left_out.push_back({formatted("{}={}", name, excerpt(value)),
                                 "not in this plan, which needs each node's GPUs",
                                 "use --gpus-per-node=N or --gres=gpu:N"});
    };
    leave_out("--gpus", total.gpus);
    leave_out("--gpus-per-task", total.gpus_per_task);
}

}  // namespace

Result<SrunLine> read_srun_line(const std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (const std::string& word : words) {
        arguments.push_back(const_cast<char*>(word.c_str()));  // getopt changes none of the texts
    }
    const auto count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    const Options options;
    SrunLine line;
    Total total;
    optind = 0;  // begins anew
    while (true) {
        const auto at = static_cast<std::size_t>(std::max(optind, 1));
        const int code = getopt_long(count, arguments.data(), letters, options.list(), nullptr);
        if (code == -1) break;
        const std::string value = optarg == nullptr ? "" : optarg;
        if (auto error = take(code, value, words[at], line, total)) return *std::move(error);
    }
    line.program.assign(words.begin() + optind, words.end());
    if (line.spec.empty()) {
        return Error{"srun", "it has no --distgpu", "add --distgpu=MODE before the program"};
    }
    add_nodes(line);
    add_gpus(line, total);
    return line;
}

}  // namespace distgpu
