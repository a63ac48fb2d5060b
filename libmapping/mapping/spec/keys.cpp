// The keys of SPEC: their names, help and effect on the request, in one table.
#include "base/format.h"
#include "base/values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/rendezvous/rendezvous.h"
#include "mapping/request/report_file.h"
#include "mapping/spec/parse_spec.h"

#include <array>

namespace distgpu {
namespace {

// The index of the value in `choices`, which are separated by '|'.
Result<std::size_t> index_of(std::string_view key, std::string_view choices,
                             std::string_view value) {
    std::string valid;
    for (std::size_t index = 0;; ++index) {
        const std::string_view choice = cut_until(choices, '|');
        if (choice == value) return index;
        valid += formatted("{}{}", index == 0 ? "" : choices.empty() ? " or " : ", ", choice);
        if (choices.empty()) {
            return Error{formatted("{}={}", key, excerpt(value)), "unknown value", "give " + valid};
        }
    }
}

// Parses the value as an enumerator; `choices` are in the order of the enumeration.
template <class Choice>
Result<Choice> parse_choice(std::string_view key, std::string_view choices,
                            std::string_view value) {
    return index_of(key, choices, value).transform([](std::size_t index) {
        return static_cast<Choice>(index);
    });
}

// Sets the member to parse(value) or parse(name of the key, value).
template <auto member, auto parse>
Result<Request> set_value(Request request, const SpecKey& key, std::string_view value) {
    const auto assign = [&](auto result) {
        request.*member = std::move(result);
        return std::move(request);
    };
    if constexpr (std::is_invocable_v<decltype(parse), std::string_view>) {
        return parse(value).transform(assign);
    } else {
        return parse(key.name, value).transform(assign);
    }
}

// Sets the flag of a key whose placeholder lists all its values, or that has none: to `by_first`
// for the first value, to the opposite for the second one.
template <bool Request::*member, bool by_first>
Result<Request> set_flag(Request request, const SpecKey& key, std::string_view value) {
    return index_of(key.name, key.placeholder, value).transform([&](std::size_t index) {
        request.*member = (index == 0) == by_first;
        return std::move(request);
    });
}

Result<std::uint32_t> parse_nproc(std::string_view value) {
    // More processes on one node are a typing error: the largest nodes have some hundred cores.
    constexpr std::uint32_t max_processes = 4096;
    const auto nproc = whole_number(value);
    if (nproc && *nproc > 0 && *nproc <= max_processes) return *nproc;
    return Error{formatted("nproc={}", value), "not a number of processes",
                 formatted("give a number from 1 to {}", max_processes)};
}

// A number of tasks with one of TensorFlow's roles.
template <std::uint32_t max_tasks>
Result<std::uint32_t> parse_task_count(std::string_view name, std::string_view value) {
    const auto tasks = number_below(value, max_tasks + 1);
    if (tasks) return *tasks;
    return Error{formatted("{}={}", name, excerpt(value)), "not a valid number of tasks",
                 formatted("give a number from 0 to {}", max_tasks)};
}

// TF_CONFIG has room for fewer tasks than this.
constexpr std::uint32_t max_parameter_servers = 10'000;

Result<std::pair<std::uint16_t, std::uint16_t>> parse_worker_ports(std::string_view value) {
    constexpr std::uint32_t first_user_port = 1024;
    constexpr std::size_t port_limit = 65536;
    const auto range = number_range_below(value, port_limit);
    if (!range || range->first < first_user_port || range->first == range->last) {
        return Error{formatted("worker-ports={}", excerpt(value)), "not a range of ports",
                     formatted("give FIRST-LAST, FIRST at least {}, a port for each CPU and each "
                               "driver",
                               first_user_port)};
    }
    return std::pair(static_cast<std::uint16_t>(range->first),
                     static_cast<std::uint16_t>(range->last));
}

// Replaces the framework by its variant for this key and value.
Result<Request> choose_variant(Request request, const SpecKey& key, std::string_view value) {
    if (request.framework == nullptr) return request;
    const std::string item =
        value.empty() ? std::string(key.name) : formatted("{}={}", key.name, value);
    std::vector<std::string_view> known;
    for (const Variant& variant : request.framework->variants) {
        if (variant.key == item) {
            request.framework = variant.framework;
            request.mode += "," + item;
            return request;
        }
        if (variant.key.view().starts_with(key.name)) known.push_back(variant.key);
    }
    // The parser refuses a key that the framework does not support.
    if (known.empty()) return request;
    return Error{excerpt(item), "unknown value", formatted("give {}", join(known, " or "))};
}

constexpr std::array keys{
    SpecKey{"port", "N", "MASTER_PORT, instead of one derived from job and step",
            set_value<&Request::port, parse_port>},
    SpecKey{"master", "addr|name|suffix:S|HOST",
            "MASTER_ADDR: rank 0's NodeAddr (default), NodeName, NodeName+S, or HOST",
            set_value<&Request::master, parse_master>},
    SpecKey{"order", "slurm|switch|PATH|$NAME",
            "which nodes have neighbouring ranks: Slurm's order (default), by switch, or as a "
            "file or variable lists the nodes",
            set_value<&Request::order, parse_rank_order>},
    SpecKey{"omp", "auto|keep", "OMP_NUM_THREADS from each task's CPUs (default), or left alone",
            set_flag<&Request::keep_omp, false>},
    SpecKey{"gpus", "near|isolate|keep",
            "all GPUs with the nearest as device LOCAL_RANK (default), the task's own, or "
            "Slurm's choice",
            set_value<&Request::gpus, parse_gpu_policy>},
    SpecKey{"gpu-ids", "index|uuid", "name the GPUs by number or by UUID",
            set_flag<&Request::gpu_uuids, false>},
    SpecKey{"cpus", "near|keep",
            "the CPUs near the task's GPUs (default without --cpu-bind), or Slurm's choice",
            set_value<&Request::cpus, parse_binding_choice>},
    SpecKey{"hcas", "near|keep",
            "NCCL's and UCX's network devices: the nearest (default), or left alone",
            set_value<&Request::hcas, parse_binding_choice>},
    SpecKey{"bind", "none", "keep gpus, cpus and hcas as Slurm set them, unless given too",
            set_flag<&Request::keep_all, true>},
    SpecKey{"per-node", "", "one task per node, which starts the processes itself", choose_variant,
            true},
    SpecKey{"nproc", "N", "processes that a per-node launcher starts on each node",
            set_value<&Request::nproc, parse_nproc>, true},
    SpecKey{"rdzv", "static|c10d", "torchrun's rendezvous backend: c10d for elastic jobs",
            choose_variant, true},
    SpecKey{"backend", "mpi|gloo", "what Horovod uses to start", choose_variant, true},
    SpecKey{"chief", "N", "number of TensorFlow chief tasks, at rank 0: 0 or 1",
            set_value<&Request::chief, parse_task_count<1>>, true},
    SpecKey{"ps", "N", "number of TensorFlow ps tasks, after the chief",
            set_value<&Request::ps, parse_task_count<max_parameter_servers>>, true},
    SpecKey{"evaluator", "N", "number of TensorFlow evaluator tasks, at the last rank: 0 or 1",
            set_value<&Request::evaluator, parse_task_count<1>>, true},
    SpecKey{"worker-ports", "A-B",
            "ports of Ray's workers, instead of ones that the kernel chooses",
            set_value<&Request::worker_ports, parse_worker_ports>, true},
    SpecKey{"dashboard", "on|off", "Ray's dashboard, if it is installed (default), or none",
            set_flag<&Request::dashboard, true>, true},
    SpecKey{"check", "stop|warn|off",
            "run distgpu check first; if it fails, end the step or (warn) only print why",
            set_value<&Request::check, parse_check_choice>, false, "stop"},
    SpecKey{"fail", "end|wait",
            "when a rank fails: end the step (default), or let the others run on",
            set_value<&Request::fail, parse_fail_choice>},
    SpecKey{"signal", "SIG|SIG@SECONDS|on|off",
            "pass Slurm's signals on to the ranks that catch them, below any shell or launcher; "
            "send SIG itself, SECONDS before the job's time limit",
            set_value<&Request::signal, parse_signal_choice>, false, "on"},
    SpecKey{"watch", "MINUTES|MINUTES:end|on|off",
            "prepare the tasks for distgpu why; report a hang after MINUTES without progress, and "
            "(:end) end the step if a rank is proven to hang",
            set_value<&Request::watch, parse_watch>, false, "on"},
    SpecKey{"report", "PATH|on|off",
            "write what each GPU and rank did to PATH (default distgpu-JOB.STEP.json in the "
            "step's folder), for distgpu report",
            set_value<&Request::report, parse_report_choice>, false, "on"},
    SpecKey{"dry-run", "", "print each task's variables instead of running the program",
            set_flag<&Request::dry_run, true>},
    SpecKey{"verbose", "", "print the step's and each task's plan on standard error",
            set_flag<&Request::verbose, true>},
};

}  // namespace

std::span<const SpecKey> spec_keys() {
    return keys;
}

Result<GpuPolicy> parse_gpu_policy(std::string_view text) {
    return parse_choice<GpuPolicy>("gpus", "near|isolate|keep", text);
}

Result<BindingChoice> parse_binding_choice(std::string_view name, std::string_view text) {
    return parse_choice<BindingChoice>(name, "near|keep", text);
}

Result<CheckChoice> parse_check_choice(std::string_view text) {
    return parse_choice<CheckChoice>("check", "stop|warn|off", text);
}

Result<FailChoice> parse_fail_choice(std::string_view text) {
    return parse_choice<FailChoice>("fail", "end|wait", text);
}

Result<SignalChoice> parse_signal_choice(std::string_view text) {
    constexpr std::uint32_t min_seconds = 10;
    constexpr std::uint32_t max_seconds = 65535;  // as in sbatch's --signal
    if (text == "on" || text == "off") return SignalChoice{text == "on"};
    const bool has_seconds = text.find('@') != std::string_view::npos;
    std::string_view after = text;
    std::string_view signal = cut_until(after, '@');
    if (signal.starts_with("SIG")) signal.remove_prefix(3);
    const auto seconds = has_seconds ? number_below(after, max_seconds + 1) : 0;
    const bool is_valid = seconds && (*seconds >= min_seconds || !has_seconds);
    if (has_word("TERM INT HUP USR1 USR2", signal) && is_valid) {
        return SignalChoice{true, std::string(signal), *seconds};
    }
    return Error{formatted("signal={}", excerpt(text)), "not a signal for the ranks",
                 formatted("give TERM, INT, HUP, USR1 or USR2, with or without {} to {} seconds "
                           "before the time limit, as in signal=USR2@300; or on, or off",
                           min_seconds, max_seconds)};
}

Result<ReportChoice> parse_report_choice(std::string_view text) {
    if (text == "on" || text == "off") return ReportChoice{text == "on"};
    const std::string object = formatted("report={}", excerpt(text));
    if (!with_names(text, {})) {
        return Error{object, "has a % that stands for nothing",
                     "give %j for the job, %s for the step, %u for the user, or %%"};
    }
    if (text.find('/') == std::string_view::npos) {
        return Error{object, "not the path of a file",
                     "give a file with its path (./FILE), or on, or off"};
    }
    return ReportChoice{true, std::string(text)};
}

std::string key_usage(const SpecKey& key) {
    if (key.placeholder.empty()) return std::string(key.name);
    if (!key.bare_value.empty()) return formatted("{}[={}]", key.name, key.placeholder);
    return formatted("{}={}", key.name, key.placeholder);
}

Result<MasterAddress> parse_master(std::string_view text) {
    constexpr std::string_view suffix = "suffix:";
    const bool is_suffix = text.starts_with(suffix);
    const std::string_view host = is_suffix ? text.substr(suffix.size()) : text;
    if (!is_host(host)) {
        return Error{formatted("master={}", excerpt(text)), "not a host name or address",
                     "give addr, name, suffix:S, or a host (its port is port=N)"};
    }
    if (is_suffix) return MasterAddress{MasterAddress::Form::suffix, std::string(host)};
    if (text == "addr") return MasterAddress{MasterAddress::Form::address, {}};
    if (text == "name") return MasterAddress{MasterAddress::Form::name, {}};
    return MasterAddress{MasterAddress::Form::host, std::string(host)};
}

Result<RankOrder> parse_rank_order(std::string_view text) {
    constexpr std::string_view letters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    using Source = RankOrder::Source;
    if (text == "slurm") return RankOrder{};
    if (text == "switch") return RankOrder{Source::switches};
    if (text.find('/') != std::string_view::npos) return RankOrder{Source::file, std::string(text)};
    const bool is_name = text.size() > 1 && text.front() == '$' &&
                         text.find_first_not_of(letters, 1) == std::string_view::npos;
    if (is_name) return RankOrder{Source::variable, std::string(text.substr(1))};
    return Error{formatted("order={}", excerpt(text)), "not a valid node order",
                 "give slurm, switch, a file with its path (./FILE), or '$NAME' of a variable"};
}

Result<Watch> parse_watch(std::string_view text) {
    constexpr std::uint32_t max_minutes = 1440;  // a day
    if (text == "off") return Watch{};
    if (text == "on") return Watch{.on = true};
    std::string_view number = text;
    Watch watch{.on = true, .ends_step = remove_end_suffix(number)};
    const auto minutes = whole_number(number);
    if (!minutes || *minutes == 0 || *minutes > max_minutes) {
        return Error{
            formatted("watch={}", excerpt(text)), "unknown value",
            formatted("give minutes from 1 to {}, as in watch=30 or watch=30:end, or on or "
                      "off",
                      max_minutes)};
    }
    watch.minutes = *minutes;
    return watch;
}

}  // namespace distgpu
