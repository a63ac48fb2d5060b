#include "inspect/look_here.h"

#include "base/format.h"
#include "base/io/file_text.h"
#include "base/values.h"
#include "inspect/connections.h"
#include "inspect/gpu_load.h"
#include "inspect/offers.h"
#include "inspect/process_facts.h"
#include "inspect/rank_gpus.h"
#include "inspect/stack_tool.h"
#include "inspect/step_processes.h"
#include "inspect/step_tasks.h"
#include "inspect/traffic.h"
#include "mapping/texts/bound_record.h"
#include "mapping/texts/variables.h"
#include "node/nvidia_driver.h"
#include "node/own_task.h"

#include <algorithm>
#include <array>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

constexpr std::size_t most_stacks = 128;  // that are read at one moment

using Clock = std::chrono::steady_clock;

class Looker {
  public:
    Looker(const std::string& node, const Environment& environment)
        : yama_(read_trimmed("/proc/sys/kernel/yama/ptrace_scope").value_or("")),
          path_(environment.get("PATH").value_or("")) {
        look_.node = node;
    }

    void find(const std::vector<StepProcess>& known) {
        look_.processes = find_processes(known);
        std::set<std::string> programs;
        for (const ProcessLook& process : look_.processes) {
            programs.insert(read_own_program(process.pid));
            // One that forbids every look shows not even which program it is.
            if (read_program(process.pid).empty()) {
                unread_.emplace(process.pid, Error{"", "permission denied", ""});
            }
            take_environment(StartEnvironment(process.pid), process);
        }
        programs.erase("");
        tools_ = find_stack_tools(path_, {programs.begin(), programs.end()});
        find_gpus();
    }

    void ask_nccl() { offers_.ask(); }

    void look(double time) {
        if (look_.times.empty()) {
            for (ProcessLook& process : look_.processes) {
                process.work_before = read_work(process.pid);
            }
        }
        if (traffic_) look_.traffic = traffic_->bytes();
        look_.times.push_back(time);
        auto busy = std::async(std::launch::async, [&] { return load_->ask(); });
        for (ProcessLook& process : look_.processes) process.moments.push_back(moment_of(process));
        add_stacks();
        const std::vector<Busy> percents = busy.get();
        for (std::size_t i = 0; i < percents.size(); ++i) {
            look_.gpus[i].busy.push_back(percents[i]);
        }
        settle();
        // Not before: the first look may fetch the tools from a file server.
        if (!traffic_) traffic_.emplace(pids_of(look_));
    }

    NodeLook end() && {
        for (ProcessLook& process : look_.processes) {
            process.connections = open_connections(process.pid);
            if (const auto stat = read_stat(process.pid); stat && stat->begin == process.begin) {
                process.exit_code = stat->exit_code;
            }
            const auto unread = unread_.find(process.pid);
            const bool is_known =
                std::any_of(process.moments.begin(), process.moments.end(),
                            [](const Moment& moment) { return moment.stack.has_value(); });
            const char state = moment_of(process).state;
            // One that has ended meanwhile tells nothing of the tool.
            if (unread == unread_.end() || is_known || state == 'X' || state == 'Z') continue;
            look_.problem = refused_look(unread->second, process.is_python ? yama_ : "").message();
        }
        forget_silent_gpus();
        look_.nccl = offers_.status();
        look_.records = offers_.records();
        return std::move(look_);
    }

  private:
    // A thread that a tool has stopped goes back to sleep, which counts as one more switch: at
    // once, or later where the node has much to do.
    void settle() {
        constexpr int most_turns = 5;
        bool changes = true;
        for (int turn = 0; changes && turn < most_turns; ++turn) {
            constexpr std::chrono::milliseconds pause{20};
            std::this_thread::sleep_for(pause);
            changes = false;
            for (const ProcessLook& process : look_.processes) {
                const std::uint64_t now = read_switches(process.pid);
                changes = std::exchange(switches_[process.pid], now) != now || changes;
            }
        }
        for (ProcessLook& process : look_.processes) process.work_after = read_work(process.pid);
    }

    // Without NVIDIA's driver there is nobody to ask.
    void find_gpus() {
        NodeGpus gpus;
        std::set<std::string> all;
        for (ProcessLook& process : look_.processes) {
            if (!drives_gpus("/proc")) break;
            const EnvironmentCopy variables = StartEnvironment(process.pid).variables();
            const BoundRecord bound = read_bound(variables.get(bound_variable).value_or(""));
            for (GpuFacts& gpu : gpus.of(variables, bound)) {
                if (!gpu.pci.empty()) process.gpus.push_back(std::move(gpu.pci));
            }
            all.insert(process.gpus.begin(), process.gpus.end());
        }
        for (const std::string& pci : all) look_.gpus.push_back({pci});
        load_.emplace(std::vector<std::string>(all.begin(), all.end()), own_command());
    }

    void forget_silent_gpus() {
        std::erase_if(look_.gpus, [](const GpuLook& gpu) {
            return std::all_of(gpu.busy.begin(), gpu.busy.end(),
                               [](const Busy& busy) { return !busy; });
        });
    }

