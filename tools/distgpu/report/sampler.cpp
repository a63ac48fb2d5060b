#include "report/sampler.h"

#include "base/format.h"
#include "base/io/clock.h"
#include "base/io/descriptor.h"
#include "base/io/files.h"
#include "base/values.h"
#include "inspect/process_facts.h"
#include "inspect/sockets.h"
#include "inspect/step_processes.h"
#include "node/host_helper.h"
#include "node/machine.h"
#include "node/out_of_memory.h"
#include "report/gpu_reader.h"
#include "report/node_record.h"
#include "report/rank_counters.h"
#include "report/report_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace distgpu {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::string_view all_ended = all_ended_line.substr(0, all_ended_line.size() - 1);

volatile std::sig_atomic_t was_told_to_end = 0;

// A signal may announce the step's end: what was recorded so far is then written at once.
void handle_signals() {
    handle_step_signals([](int) { was_told_to_end = 1; });
    // From the pipe to a reader of GPUs that has ended. Its successors would inherit SIG_IGN.
    static_cast<void>(std::signal(SIGPIPE, [](int) {}));
}

ReportCost own_cost() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        constexpr double microseconds = 1e6;
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / microseconds;
    };
    // ru_maxrss counts what this process had before it became the sampler.
    const std::string status = read_proc(getpid(), "status");
    std::string_view peak = value_after(status, "VmHWM:");  // "1812 kB"
    const auto kibibytes = whole_number_64(cut_until(peak, ' '));
    return {.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime),
            .memory_peak = kibibytes.value_or(0) << 10U};
}

class Sampler {
  public:
    explicit Sampler(const SamplerOptions& options)
        : options_(options),
          step_(options.step),
          file_(node_file(step_.file, step_.node, step_.nodes)),
          record_(step_.node, seconds_since_1970(), Seconds(options.interval).count()),
          reader_(step_.command) {}

