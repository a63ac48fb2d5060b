#include "slurm/plugstack_arguments.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/spec/parse_spec.h"

#include <algorithm>
#include <functional>

namespace distgpu {
namespace {

Result<std::string> parse_path(std::string_view name, std::string_view text) {
    if (!text.empty() && text.front() == '/') return std::string(text);
    return Error{formatted("{}={}", name, text), "not an absolute path",
                 "give one that begins with /"};
}

// The same values as the user's key, except a host: every job of the cluster would use it.
Result<MasterAddress> parse_default_master(std::string_view text) {
    auto master = parse_master(text);
    if (master && master->form != MasterAddress::Form::host) return master;
    return Error{formatted("master={}", excerpt(text)),
                 master ? "would send every job to this one host" : "unknown value",
                 "give addr, name or suffix:S"};
}

// Refuses lists of nodes, which fit only one step.
Result<RankOrder> parse_default_order(std::string_view text) {
    auto order = parse_rank_order(text);
    if (order && order->text.empty()) return order;
    return Error{formatted("order={}", excerpt(text)), "unknown value", "give slurm or switch"};
}

// Every step of the cluster has its own file, in a folder of its user's.
Result<ReportChoice> parse_default_report(std::string_view text) {
    auto report = parse_report_choice(text);
    if (!report) return report;
    const std::string& file = report->file;
    const auto has = [&](const char* name) { return file.find(name) != std::string::npos; };
    if (file.starts_with('/') && has("%u") && has("%j") && has("%s")) return report;
    return Error{formatted("report={}", excerpt(text)), "not a file of its own for each step",
                 "give an absolute path with %u, %j and %s, as in "
                 "report=/scratch/%u/distgpu-%j.%s.json"};
}

Result<SiteSwitch> parse_off(std::string_view argument) {
    if (argument == "off") return SiteSwitch::refused;
    if (argument == "off=run") return SiteSwitch::unprepared;
    return Error{excerpt(argument), "unknown value", "give off or off=run"};
}

// An argument with one value; anything else leaves it as it is.
Result<bool> parse_switch(std::string_view name, std::string_view text, std::string_view value) {
    if (text == value) return true;
    return Error{formatted("{}={}", name, excerpt(text)), "unknown value",
                 formatted("give {}", value)};
}

void parse_argument(PlugstackArguments& result, std::string_view argument) {
    const auto set = [&](auto& field, auto value) {
        if (value) {
            field = *std::move(value);
        } else {
            result.ignored_arguments.push_back(value.error());
        }
    };
    std::string_view value = argument;
    const std::string_view name = cut_until(value, '=');
    if (name == "master") return set(result.master, parse_default_master(value));
    if (name == "ports") return set(result.ports, parse_port_range(value));
    if (name == "gpus") return set(result.gpus, parse_gpu_policy(value));
    if (name == "cpus") return set(result.cpus, parse_binding_choice(name, value));
    if (name == "hcas") return set(result.hcas, parse_binding_choice(name, value));
    if (name == "check") return set(result.check, parse_check_choice(value));
    if (name == "fail") return set(result.fail, parse_fail_choice(value));
    if (name == "signal") return set(result.signal, parse_signal_choice(value));
    if (name == "watch") return set(result.watch, parse_watch(value));
    if (name == "report") return set(result.report, parse_default_report(value));
    if (name == "order") return set(result.order, parse_default_order(value));
    if (name == "topology") return set(result.topology, parse_path(name, value));
    if (name == "save") {
        return set(result.saves_topology,
                   parse_switch(name, value, "off").transform(std::logical_not{}));
    }
    if (name == "layout") return set(result.asks_slurmctld, parse_switch(name, value, "ask"));
    if (name == "command") return set(result.command, parse_path(name, value));
    if (name == "off") return set(result.site_switch, parse_off(argument));
    if (name == "log") return set(result.logs_steps, parse_switch(name, value, "steps"));
    result.ignored_arguments.push_back(
        {std::string(argument), "unknown argument",
         "arguments are master=, ports=, gpus=, cpus=, hcas=, check=, "
         "fail=, signal=, watch=, report=, order=, topology=, save=, layout=, command=, log=, "
         "off"});
}

}  // namespace

PlugstackArguments parse_plugstack_arguments(std::span<const char* const> arguments) {
    PlugstackArguments result;
    for (const char* argument : arguments) parse_argument(result, argument);
    return result;
}

Error switched_off_error(SiteSwitch site_switch, std::string_view spec, std::string_view where) {
    Error error{formatted("--distgpu={}", excerpt(spec)),
                formatted("switched off {} by the administrator", where),
                "start the step again when distgpu is back on, or set the ranks yourself and omit "
                "--distgpu"};
    if (site_switch == SiteSwitch::unprepared) {
        error.problem += ", so the step runs without it";
        error.remedy = "unless the program finds its ranks itself, each task trains alone";
    }
    return error;
}

std::string ignored_argument_message(const Error& error) {
    return formatted("distgpu: plugstack.conf: {}: {}; {}; ignored", error.object, error.problem,
                     error.remedy);
}

void apply_defaults(Request& request, const PlugstackArguments& arguments) {
    if (!request.check) request.check = arguments.check;
    if (!request.signal) request.signal = arguments.signal;
    if (!request.report) request.report = arguments.report;
    if (!request.watch && arguments.watch) {
        request.watch = arguments.watch;
        if (request.framework->service != nullptr) request.watch->minutes = 0;
    }
    if (request.keep_all) return;
    if (!request.gpus) request.gpus = arguments.gpus;
    if (!request.cpus && arguments.cpus == BindingChoice::keep) request.cpus = arguments.cpus;
    if (!request.hcas) request.hcas = arguments.hcas;
}

}  // namespace distgpu
