// The keys of SPEC: their names, help and effect on the request, in one table.
#include "base/excerpt.h"
#include "base/format.h"
#include "base/values.h"
#include "mapping/binding/gpu_policies.h"
#include "mapping/frameworks/framework.h"
#include "mapping/rendezvous/host_port.h"
#include "mapping/spec/parse_spec.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace distgpu {
namespace {

Result<Request> apply_port(Request request, std::string_view value) {
    return parse_port("port", value).transform([&](std::uint16_t port) {
        request.port = port;
        return std::move(request);
    });
}

Result<Request> apply_master(Request request, std::string_view value) {
    return parse_master(value).transform([&](Master master) {
        request.master = std::move(master);
        return std::move(request);
    });
}

// More processes than this on one node is a typing error: the largest nodes have
// some hundred cores.
constexpr std::uint32_t max_processes_per_node = 4096;

Result<Request> apply_nproc(Request request, std::string_view value) {
    const auto nproc = whole_number(value);
    if (!nproc || *nproc == 0 || *nproc > max_processes_per_node) {
        return Error{formatted("nproc={}", value), "not a number of processes",
                     formatted("give a number from 1 to {}", max_processes_per_node)};
    }
    request.nproc = *nproc;
    return request;
}

Result<Request> apply_order(Request request, std::string_view value) {
    return parse_rank_order(value).transform([&](RankOrder order) {
        request.order = std::move(order);
        return std::move(request);
    });
}

Error unknown_value(std::string_view key, std::string_view value, std::string_view valid) {
    return {formatted("{}={}", key, excerpt(value)), "unknown value", formatted("give {}", valid)};
}

Result<Request> apply_omp(Request request, std::string_view value) {
    if (value != "auto" && value != "keep") return unknown_value("omp", value, "auto or keep");
    request.keep_omp = value == "keep";
    return request;
}

Result<Request> apply_gpus(Request request, std::string_view value) {
    return parse_gpu_policy(value).transform([&](const GpuPolicy* policy) {
        request.gpus = policy;
        return std::move(request);
    });
}

Result<Request> apply_cpus(Request request, std::string_view value) {
    return parse_binding_choice("cpus", value).transform([&](BindingChoice choice) {
        request.cpus = choice;
        return std::move(request);
    });
}

Result<Request> apply_hcas(Request request, std::string_view value) {
    return parse_binding_choice("hcas", value).transform([&](BindingChoice choice) {
        request.hcas = choice;
        return std::move(request);
    });
}

Result<Request> apply_gpu_ids(Request request, std::string_view value) {
    if (value != "index" && value != "uuid") {
        return unknown_value("gpu-ids", value, "index or uuid");
    }
    request.gpu_uuids = value == "uuid";
    return request;
}

Result<Request> apply_bind(Request request, std::string_view value) {
    if (value != "none") return unknown_value("bind", value, "none");
    request.keep_all = true;
    return request;
}

// Reads a number of tasks with one of TensorFlow's roles into `count`.
Result<Request> apply_count(Request request, std::uint32_t Request::*count, std::string_view name,
                            std::string_view value, std::uint32_t most) {
    const auto tasks = whole_number(value);
    if (!tasks || *tasks > most) {
        return Error{formatted("{}={}", name, excerpt(value)), "not a valid number of tasks",
                     formatted("give a number from 0 to {}", most)};
    }
    request.*count = *tasks;
    return request;
}

Result<Request> apply_chief(Request request, std::string_view value) {
    return apply_count(std::move(request), &Request::chief, "chief", value, 1);
}

Result<Request> apply_ps(Request request, std::string_view value) {
    // TF_CONFIG has room for fewer tasks than this.
    constexpr std::uint32_t most = 10'000;
    return apply_count(std::move(request), &Request::ps, "ps", value, most);
}

Result<Request> apply_evaluator(Request request, std::string_view value) {
    return apply_count(std::move(request), &Request::evaluator, "evaluator", value, 1);
}

Result<Request> apply_worker_ports(Request request, std::string_view value) {
    constexpr std::uint32_t first_user_port = 1024;
    constexpr std::size_t port_limit = 65536;
    const auto range = number_range_below(value, port_limit);
    if (!range || range->first < first_user_port || range->first == range->last) {
        return Error{formatted("worker-ports={}", excerpt(value)), "not a range of ports",
                     formatted("give FIRST-LAST, FIRST at least {}, a port for each CPU and each "
                               "driver",
                               first_user_port)};
    }
    request.worker_ports = {static_cast<std::uint16_t>(range->first),
                            static_cast<std::uint16_t>(range->last)};
    return request;
}

Result<Request> apply_dashboard(Request request, std::string_view value) {
    if (value != "on" && value != "off") return unknown_value("dashboard", value, "on or off");
    request.dashboard = value == "on";
    return request;
}

// Takes the contract that the framework keeps under this key and value.
Result<Request> apply_variant(Request request, std::string_view name, std::string_view value) {
    if (request.framework == nullptr) return request;
    const std::string wanted = value.empty() ? std::string(name) : formatted("{}={}", name, value);
    std::vector<std::string_view> known;
    for (const Variant& variant : request.framework->variants) {
        if (variant.key == wanted) {
            request.framework = variant.framework;
            request.mode += "," + wanted;
            return request;
        }
        if (variant.key.substr(0, name.size()) == name) known.push_back(variant.key);
    }
    // A key that the framework does not take at all is refused by the parser.
    if (known.empty()) return request;
    return Error{excerpt(wanted), "unknown value", formatted("give {}", join(known, " or "))};
}

Result<Request> apply_per_node(Request request, std::string_view value) {
    return apply_variant(std::move(request), "per-node", value);
}

Result<Request> apply_rdzv(Request request, std::string_view value) {
    return apply_variant(std::move(request), "rdzv", value);
}

Result<Request> apply_backend(Request request, std::string_view value) {
    return apply_variant(std::move(request), "backend", value);
}

Result<Request> apply_check(Request request, std::string_view value) {
    if (value.empty()) value = "stop";
    return parse_check_choice(value).transform([&](CheckChoice choice) {
        request.check = choice;
        return std::move(request);
    });
}

Result<Request> apply_watch(Request request, std::string_view value) {
    return parse_watch(value.empty() ? "on" : value).transform([&](Watch watch) {
        request.watch = watch;
        return std::move(request);
    });
}

Result<Request> apply_dry_run(Request request, std::string_view /*value*/) {
    request.dry_run = true;
    return request;
}

Result<Request> apply_verbose(Request request, std::string_view /*value*/) {
    request.verbose = true;
    return request;
}

constexpr std::array keys{
    SpecKey{"port", "N", "MASTER_PORT, instead of one derived from job and step", apply_port},
    SpecKey{"master", "addr|name|suffix:S|HOST",
            "MASTER_ADDR: rank 0's NodeAddr (default), NodeName, NodeName+S, or HOST",
            apply_master},
    SpecKey{"order", "slurm|switch|PATH|$NAME",
            "which nodes have neighbouring ranks: Slurm's order (default), by switch, or as a "
            "file or variable lists the nodes",
            apply_order},
    SpecKey{"omp", "auto|keep", "OMP_NUM_THREADS from each task's CPUs (default), or left alone",
            apply_omp},
    SpecKey{"gpus", "near|isolate|keep",
            "all GPUs with the nearest as device LOCAL_RANK (default), the task's own, or "
            "Slurm's choice",
            apply_gpus},
    SpecKey{"gpu-ids", "index|uuid", "name the GPUs by number or by UUID", apply_gpu_ids},
    SpecKey{"cpus", "near|keep",
            "the CPUs near the task's GPUs (default without --cpu-bind), or Slurm's choice",
            apply_cpus},
    SpecKey{"hcas", "near|keep",
            "NCCL's and UCX's network devices: the nearest (default), or left alone", apply_hcas},
    SpecKey{"bind", "none", "keep gpus, cpus and hcas as Slurm set them, unless given too",
            apply_bind},
    SpecKey{"per-node", "", "one task per node, which starts the processes itself", apply_per_node,
            true},
    SpecKey{"nproc", "N", "processes that a per-node launcher starts on each node", apply_nproc,
            true},
    SpecKey{"rdzv", "static|c10d", "how torchrun's launchers meet: c10d for elastic jobs",
            apply_rdzv, true},
    SpecKey{"backend", "mpi|gloo", "what Horovod uses to start", apply_backend, true},
    SpecKey{"chief", "N", "number of TensorFlow chief tasks, at rank 0: 0 or 1", apply_chief, true},
    SpecKey{"ps", "N", "number of TensorFlow ps tasks, after the chief", apply_ps, true},
    SpecKey{"evaluator", "N", "number of TensorFlow evaluator tasks, at the last rank: 0 or 1",
            apply_evaluator, true},
    SpecKey{"worker-ports", "A-B",
            "ports of Ray's workers, instead of ones that the kernel chooses", apply_worker_ports,
            true},
    SpecKey{"dashboard", "on|off", "Ray's dashboard, if it is installed (default), or none",
            apply_dashboard, true},
    SpecKey{"check", "stop|warn|off",
            "run distgpu check first; if something is wrong, end the step or (warn) tell it",
            apply_check, false, true},
    SpecKey{
        "watch", "MINUTES|MINUTES:end|on|off",
        "let distgpu why see all it can; after MINUTES without any movement it looks by itself, "
        "and (:end) ends the step if a rank is proven to hang",
        apply_watch, false, true},
    SpecKey{"dry-run", "", "print each task's variables instead of running the program",
            apply_dry_run},
    SpecKey{"verbose", "", "print the step's and each task's plan on standard error",
            apply_verbose},
};

}  // namespace

