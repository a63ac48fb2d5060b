// Samples a step's processes on this node for some seconds.
#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"
#include "inspect/debug_sources.h"
#include "inspect/node_sample.h"
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

constexpr std::size_t max_stacks = 128;  // per moment

class Sampler {
  public:
    // `sample`: from find_step_processes().
    Sampler(NodeSample sample, const Environment& environment)
        : sample_(std::move(sample)),
          yama_(read_trimmed("/proc/sys/kernel/yama/ptrace_scope").value_or("")) {
        std::set<std::string> programs;
        for (ProcessSample& process : sample_.processes) {
            programs.insert(read_own_program(process.pid));
            // A process that is not dumpable hides even the path of its program.
            if (read_program(process.pid).empty()) {
                stack_errors_.emplace(process.pid, Error{"", "permission denied", ""});
            }
            apply_environment(variables_of(process), process);
        }
        programs.erase("");
        tools_ = find_stack_tools(environment.text("PATH"), {programs.begin(), programs.end()});
        std::set<std::string> gpus;
        for (const ProcessSample& process : sample_.processes) {
            for (const GpuFacts& gpu : process.gpus) gpus.insert(gpu.pci);
        }
        gpus.erase("");
        gpus_in_use_.assign(gpus.begin(), gpus.end());
        for (const std::string& pci : gpus) sample_.gpus.push_back({pci});
    }

    void ask_nccl() {
        if (ras_address_.empty()) return;
        nccl_status_ = std::async(std::launch::async, [address = ras_address_] {
            constexpr std::chrono::seconds timeout{12};
            const auto status = ask_ras(address, Clock::now() + timeout);
            return status ? *status : status.error().message();
        });
    }

    void add_moment(double time) {
        if (sample_.times.empty()) {
            for (ProcessSample& process : sample_.processes) {
                process.work_before = read_work(process.pid);
            }
        }
        if (!traffic_.empty()) sample_.traffic = bytes_since(traffic_);
        sample_.times.push_back(time);
        auto load = std::async(std::launch::async, [&] {
            return read_gpu_load(gpus_in_use_, own_program_path(), can_read_load_);
        });
        for (ProcessSample& process : sample_.processes) {
            process.moments.push_back(moment_of(process));
        }
        add_stacks();
        const std::vector<GpuLoad> loads = load.get();
        for (std::size_t i = 0; i < loads.size(); ++i) sample_.gpus[i].busy.push_back(loads[i]);
        wait_until_settled();
        // Only now, because reading the first stacks may load the tools from a file server.
        if (traffic_.empty()) traffic_ = read_traffic(sample_.processes);
    }

    NodeSample finish() && {
        for (ProcessSample& process : sample_.processes) {
            process.connections = open_connections(process.pid);
            if (const auto stat = read_stat(process.pid); stat && stat->begin == process.begin) {
                process.exit_code = stat->exit_code;
            }
            add_record(process);
            const auto error = stack_errors_.find(process.pid);
            const char state = moment_of(process).state;
            // If the process has ended, the error is not the tool's fault.
            if (error == stack_errors_.end() || state == 'X' || state == 'Z' ||
                std::ranges::any_of(process.moments, has_stack)) {
                continue;
            }
            sample_.problem =
                explain_stack_error(error->second, process.is_python ? yama_ : "").message();
        }
        std::erase_if(sample_.gpus, [](const GpuSample& gpu) {
            return std::ranges::none_of(gpu.busy,
                                        [](const GpuLoad& load) { return load.has_value(); });
        });
        if (nccl_status_.valid()) sample_.nccl = nccl_status_.get();
        return std::move(sample_);
    }

  private:
    static bool has_stack(const Moment& moment) { return moment.stack.has_value(); }

    // A thread that a tool has stopped goes back to sleep, which counts as one more switch; on a
    // busy node this may take a while.
    void wait_until_settled() {
        constexpr int max_rounds = 5;
        bool has_changed = true;
        for (int round = 0; has_changed && round < max_rounds; ++round) {
            constexpr std::chrono::milliseconds pause{20};
            std::this_thread::sleep_for(pause);
            has_changed = false;
            for (const ProcessSample& process : sample_.processes) {
                const std::uint64_t now = read_switches(process.pid);
                has_changed = std::exchange(switches_[process.pid], now) != now || has_changed;
            }
        }
        for (ProcessSample& process : sample_.processes) {
            process.work_after = read_work(process.pid);
        }
    }

    static EnvironmentCopy variables_of(const ProcessSample& process) {
        return read_environment(process.pid).value_or(EnvironmentCopy());
    }

    void add_record(const ProcessSample& process) {
        if (!process.rank) return;
        std::string file = flight_record_file(variables_of(process), *process.rank, process.pid);
        if (file.empty() || std::ranges::count(sample_.records, file) > 0) return;
        sample_.records.push_back(std::move(file));
    }

