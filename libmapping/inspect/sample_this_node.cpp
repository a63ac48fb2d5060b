// Samples a step's processes on this node for some seconds.
#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"
#include "inspect/debug_sources.h"
#include "inspect/file_locks.h"
#include "inspect/node_sample.h"
#include "inspect/process_facts.h"
#include "inspect/rank_gpus.h"
#include "inspect/ranks.h"
#include "inspect/sockets.h"
#include "inspect/stack_tools.h"
#include "inspect/step_processes.h"
#include "mapping/texts/variables.h"
#include "node/gpus.h"
#include "node/own_task.h"

#include <algorithm>
#include <array>
#include <functional>
#include <future>
#include <map>
#include <optional>
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
        std::vector<pid_t> pids;
        for (ProcessSample& process : sample_.processes) {
            pids.push_back(process.pid);
            // A process that is not dumpable hides even the path of its program.
            if (read_program(process.pid).empty()) {
                stack_errors_.emplace(process.pid, Error{"", "permission denied", ""});
            }
            apply_environment(variables_of(process), process);
        }
        tools_ = find_stack_tools(environment.text("PATH"), read_own_programs(pids));
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
        if (!traffic_.empty()) sample_.traffic = bytes_since(traffic_);
        sample_.times.push_back(time);
        auto load = std::async(std::launch::async, [&] {
            return read_gpu_load(gpus_in_use_, own_program_path(), can_read_load_);
        });
        for (ProcessSample& process : sample_.processes) {
            process.moments.push_back(moment_of(process));
        }
        read_works(&Moment::before);
        add_stacks();
        const std::vector<GpuLoad> loads = load.get();
        for (std::size_t i = 0; i < loads.size(); ++i) sample_.gpus[i].busy.push_back(loads[i]);
        wait_until_settled();
        read_works(&Moment::after);
        sample_.ends.push_back(now());
        // Only now, because reading the first stacks may load the tools from a file server.
        if (traffic_.empty()) traffic_ = read_traffic(sample_.processes);
    }

    // Machine code is read once, because that takes longer.
    void add_native_stacks() {
        constexpr std::size_t max_native = 16;
        std::map<std::uint32_t, const ProcessSample*> examples;  // by their Python stack
        for (const ProcessSample& process : sample_.processes) {
            const auto stack = process.moments.back().stack;
            if (process.is_python && stack && !is_stopped_or_blocked(process) &&
                examples.size() < max_native) {
                examples.try_emplace(*stack, &process);
            }
        }
        const std::vector<std::pair<std::uint32_t, const ProcessSample*>> wanted(examples.begin(),
                                                                                 examples.end());
        const auto stacks = in_parallel<Result<Stack>>(wanted.size(), [&](std::size_t i) {
            return read_mixed_stack(tools_, wanted[i].second->pid);
        });
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            if (!stacks[i]) continue;
            const std::uint32_t native = index_of(*stacks[i]);
            for (ProcessSample& process : sample_.processes) {
                if (process.is_python && process.moments.back().stack == wanted[i].first) {
                    process.native = native;
                }
            }
        }
        wait_until_settled();
        read_works(&Moment::after);
        sample_.ends.back() = now();
    }

    NodeSample finish() && {
        const TcpConnections connections = read_tcp_connections();
        for (ProcessSample& process : sample_.processes) {
            ProcessSockets sockets = sockets_of(process.pid, connections, background_ports_);
            process.connections = std::move(sockets.connections);
            process.silence = sockets.quiet;
            process.lock = lock_text(process.pid);
            if (has_sent_any(process)) process.chatter = chatter_of(process.pid);
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
    // Seconds since the sample began.
    double now() const {
        using Seconds = std::chrono::duration<double>;
        return Seconds(Clock::now().time_since_epoch()).count() - sample_.began;
    }

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
    }

    void read_works(Work Moment::*which) {
        const ProcessTree tree = read_process_tree();
        const auto connections = read_tcp_connections();
        for (ProcessSample& process : sample_.processes) {
            Moment& moment = process.moments.back();
            const std::vector<pid_t> below = tree.below(process.pid);
            moment.*which = read_work(process.pid, below, tree);
            (moment.*which).peer_bytes =
                sockets_of(process.pid, connections, background_ports_).peer_bytes;
            moment.has_running_child =
                std::ranges::any_of(below, [&](pid_t pid) { return tree.is_running(pid); });
        }
    }

    // Asks once about each file, because a file server may not answer.
    std::string lock_text(pid_t pid) {
        std::string file = lock_files_[pid];
        if (file.empty()) file = lock_file_of(pid);
        if (file.empty()) return "";
        const auto [known, is_new] = lock_texts_.try_emplace(file);
        if (is_new) known->second = describe_lock(file, pid, sample_.node);
        return known->second;
    }

    static bool has_sent_any(const ProcessSample& process) {
        return process.moments.front().before.peer_bytes != process.moments.back().after.peer_bytes;
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
        background_ports_.merge(background_ports(variables));
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

    static Moment moment_of(const ProcessSample& process) {
        const auto stat = read_stat(process.pid);
        if (!stat || stat->begin != process.begin) return {.state = 'X'};
        return {.state = stat->state,
                .wait_channel = read_wait_channel(process.pid),
                .system_call = read_system_call(process.pid)};
    }

    // Machine code is read only of processes without children: others are shells and launchers.
    bool needs_stack(const ProcessSample& process) const {
        const char state = process.moments.back().state;
        const bool is_running = state == 'S' || state == 'R';
        if (process.is_python) return is_running || is_stopped_or_blocked(process);
        return is_running &&
               std::ranges::count(sample_.processes, process.pid, &ProcessSample::parent) == 0;
    }

    Result<PythonStack> read_stack(const ProcessSample& process) const {
        // Not as root, because the process controls what the tools read.
        if (geteuid() == 0) {
            return Error{"stacks", "debugging tools are not run as root",
                         "run this as another user"};
        }
        if (process.is_python) {
            return read_python_stack(tools_, process.pid, is_stopped_or_blocked(process));
        }
        return read_native_stack(tools_, process.pid).transform([](Stack stack) {
            return PythonStack{.stack = std::move(stack)};
        });
    }

    // The results of `read` for each index below `count`, in up to 8 threads.
    template <class Value>
    static std::vector<Value> in_parallel(std::size_t count,
                                          const std::function<Value(std::size_t)>& read) {
        const std::size_t threads =
            std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 8);
        std::vector<std::optional<Value>> values(count);
        std::vector<std::future<void>> running;
        for (std::size_t thread = 0; thread < std::min(threads, count); ++thread) {
            running.push_back(std::async(std::launch::async, [&, thread] {
                for (std::size_t i = thread; i < count; i += threads) values[i] = read(i);
            }));
        }
        for (auto& thread : running) thread.get();
        std::vector<Value> all;
        all.reserve(count);
        for (auto& value : values) all.push_back(*std::move(value));
        return all;
    }

    void add_stacks() {
        std::vector<ProcessSample*> processes;
        for (ProcessSample& process : sample_.processes) {
            if (needs_stack(process) && processes.size() < max_stacks) {
                processes.push_back(&process);
            }
        }
        const auto stacks = in_parallel<Result<PythonStack>>(
            processes.size(), [&](std::size_t i) { return read_stack(*processes[i]); });
        for (std::size_t i = 0; i < processes.size(); ++i) {
            Moment& moment = processes[i]->moments.back();
            if (stacks[i]) {
                moment.stack = index_of(stacks[i]->stack);
                moment.variables = stacks[i]->variables;
                moment.holds_gil = stacks[i]->holds_gil;
                moment.has_request = stacks[i]->has_request;
                lock_files_[processes[i]->pid] = stacks[i]->lock_file;
            } else {
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
    const std::string yama_;
    const bool has_driver_ = nvidia_driver_has_gpus("/proc");
    NodeGpus gpus_;
    StackTools tools_;
    std::set<std::uint16_t> background_ports_;
    std::vector<std::string> gpus_in_use_;  // PCI addresses
    bool can_read_load_ = true;
    std::map<pid_t, std::string> lock_files_;        // that they may wait for
    std::map<std::string, std::string> lock_texts_;  // who holds them
    std::map<pid_t, Error> stack_errors_;            // why stacks could not be read
    std::map<pid_t, std::uint64_t> switches_;        // of main threads, after the last moment
    Traffic traffic_;                                // up to the first moment
    std::string ras_address_;  // of rank 0's NCCL: "localhost:28028", "[::1]:28028"
    std::future<std::string> nccl_status_;
};

}  // namespace

Result<NodeSample> sample_this_node(const std::string& node, const std::string& step,
                                    std::chrono::seconds duration, const Environment& environment) {
    auto found = find_step_processes(node, step, environment);
    if (!found || (!found->problem.empty() && found->processes.empty())) return found;
    using Seconds = std::chrono::duration<double>;
    const auto begin = Clock::now();
    found->began = Seconds(begin.time_since_epoch()).count();
    Sampler sampler(*std::move(found), environment);
    if (duration > std::chrono::seconds(0)) sampler.ask_nccl();
    // Irregular: with training steps of one second, regular samples would all find the same state.
    constexpr std::array<double, 5> pauses{0.7, 1.1, 0.9, 1.3, 1.0};  // seconds
    constexpr double shortest_pause = 0.3;
    const Seconds end = duration;
    Seconds time{0};
    for (std::size_t round = 0;; ++round) {
        std::this_thread::sleep_for(time - (Clock::now() - begin));
        sampler.add_moment(Seconds(Clock::now() - begin).count());
        if (time >= end) {
            if (duration > std::chrono::seconds(0)) sampler.add_native_stacks();
            return std::move(sampler).finish();
        }
        // Reading stacks may take longer than the pause.
        const Seconds earliest = Seconds(Clock::now() - begin) + Seconds(shortest_pause);
        time = std::max(std::min(time + Seconds(pauses.at(round % pauses.size())), end), earliest);
    }
}

}  // namespace distgpu