    // Shows at once whether the file can be written.
    Result<Done> create_file() {
        const UniqueFd file(open(file_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
        if (!file.is_open()) {
            return Error{"report=" + file_, std::strerror(errno),
                         "the step runs without a report; name a new file in a folder that you can "
                         "write on all nodes, as in report=$HOME/%j.json"};
        }
        return write(false);
    }

    void run() {
        // By which slurmstepd learns which process to wait for.
        static_cast<void>(send(options_.control, "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT));
        auto next_sample = Clock::now();
        // Many nodes write to one file server.
        auto next_write = begin_ + options_.pause + options_.pause * (step_.index % 60) / 60;
        while (!has_ended_) {
            if (Clock::now() >= next_sample) {
                sample();
                next_sample = std::max(next_sample + options_.interval, Clock::now());
            }
            if (Clock::now() >= next_write || was_told_to_end != 0) {
                was_told_to_end = 0;
                if (!write(false)) add_note("a write failed; it was tried again a minute later");
                next_write = Clock::now() + options_.pause;
            }
            wait_until(std::min(next_sample, next_write));
        }
        if (have_all_ended_) read_gpus_at_end();
        if (write(have_all_ended_) && have_all_ended_ && step_.index == 0 && step_.nodes > 1)
            merge();
    }

  private:
    double now() const { return Seconds(Clock::now() - begin_).count(); }

    void add_note(std::string note) { record_.add_note(std::move(note)); }

    void wait_until(Deadline deadline) {
        std::array entries{pollfd{options_.control, POLLIN, 0}, pollfd{reader_.fd(), POLLIN, 0}};
        if (poll_until(entries, deadline) <= 0) return;
        if (entries[0].revents != 0) read_control();
        if (entries[1].revents == 0) return;
        if (auto readings = reader_.take()) record_.add(now(), *readings);
        if (reader_.fd() < 0) add_note("GPUs were not measured: distgpu report ended");
    }

    // What the library has seen since the last sample. slurmstepd waits a second for this process.
    void read_gpus_at_end() {
        constexpr std::chrono::milliseconds patience{200};
        const auto deadline = Clock::now() + patience;
        if (!reader_.ask(processes())) return;
        std::array entries{pollfd{reader_.fd(), POLLIN, 0}};
        while (reader_.fd() >= 0 && poll_until(entries, deadline) > 0) {
            const auto readings = reader_.take();
            if (!readings) continue;
            return record_.add(now(), *readings);
        }
    }

    std::vector<pid_t> processes() const {
        std::vector<pid_t> processes;
        for (const RankProcess& rank : ranks_) processes.push_back(rank.pid);
        return processes;
    }

    void read_control() {
        std::array<char, 4096> buffer{};
        const ssize_t got = read(options_.control, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) return;
        has_ended_ = got <= 0;
        if (has_ended_) return;
        ended_lines_.append(buffer.data(), static_cast<std::size_t>(got));
        std::string_view left = ended_lines_;
        while (left.find('\n') != std::string_view::npos) {
            std::string_view line = cut_until(left, '\n');
            have_all_ended_ = have_all_ended_ || line == all_ended;
            const auto task = whole_number(cut_until(line, ' '));
            const auto status = whole_number(cut_until(line, ' '));
            if (task && status) {
                record_.end_task(now(), *task, static_cast<int>(*status), whole_number(line));
            }
        }
        ended_lines_ = std::string(left);
    }

    void sample() {
        const bool is_early = now() < early.count();
        bool is_lost = false;
        if (is_early || round_ % rounds_per_search == 0) find_ranks_again();
        ++round_;
        for (const RankProcess& rank : ranks_) {
            const auto counters = read_rank_counters(rank);
            if (counters) record_.add(now(), rank, *counters);
            is_lost = is_lost || !counters;
        }
        if (is_lost) {  // a launcher may start it anew, with any number
            round_ = 0;
            others_.clear();
        }
        if (is_early || round_ % rounds_per_search == 1) add_exchanged();
        // A driver may take seconds when the first process opens a GPU.
        constexpr int patience = 4;
        silent_rounds_ = reader_.ask(processes()) ? 0 : silent_rounds_ + 1;
        if (silent_rounds_ == patience && reader_.fd() >= 0) {
            add_note("the GPUs' driver did not answer for some time");
        }
    }

    // Slurm's daemon knows the tasks, whose number is fixed; their processes change.
    void find_ranks_again() {
        if (!is_listed_) {
            const ProcessEnvironment environment;
            auto listed = list_step_processes(step_.node, step_.component, environment);
            is_listed_ = listed.has_value();
            tasks_ = listed ? *std::move(listed) : find_without_slurm(step_.component);
            others_.clear();
        }
        // A node has thousands of other processes, whose numbers are used again some day.
        if (searches_++ % searches_per_number == 0) others_.clear();
        auto found = find_rank_processes(tasks_, std::move(others_));
        ranks_ = std::move(found.ranks);
        others_ = std::move(found.others);
    }

    void add_exchanged() {
        const TcpConnections connections = read_tcp_connections();
        for (const RankProcess& rank : ranks_) {
            const auto variables = read_environment(rank.pid).value_or(EnvironmentCopy());
            const auto sockets = sockets_of(rank.pid, connections, background_ports(variables));
            record_.add_exchanged(now(), rank.rank, sockets.peer_bytes);
        }
    }

    // slurmstepd waits a second for this process; what is missing then, `distgpu report` merges.
    void merge() {
        constexpr std::chrono::milliseconds pause{50};
        const auto deadline = Clock::now() + std::chrono::milliseconds{800};
        while (!merge_parts(step_.file) && Clock::now() < deadline) {
            std::this_thread::sleep_for(pause);
        }
    }

    Result<Done> write(bool is_complete) {
        NodeReport report = record_.report(now(), is_complete);
        const double gpu_cpu_seconds = report.cost.gpu_cpu_seconds;
        report.cost = own_cost();
        report.cost.gpu_cpu_seconds = gpu_cpu_seconds;
        report.cost.writes = ++writes_;
        report.out_of_memory = out_of_memory_text(read_trimmed("/proc/self/cgroup").value_or(""));
        const auto traffic = read_traffic({});
        report.network_bytes = traffic.at(0) - std::min(traffic_.at(0), traffic.at(0));
        StepReport step{.cluster = step_.cluster,
                        .job = step_.job,
                        .step = step_.step,
                        .spec = step_.spec,
                        .nodes = step_.nodes,
                        .tasks = step_.tasks};
        step.reports.push_back(std::move(report));
        return replace_file(file_, report_json(step) + '\n', Readers::owner);
    }

    // Ranks start and restart in the first minute; later they are looked for once a minute.
    static constexpr std::chrono::seconds early{60};
    static constexpr std::uint32_t rounds_per_search = 12;
    static constexpr std::uint32_t searches_per_number = 10;

    const SamplerOptions& options_;
    const StepSampler& step_;
    std::string file_;
    Deadline begin_ = Clock::now();
    NodeRecord record_;
    GpuReader reader_;
    Traffic traffic_ = read_traffic({});
    std::vector<StepProcess> tasks_;
    bool is_listed_ = false;  // by Slurm
    std::vector<RankProcess> ranks_;
    std::vector<pid_t> others_;  // processes of the node that are not the step's
    std::uint32_t searches_ = 0;
    std::string ended_lines_;
    std::uint32_t round_ = 0;
    int silent_rounds_ = 0;  // in which the GPUs' reader still owed an answer
    std::uint64_t writes_ = 0;
    bool have_all_ended_ = false;  // the tasks
    bool has_ended_ = false;       // slurmstepd needs the sampler no longer
};

}  // namespace

Result<Done> sample_step_for_report(const SamplerOptions& options) {
    handle_signals();
    Sampler sampler(options);
    return sampler.create_file().transform([&](Done done) {
        sampler.run();
        return done;
    });
}

}  // namespace distgpu