    void take_environment(const StartEnvironment& environment, const ProcessLook& process) {
        if (process.rank) offers_.take(environment, *process.rank, process.pid);
        if (!look_.tasks.empty()) return;
        const std::string started = environment.get("SLURM_GTIDS").value_or("");
        for (const std::string_view item : comma_items(started)) {
            const auto task = whole_number(item);
            if (task) look_.tasks.push_back(*task);
        }
    }

    Moment moment_of(const ProcessLook& process) const {
        const auto stat = read_stat(process.pid);
        if (!stat || stat->begin != process.begin) return {.state = 'X'};
        const auto before = switches_.find(process.pid);
        const std::uint64_t now = read_switches(process.pid);
        return {stat->state, stat->cpu, before == switches_.end() ? 0 : now - before->second,
                read_wait_channel(process.pid), std::nullopt};
    }

    // One that would not come to the tools, which wait for it.
    static bool stands(const Moment& moment) {
        return moment.state == 'D' || moment.state == 'T' || moment.state == 't';
    }

    static Result<Stack> read_stack(const StackTools& tools, const ProcessLook& process) {
        // The process chooses what the tools read of it.
        if (geteuid() == 0) return Error{"stacks", "no tool is run as root", "ask as another user"};
        const bool still = stands(process.moments.back());
        return process.is_python ? read_python_stack(tools, process.pid, still)
                                 : read_native_stack(tools, process.pid);
    }

    static bool can_be_read(const ProcessLook& process) {
        const char state = process.moments.back().state;
        return state == 'S' || state == 'R' ||
               (process.is_python && stands(process.moments.back()));
    }

    // Machine code is read of the tasks alone: shells and launchers have nothing to tell.
    bool is_worth_reading(const ProcessLook& process) const {
        const auto is_child_here = [&](const ProcessLook& other) {
            return other.parent == process.pid;
        };
        return process.is_python ||
               std::none_of(look_.processes.begin(), look_.processes.end(), is_child_here);
    }

    void add_stacks() {
        std::vector<ProcessLook*> wanted;
        for (ProcessLook& process : look_.processes) {
            if (can_be_read(process) && is_worth_reading(process) && wanted.size() < most_stacks) {
                wanted.push_back(&process);
            }
        }
        const std::size_t threads =
            std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 8);
        std::vector<std::optional<Result<Stack>>> stacks(wanted.size());
        std::vector<std::future<void>> running;
        for (std::size_t thread = 0; thread < threads; ++thread) {
            running.push_back(std::async(std::launch::async, [&, thread] {
                for (std::size_t i = thread; i < wanted.size(); i += threads) {
                    stacks[i] = read_stack(tools_, *wanted[i]);
                }
            }));
        }
        for (auto& thread : running) thread.get();
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            if (*stacks[i]) {
                wanted[i]->moments.back().stack = index_of(**stacks[i]);
            } else if (wanted[i]->is_python) {
                unread_.insert_or_assign(wanted[i]->pid, stacks[i]->error());
            }
        }
    }

    std::uint32_t index_of(const Stack& stack) {
        const auto found = std::find(look_.stacks.begin(), look_.stacks.end(), stack);
        const auto index = static_cast<std::uint32_t>(found - look_.stacks.begin());
        if (found == look_.stacks.end()) look_.stacks.push_back(stack);
        return index;
    }

    NodeLook look_;
    const std::string yama_;
    const std::string path_;
    StackTools tools_;
    std::optional<GpuLoad> load_;
    std::map<pid_t, Error> unread_;            // those whose stack could not be read, and why
    std::map<pid_t, std::uint64_t> switches_;  // of their main threads, after the last moment
    Offers offers_;
    std::optional<Traffic> traffic_;  // from the first moment on
};

}  // namespace

Result<NodeLook> look_here(const std::string& node, const std::string& step,
                           std::chrono::seconds length, const Environment& environment) {
    const auto known = list_step_processes(node, step, environment);
    if (!known) return NodeLook{.node = node, .problem = known.error().message()};
    if (auto error = owned_by_another(step, *known)) return *std::move(error);
    Looker looker(node, environment);
    looker.find(*known);
    if (length > std::chrono::seconds(0)) looker.ask_nccl();
    // Where a step of the training takes a second, each look a second later would find the same.
    constexpr std::array<double, 5> pauses{0.7, 1.1, 0.9, 1.3, 1.0};  // seconds
    const double end = std::chrono::duration<double>(length).count();
    const auto begin = Clock::now();
    double time = 0;
    for (std::size_t turn = 0;; ++turn) {
        std::this_thread::sleep_until(begin + std::chrono::duration_cast<Clock::duration>(
                                                  std::chrono::duration<double>(time)));
        looker.look(std::chrono::duration<double>(Clock::now() - begin).count());
        if (time >= end) break;
        time = std::min(time + pauses.at(turn % pauses.size()), end);
    }
    return std::move(looker).end();
}

}  // namespace distgpu
