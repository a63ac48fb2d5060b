// Looks at a step's processes on this node for some seconds.
#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"
#include "inspect/look.h"
#include "inspect/offers.h"
#include "inspect/process_facts.h"
#include "inspect/rank_gpus.h"
#include "inspect/stack.h"
#include "inspect/step_processes.h"
#include "mapping/texts/variables.h"
#include "node/gpus.h"
#include "node/own_task.h"

#include <algorithm>
#include <array>
#include <future>
#include <map>
#include <set>
#include <thread>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

constexpr std::size_t most_stacks = 128;  // that are read at one moment

class Looker {
  public:
    // `look`: of find_step_processes().
    Looker(NodeLook look, const Environment& environment)
        : look_(std::move(look)),
          yama_(read_trimmed("/proc/sys/kernel/yama/ptrace_scope").value_or("")) {
        std::set<std::string> programs;
        for (ProcessLook& process : look_.processes) {
            programs.insert(read_own_program(process.pid));
            // One that forbids every look shows not even which program it is.
            if (read_program(process.pid).empty()) {
                unread_.emplace(process.pid, Error{"", "permission denied", ""});
            }
            take_environment(variables_of(process), process);
        }
        programs.erase("");
        tools_ = find_stack_tools(environment.text("PATH"), {programs.begin(), programs.end()});
        std::set<std::string> gpus;
        for (const ProcessLook& process : look_.processes) {
            for (const GpuFacts& gpu : process.gpus) gpus.insert(gpu.pci);
        }
        gpus.erase("");
        gpus_in_use_.assign(gpus.begin(), gpus.end());
        for (const std::string& pci : gpus) look_.gpus.push_back({pci});
    }

    void ask_nccl() {
        if (ras_.empty()) return;
        nccl_ = std::async(std::launch::async, [address = ras_] {
            constexpr std::chrono::seconds patience{12};
            const auto status = ask_ras(address, Clock::now() + patience);
            return status ? *status : status.error().message();
        });
    }

    void look(double time) {
        if (look_.times.empty()) {
            for (ProcessLook& process : look_.processes) {
                process.work_before = read_work(process.pid);
            }
        }
        if (!traffic_.empty()) look_.traffic = bytes_since(traffic_);
        look_.times.push_back(time);
        auto busy = std::async(std::launch::async, [&] {
            return ask_gpu_load(gpus_in_use_, own_command(), load_answers_);
        });
        for (ProcessLook& process : look_.processes) process.moments.push_back(moment_of(process));
        add_stacks();
        const std::vector<Busy> percents = busy.get();
        for (std::size_t i = 0; i < percents.size(); ++i) {
            look_.gpus[i].busy.push_back(percents[i]);
        }
        settle();
        // Not before: the first look may fetch the tools from a file server.
        if (traffic_.empty()) traffic_ = read_traffic(look_.processes);
    }

    NodeLook end() && {
        for (ProcessLook& process : look_.processes) {
            process.connections = open_connections(process.pid);
            if (const auto stat = read_stat(process.pid); stat && stat->begin == process.begin) {
                process.exit_code = stat->exit_code;
            }
            add_record(process);
            const auto unread = unread_.find(process.pid);
            const char state = moment_of(process).state;
            // One that has ended meanwhile tells nothing of the tool.
            if (unread == unread_.end() || state == 'X' || state == 'Z' ||
                std::ranges::any_of(process.moments, has_stack)) {
                continue;
            }
            look_.problem = refused_look(unread->second, process.is_python ? yama_ : "").message();
        }
        std::erase_if(look_.gpus, [](const GpuLook& gpu) {  // of which the library told nothing
            return std::ranges::none_of(gpu.busy,
                                        [](const Busy& busy) { return busy.has_value(); });
        });
        if (nccl_.valid()) look_.nccl = nccl_.get();
        return std::move(look_);
    }

  private:
    static bool has_stack(const Moment& moment) { return moment.stack.has_value(); }

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

    static EnvironmentCopy variables_of(const ProcessLook& process) {
        return read_environment(process.pid).value_or(EnvironmentCopy());
    }

    void add_record(const ProcessLook& process) {
        if (!process.rank) return;
        std::string file = flight_record(variables_of(process), *process.rank, process.pid);
        if (file.empty() || std::ranges::count(look_.records, file) > 0) return;
        look_.records.push_back(std::move(file));
    }

