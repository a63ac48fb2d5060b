#include "slurm/plugstack_arguments.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "mapping/frameworks/framework.h"
#include "mapping/spec/parse_spec.h"

#include <string_view>

namespace distgpu {
namespace {

template <class Field, class T>
void take(Field& field, Result<T> value, std::vector<Error>& complaints) {
    if (value) {
        field = *std::move(value);
        return;
    }
    complaints.push_back(value.error());
}

Result<std::string> parse_path(std::string_view name, std::string_view text) {
    if (!text.empty() && text.front() == '/') return std::string(text);
    return Error{formatted("{}={}", name, text), "not an absolute path",
                 "give one that begins with /"};
}

// What the user's key takes but for a host: every job of the cluster would meet there.
Result<Master> parse_default_master(std::string_view text) {
    auto master = parse_master(text);
    if (master && master->form != Master::Form::host) return master;
    return Error{formatted("master={}", excerpt(text)),
                 master ? "would send every job to this one host" : "unknown value",
                 "give addr, name or suffix:S"};
}

// A list of nodes is one step's.
Result<RankOrder> parse_default_order(std::string_view text) {
    auto order = parse_rank_order(text);
    if (order && order->text.empty()) return order;
    return Error{formatted("order={}", excerpt(text)), "unknown value", "give slurm or switch"};
}

// "off" and "off=run".
Result<SiteSwitch> parse_off(std::string_view argument) {
    if (argument == "off") return SiteSwitch::refused;
    if (argument == "off=run") return SiteSwitch::unprepared;
    return Error{excerpt(argument), "unknown value", "give off or off=run"};
}

Result<bool> parse_log(std::string_view text) {
    if (text == "steps") return true;
    return Error{formatted("log={}", excerpt(text)), "unknown value", "give steps"};
}

}  // namespace

PlugstackArguments parse_plugstack_arguments(std::span<const char* const> arguments) {
    PlugstackArguments result;
    for (const std::string_view argument : arguments) {
        const std::size_t equals = argument.find('=');
        const std::string_view name = argument.substr(0, equals);
        const std::string_view value =
            equals == std::string_view::npos ? std::string_view{} : argument.substr(equals + 1);
        if (name == "master") {
            take(result.master, parse_default_master(value), result.complaints);
        } else if (name == "ports") {
            take(result.ports, parse_port_range(value), result.complaints);
        } else if (name == "gpus") {
            take(result.gpus, parse_gpu_policy(value), result.complaints);
        } else if (name == "cpus") {
            take(result.cpus, parse_binding_choice(name, value), result.complaints);
        } else if (name == "hcas") {
            take(result.hcas, parse_binding_choice(name, value), result.complaints);
        } else if (name == "check") {
            take(result.check, parse_check_choice(value), result.complaints);
        } else if (name == "watch") {
            take(result.watch, parse_watch(value), result.complaints);
        } else if (name == "order") {
            take(result.order, parse_default_order(value), result.complaints);
        } else if (name == "topology") {
            take(result.topology, parse_path(name, value), result.complaints);
        } else if (name == "command") {
            take(result.command, parse_path(name, value), result.complaints);
        } else if (name == "off") {
            take(result.site_switch, parse_off(argument), result.complaints);
        } else if (name == "log") {
            take(result.logs_steps, parse_log(value), result.complaints);
        } else {
            result.complaints.push_back({std::string(argument), "unknown argument",
                                         "arguments are master=, ports=, gpus=, cpus=, hcas=, "
                                         "check=, watch=, order=, topology=, command=, log=, off"});
        }
    }
    return result;
}

Error switched_off(SiteSwitch site_switch, std::string_view spec, std::string_view where) {
    Error error{formatted("--distgpu={}", excerpt(spec)),
                formatted("switched off {} by the administrator", where),
                "start the step again once it is on, or set the ranks yourself and leave it out"};
    if (site_switch == SiteSwitch::unprepared) {
        error.problem += ", so the step runs without it";
        error.remedy = "unless the program finds its ranks itself, each task trains alone";
    }
    return error;
}

std::string ignored_argument(const Error& complaint) {
    return formatted("distgpu: plugstack.conf: {}: {}; {}; ignored", complaint.object,
                     complaint.problem, complaint.remedy);
}

void take_defaults(Request& request, const PlugstackArguments& arguments) {
    if (!request.check) request.check = arguments.check;
    if (!request.watch && arguments.watch) {
        request.watch = arguments.watch;
        if (request.framework->service != nullptr) request.watch->minutes = 0;
    }
    if (request.keep_all) return;
    if (request.gpus == nullptr) request.gpus = arguments.gpus;
    if (!request.cpus && arguments.cpus == BindingChoice::keep) request.cpus = arguments.cpus;
    if (!request.hcas) request.hcas = arguments.hcas;
}

}  // namespace distgpu