std::span<const SpecKey> spec_keys() {
    return keys;
}

Result<const GpuPolicy*> parse_gpu_policy(std::string_view text) {
    for (const GpuPolicy* const policy : gpu_policies()) {
        if (policy->word == text) return policy;
    }
    return unknown_value("gpus", text, "near, isolate or keep");
}

Result<BindingChoice> parse_binding_choice(std::string_view name, std::string_view text) {
    if (text == "near") return BindingChoice::near;
    if (text == "keep") return BindingChoice::keep;
    return unknown_value(name, text, "near or keep");
}

Result<CheckChoice> parse_check_choice(std::string_view text) {
    if (text == "stop") return CheckChoice::stop;
    if (text == "warn") return CheckChoice::warn;
    if (text == "off") return CheckChoice::off;
    return unknown_value("check", text, "stop, warn or off");
}

std::string key_usage(const SpecKey& key) {
    if (key.placeholder.empty()) return std::string(key.name);
    if (key.stands_alone) return formatted("{}[={}]", key.name, key.placeholder);
    return formatted("{}={}", key.name, key.placeholder);
}

Result<Master> parse_master(std::string_view text) {
    constexpr std::string_view suffix = "suffix:";
    const bool is_suffix = text.substr(0, suffix.size()) == suffix;
    const std::string_view host = is_suffix ? text.substr(suffix.size()) : text;
    if (!is_host(host)) {
        return Error{formatted("master={}", excerpt(text)), "not a host name or address",
                     "give addr, name, suffix:S, or a host (its port is port=N)"};
    }
    if (is_suffix) return Master{Master::Form::suffix, std::string(host)};
    if (text == "addr") return Master{Master::Form::address, {}};
    if (text == "name") return Master{Master::Form::name, {}};
    return Master{Master::Form::host, std::string(host)};
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
    return Error{formatted("order={}", excerpt(text)), "no order of the nodes",
                 "give slurm, switch, a file with its path (./FILE), or '$NAME' of a variable"};
}

Result<Watch> parse_watch(std::string_view text) {
    constexpr std::uint32_t most = 1440;  // a day
    if (text == "off") return Watch{};
    if (text == "on") return Watch{.on = true};
    std::string_view number = text;
    Watch watch{.on = true, .ends = take_end(number)};
    const auto minutes = whole_number(number);
    if (!minutes || *minutes == 0 || *minutes > most) {
        return Error{
            formatted("watch={}", excerpt(text)), "unknown value",
            formatted("give minutes from 1 to {}, as in watch=30 or watch=30:end, or on or "
                      "off",
                      most)};
    }
    watch.minutes = *minutes;
    return watch;
}

}  // namespace distgpu