    void take_environment(const EnvironmentCopy& variables, ProcessLook& process) {
        // Rank 0's NCCL tells of all ranks, and has them asked in turn.
        if (process.rank == 0U && ras_.empty()) ras_ = variables.text("NCCL_RAS_ADDR");
        // Without NVIDIA's driver there is nobody to ask for their load.
        if (has_driver_) {
            const BoundRecord bound = read_bound(variables.text(bound_variable));
            process.gpus = gpus_.of(variables, bound);
        }
        if (!look_.tasks.empty()) return;
        const std::string started = variables.text("SLURM_GTIDS");
        for (const std::string_view item : comma_items(started)) {
            if (const auto task = whole_number(item)) look_.tasks.push_back(*task);
        }
    }

    Moment moment_of(const ProcessLook& process) const {
        const auto stat = read_stat(process.pid);
        if (!stat || stat->begin != process.begin) return {.state = 'X'};
        const auto before = switches_.find(process.pid);
        const std::uint64_t now = read_switches(process.pid);
        return {stat->state, static_cast<double>(stat->ticks) / ticks_a_second_,
                before == switches_.end() ? 0 : now - before->second,
                read_wait_channel(process.pid), std::nullopt};
    }

    // Machine code is read of the tasks alone: shells and launchers have nothing to tell.
    bool can_be_read(const ProcessLook& process) const {
        const char state = process.moments.back().state;
        const bool runs = state == 'S' || state == 'R';
        if (process.is_python) return runs || stands(process);
        return runs && std::ranges::count(look_.processes, process.pid, &ProcessLook::parent) == 0;
    }

    Result<Stack> read_stack(const ProcessLook& process) const {
        // The process chooses what the tools read of it.
        if (geteuid() == 0) return Error{"stacks", "no tool is run as root", "ask as another user"};
        return process.is_python ? read_python_stack(tools_, process.pid, stands(process))
                                 : read_native_stack(tools_, process.pid);
    }

    void add_stacks() {
        std::vector<ProcessLook*> wanted;
        for (ProcessLook& process : look_.processes) {
            if (can_be_read(process) && wanted.size() < most_stacks) wanted.push_back(&process);
        }
        const std::size_t threads =
            std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 8);
        std::vector<Result<Stack>> stacks(wanted.size(), Stack());
        std::vector<std::future<void>> running;
        for (std::size_t thread = 0; thread < threads; ++thread) {
            running.push_back(std::async(std::launch::async, [&, thread] {
                for (std::size_t i = thread; i < wanted.size(); i += threads) {
                    stacks[i] = read_stack(*wanted[i]);
                }
            }));
        }
        for (auto& thread : running) thread.get();
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            if (stacks[i]) {
                wanted[i]->moments.back().stack = index_of(*stacks[i]);
            } else if (wanted[i]->is_python) {
                unread_.insert_or_assign(wanted[i]->pid, stacks[i].error());
            }
        }
    }

    std::uint32_t index_of(const Stack& stack) {
        const auto found = std::ranges::find(look_.stacks, stack);
        const auto index = static_cast<std::uint32_t>(found - look_.stacks.begin());
        if (found == look_.stacks.end()) look_.stacks.push_back(stack);
        return index;
    }

    NodeLook look_;
    const double ticks_a_second_ = static_cast<double>(sysconf(_SC_CLK_TCK));
    const std::string yama_;
    const bool has_driver_ = drives_gpus("/proc");
    NodeGpus gpus_;
    StackTools tools_;
    std::vector<std::string> gpus_in_use_;  // PCI addresses
    bool load_answers_ = true;
    std::map<pid_t, Error> unread_;            // those whose stack could not be read, and why
    std::map<pid_t, std::uint64_t> switches_;  // of their main threads, after the last moment
    Traffic traffic_;                          // up to the first moment
    std::string ras_;  // where NCCL answers for rank 0: "localhost:28028", "[::1]:28028"
    std::future<std::string> nccl_;
};

}  // namespace

Result<NodeLook> look_here(const std::string& node, const std::string& step,
                           std::chrono::seconds length, const Environment& environment) {
    auto found = find_step_processes(node, step, environment);
    if (!found || !found->problem.empty()) return found;
    Looker looker(*std::move(found), environment);
    if (length > std::chrono::seconds(0)) looker.ask_nccl();
    // Where a step of the training takes a second, each look a second later would find the same.
    constexpr std::array<double, 5> pauses{0.7, 1.1, 0.9, 1.3, 1.0};  // seconds
    using Seconds = std::chrono::duration<double>;
    const Seconds end = length;
    const auto begin = Clock::now();
    Seconds time{0};
    for (std::size_t turn = 0;; ++turn) {
        std::this_thread::sleep_for(time - (Clock::now() - begin));
        looker.look(Seconds(Clock::now() - begin).count());
        if (time >= end) return std::move(looker).end();
        time = std::min(time + Seconds(pauses.at(turn % pauses.size())), end);
    }
}

}  // namespace distgpu
