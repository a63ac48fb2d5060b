// What the user and the administrator asked for, as values; mapping/spec reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace distgpu {

struct Framework;

// How MASTER_ADDR names the node of rank 0.
struct Master {
    enum class Form {
        address,  // Slurm's NodeAddr
        name,     // Slurm's NodeName
        suffix,   // NodeName + text
        host,     // text as it stands
    };
    Form form = Form::address;
    std::string text;

    bool operator==(const Master&) const = default;
};

// In which order the nodes of the step get the ranks.
struct RankOrder {
    enum class Source : std::uint8_t {
        slurm,     // as Slurm numbers the tasks
        switches,  // nodes of one switch follow each other
        file,      // of `text`, a list of the nodes
        variable,  // the same in a variable of srun's environment
    };
    Source source = Source::slurm;
    std::string text{};  // the file's path, or the variable's name

    bool operator==(const RankOrder&) const = default;
};

// As the user writes it.
inline std::string to_string(const RankOrder& order) {
    using Source = RankOrder::Source;
    if (order.source == Source::slurm) return "slurm";
    if (order.source == Source::switches) return "switch";
    return order.source == Source::file ? order.text : "$" + order.text;
}

// What gpus= chooses: which of the step's GPUs a task sees, and in which order.
enum class GpuPolicy : std::uint8_t {
    near,     // all, so that cuda:LOCAL_RANK is near; the order is the same for all tasks of the
              // node, so that they agree on device numbers and peers
    isolate,  // its own alone
    keep,     // what Slurm gave it, as Slurm named it
};

// Where CPUs or network devices are to be.
enum class BindingChoice : std::uint8_t { near, keep };

// What to do when the check before the program fails.
enum class CheckChoice : std::uint8_t {
    stop,  // print the findings and end the step
    warn,  // print the findings and start the program
    off,   // there is no check
};

// Whether a step is watched for ranks that hang.
struct Watch {
    bool on = false;  // the tasks are prepared, so that `distgpu why` sees what it can
    // Without any movement, after which it looks by itself; 0: it does not.
    std::uint32_t minutes = 0;
    bool ends = false;  // and then ends the step

    bool operator==(const Watch&) const = default;
};

// As the user writes it, with the unit of the minutes where one is given: "30:end", "30m:end".
inline std::string to_string(const Watch& watch, std::string_view unit = "") {
    if (watch.minutes == 0) return watch.on ? "on" : "off";
    return std::to_string(watch.minutes).append(unit) + (watch.ends ? ":end" : "");
}

// Removes the ":end" of such a text. False: it has none.
inline bool take_end(std::string_view& text) {
    constexpr std::string_view end = ":end";
    const bool ends = text.ends_with(end);
    if (ends) text.remove_suffix(end.size());
    return ends;
}

struct Request {
    const Framework* framework = nullptr;  // null: off
    // The mode as the user wrote it, with the key that chose a variant: "tf", "pytorch,per-node".
    std::string mode{};
    bool help = false;  // the mode was `help`
    std::optional<std::uint16_t> port;
    std::optional<Master> master;
    std::optional<std::uint32_t> nproc;
    std::optional<RankOrder> order{};  // nothing: the administrator's, else Slurm's
    bool keep_omp = false;             // omp=keep: OMP_NUM_THREADS is left alone
    std::optional<GpuPolicy> gpus{};   // nothing: the administrator's default, else near; so below
    std::optional<BindingChoice> cpus;
    std::optional<BindingChoice> hcas;
    bool keep_all = false;             // bind=none: those of the three that are not given are kept
    bool gpu_uuids = false;            // gpu-ids=uuid
    std::optional<CheckChoice> check;  // nothing: the administrator's default, else off
    std::optional<Watch> watch;        // nothing: the administrator's default, else off
    // tensorflow: tasks with this role, in rank order before and after the workers.
    std::uint32_t chief = 0;      // 0 or 1
    std::uint32_t ps = 0;         // parameter servers
    std::uint32_t evaluator = 0;  // 0 or 1
    // ray: the first and the last port of its workers; nothing: the kernel chooses.
    std::optional<std::pair<std::uint16_t, std::uint16_t>> worker_ports;
    bool dashboard = true;
    bool dry_run = false;
    bool verbose = false;

    bool operator==(const Request&) const = default;
};

// Whether the ranks shall be dealt to the nodes in another order than Slurm's.
inline bool reorders(const Request& request) {
    return request.order && request.order->source != RankOrder::Source::slurm;
}

// What the key watch= asks for, which is nothing where nobody gave it.
inline Watch watch_of(const Request& request) {
    return request.watch.value_or(Watch{});
}

}  // namespace distgpu