    void apply_environment(const EnvironmentCopy& variables, ProcessSample& process) {
        // Rank 0's NCCL asks all other ranks, so its status is enough.
        if (process.rank == 0U && ras_address_.empty()) {
            ras_address_ = variables.text("NCCL_RAS_ADDR");
        }
        // The GPUs' load can be read only with NVIDIA's driver.
        if (has_driver_) {
            const BoundRecord bound = read_bound_record(variables.text(bound_variable));
            process.gpus = gpus_.find(variables, bound);
        }
        if (!sample_.tasks.empty()) return;
        const std::string tasks = variables.text("SLURM_GTIDS");
        for (const std::string_view item : comma_items(tasks)) {
            if (const auto task = whole_number(item)) sample_.tasks.push_back(*task);
        }
    }

    Moment moment_of(const ProcessSample& process) const {
        const auto stat = read_stat(process.pid);
        if (!stat || stat->begin != process.begin) return {.state = 'X'};
        const auto before = switches_.find(process.pid);
        const std::uint64_t now = read_switches(process.pid);
        return {stat->state, static_cast<double>(stat->ticks) / ticks_per_second_,
                before == switches_.end() ? 0 : now - before->second,
                read_wait_channel(process.pid), std::nullopt};
    }

    // Machine code is read only of processes without children: others are shells and launchers.
    bool needs_stack(const ProcessSample& process) const {
        const char state = process.moments.back().state;
        const bool is_running = state == 'S' || state == 'R';
        if (process.is_python) return is_running || is_stopped_or_blocked(process);
        return is_running &&
               std::ranges::count(sample_.processes, process.pid, &ProcessSample::parent) == 0;
    }

    Result<Stack> read_stack(const ProcessSample& process) const {
        // Not as root, because the process controls what the tools read.
        if (geteuid() == 0) {
            return Error{"stacks", "debugging tools are not run as root",
                         "run this as another user"};
        }
        return process.is_python
                   ? read_python_stack(tools_, process.pid, is_stopped_or_blocked(process))
                   : read_native_stack(tools_, process.pid);
    }

    void add_stacks() {
        std::vector<ProcessSample*> processes;
        for (ProcessSample& process : sample_.processes) {
            if (needs_stack(process) && processes.size() < max_stacks) {
                processes.push_back(&process);
            }
        }
        const std::size_t threads =
            std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 8);
        std::vector<Result<Stack>> stacks(processes.size(), Stack());
        std::vector<std::future<void>> running;
        for (std::size_t thread = 0; thread < threads; ++thread) {
            running.push_back(std::async(std::launch::async, [&, thread] {
                for (std::size_t i = thread; i < processes.size(); i += threads) {
                    stacks[i] = read_stack(*processes[i]);
                }
            }));
        }
        for (auto& thread : running) thread.get();
        for (std::size_t i = 0; i < processes.size(); ++i) {
            if (stacks[i]) {
                processes[i]->moments.back().stack = index_of(*stacks[i]);
            } else if (processes[i]->is_python) {
                stack_errors_.insert_or_assign(processes[i]->pid, stacks[i].error());
            }
        }
    }

    std::uint32_t index_of(const Stack& stack) {
        const auto found = std::ranges::find(sample_.stacks, stack);
        const auto index = static_cast<std::uint32_t>(found - sample_.stacks.begin());
        if (found == sample_.stacks.end()) sample_.stacks.push_back(stack);
        return index;
    }

    NodeSample sample_;
    const double ticks_per_second_ = static_cast<double>(sysconf(_SC_CLK_TCK));
    const std::string yama_;
    const bool has_driver_ = nvidia_driver_has_gpus("/proc");
    NodeGpus gpus_;
    StackTools tools_;
    std::vector<std::string> gpus_in_use_;  // PCI addresses
    bool can_read_load_ = true;
    std::map<pid_t, Error> stack_errors_;      // why stacks could not be read
    std::map<pid_t, std::uint64_t> switches_;  // of main threads, after the last moment
    Traffic traffic_;                          // up to the first moment
    std::string ras_address_;                  // of rank 0's NCCL: "localhost:28028", "[::1]:28028"
    std::future<std::string> nccl_status_;
};

}  // namespace

Result<NodeSample> sample_this_node(const std::string& node, const std::string& step,
                                    std::chrono::seconds duration, const Environment& environment) {
    auto found = find_step_processes(node, step, environment);
    if (!found || !found->problem.empty()) return found;
    Sampler sampler(*std::move(found), environment);
    if (duration > std::chrono::seconds(0)) sampler.ask_nccl();
    // Irregular: with training steps of one second, regular samples would all find the same state.
    constexpr std::array<double, 5> pauses{0.7, 1.1, 0.9, 1.3, 1.0};  // seconds
    using Seconds = std::chrono::duration<double>;
    const Seconds end = duration;
    const auto begin = Clock::now();
    Seconds time{0};
    for (std::size_t round = 0;; ++round) {
        std::this_thread::sleep_for(time - (Clock::now() - begin));
        sampler.add_moment(Seconds(Clock::now() - begin).count());
        if (time >= end) return std::move(sampler).finish();
        time = std::min(time + Seconds(pauses.at(round % pauses.size())), end);
    }
}

}  // namespace distgpu
