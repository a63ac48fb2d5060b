// The request: the user's SPEC with the administrator's defaults, as parsed by mapping/spec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace distgpu {

struct Framework;

// How MASTER_ADDR names the node of rank 0.
struct MasterAddress {
    enum class Form {
        address,  // Slurm's NodeAddr
        name,     // Slurm's NodeName
        suffix,   // NodeName + `text`
        host,     // `text` itself
    };
    Form form = Form::address;
    std::string text;

    bool operator==(const MasterAddress&) const = default;
};

// The order in which the nodes of the step get their ranks.
struct RankOrder {
    enum class Source : std::uint8_t {
        slurm,     // as Slurm numbers the tasks
        switches,  // nodes on one switch are neighbours
        file,      // as the file lists the nodes
        variable,  // as a variable of srun's environment lists the nodes
    };
    Source source = Source::slurm;
    std::string text{};  // the file's path, or the variable's name

    bool operator==(const RankOrder&) const = default;
};

// The value of order= as the user writes it.
inline std::string to_string(const RankOrder& order) {
    using Source = RankOrder::Source;
    if (order.source == Source::slurm) return "slurm";
    if (order.source == Source::switches) return "switch";
    return order.source == Source::file ? order.text : "$" + order.text;
}

// The value of gpus=: which of the step's GPUs a task sees, and in which order.
enum class GpuPolicy : std::uint8_t {
    near,     // all, ordered so that cuda:LOCAL_RANK is near; all tasks of the node have the same
              // order, so that they agree on device numbers and peers
    isolate,  // only the task's own
    keep,     // those that Slurm gave it, under Slurm's names
};

// The value of cpus= and of hcas=.
enum class BindingChoice : std::uint8_t { near, keep };

// What to do when the check before the program fails.
enum class CheckChoice : std::uint8_t {
    stop,  // print the findings and end the step
    warn,  // print the findings and start the program
    off,   // do not check
};

// The value of fail=: what happens when a rank fails while others run.
enum class FailChoice : std::uint8_t {
    end,   // the step is ended, because the others would wait for it
    wait,  // they run on
};

// The value of signal=: Slurm's signals reach the ranks below the task's program.
struct SignalChoice {
    bool on = false;
    std::string name{};         // "USR2", which the ranks are to catch; empty: any
    std::uint32_t seconds = 0;  // before the job's time limit, when srun sends it; 0: never

    bool operator==(const SignalChoice&) const = default;
};

// The value of watch=: whether a step is watched for ranks that hang.
struct Watch {
    bool on = false;  // prepare the tasks, so that `distgpu why` sees as much as possible
    // Minutes without progress until the watch samples the step; 0: it never does.
    std::uint32_t minutes = 0;
    bool ends_step = false;  // the watch also ends a step in which a rank is proven to hang

    bool operator==(const Watch&) const = default;
};

// The value of watch= as the user writes it; `unit` follows the minutes: "30:end", "30m:end".
inline std::string to_string(const Watch& watch, std::string_view unit = "") {
    if (watch.minutes == 0) return watch.on ? "on" : "off";
    return std::to_string(watch.minutes).append(unit) + (watch.ends_step ? ":end" : "");
}

// The value of report=: whether the step writes what it did with its GPUs.
struct ReportChoice {
    bool on = false;
    std::string file{};  // with %j, %s and %u, see report_file(); empty: default_report_file

    bool operator==(const ReportChoice&) const = default;
};

// Removes ":end" from such a text. False if it has none.
inline bool remove_end_suffix(std::string_view& text) {
    constexpr std::string_view end = ":end";
    const bool has_end = text.ends_with(end);
    if (has_end) text.remove_suffix(end.size());
    return has_end;
}

struct Request {
    const Framework* framework = nullptr;  // null: off
    // The mode as the user wrote it, with the key that chose a variant: "tf", "pytorch,per-node".
    std::string mode{};
    bool help = false;  // the mode was `help`
    std::optional<std::uint16_t> port;
    std::optional<MasterAddress> master;
    std::optional<std::uint32_t> nproc;
    std::optional<RankOrder> order{};   // nullopt: the administrator's default, or slurm
    bool keep_omp = false;              // omp=keep: OMP_NUM_THREADS is left alone
    std::optional<GpuPolicy> gpus{};    // nullopt: the administrator's default, or near
    std::optional<BindingChoice> cpus;  // likewise
    std::optional<BindingChoice> hcas;  // likewise
    bool keep_all = false;  // bind=none: `keep` for those of gpus, cpus and hcas that are not given
    bool gpu_uuids = false;            // gpu-ids=uuid
    std::optional<CheckChoice> check;  // nullopt: the administrator's default, or off
    std::optional<Watch> watch;        // nullopt: the administrator's default, or off
    std::optional<FailChoice> fail;    // nullopt: the administrator's default, or end
    // nullopt: the administrator's default, or off.
    std::optional<SignalChoice> signal;
    std::optional<ReportChoice> report;  // nullopt: the administrator's default, or off
    // tensorflow: number of tasks with this role, in rank order before and after the workers.
    std::uint32_t chief = 0;      // 0 or 1
    std::uint32_t ps = 0;         // parameter servers
    std::uint32_t evaluator = 0;  // 0 or 1
    // ray: the first and the last port of its workers; nullopt: the kernel chooses.
    std::optional<std::pair<std::uint16_t, std::uint16_t>> worker_ports;
    bool dashboard = true;
    bool dry_run = false;
    bool verbose = false;

    bool operator==(const Request&) const = default;
};

// Whether the nodes get their ranks in another order than Slurm's.
inline bool reorders_nodes(const Request& request) {
    return request.order && request.order->source != RankOrder::Source::slurm;
}

// The value of watch=; off if it was not given.
inline Watch watch_of(const Request& request) {
    return request.watch.value_or(Watch{});
}

}  // namespace distgpu
