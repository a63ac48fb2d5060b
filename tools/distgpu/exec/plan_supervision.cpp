#include "base/format.h"
#include "base/io/socket.h"
#include "base/shell_words.h"
#include "base/values.h"
#include "exec/supervise.h"
#include "mapping/frameworks/framework.h"
#include "mapping/frameworks/service.h"
#include "mapping/layout/step_layout.h"
#include "node/step_variables.h"
#include "output.h"
#include "slurm/slurm_queries.h"

#include <utility>

namespace distgpu {
namespace {

// On rank 0's node, if the program's options give the address of the server.
std::optional<HealthCheck> health_check_of(const OwnTask& own_task,
                                           const std::vector<std::string>& program) {
    const Service& service = *own_task.request.framework->service;
    if (own_task.task().rank != GlobalRank{0}) return std::nullopt;
    const auto host = given_value(program, service.host_option);
    const auto port = whole_number(given_value(program, service.port_option).value_or(""));
    constexpr std::uint32_t max_port = 65535;
    if (!host || !port || *port > max_port) return std::nullopt;
    // A wildcard address includes this node's own.
    const bool is_wildcard = host->empty() || *host == "0.0.0.0" || *host == "::";
    const std::string& address = own_task.facts.address;
    const std::string own_host = address.empty() ? own_task.plan.node_name : address;
    return HealthCheck{is_wildcard ? own_host : std::string(*host),
                       static_cast<std::uint16_t>(*port), std::string(service.health_path)};
}

// Makes a token, unless the user set the mode; also prepares the query and the environment file.
void set_token(Supervision& supervision, const ServiceToken& token, Environment& environment) {
    constexpr std::size_t digits = 64;
    const std::string mode_variable(token.mode_variable);
    const std::string variable(token.variable);
    const auto& secret = supervision.step.handshake.secret;
    if (secret && !environment.get(mode_variable)) {
        // Derived from the step's secret, which itself is never passed on.
        const auto tag = sign_line(Proof::secret, secret, supervision.mode, "token");
        if (tag) {
            environment.set(mode_variable, "token");
            environment.set(variable, tag->substr(0, digits));
        }
    }
    const auto mode = environment.get(mode_variable);
    if (supervision.step.own_node == 0 && !mode) {
        print_error_line(formatted(
            "distgpu: {}: no token, so whoever reaches this cluster's ports can run programs "
            "as you; start it with srun --distgpu={}, or export {}=token and a {} of your own",
            supervision.mode, supervision.mode, mode_variable, variable));
    }
    if (mode == "token") {
        supervision.commands.query.assign(token.query.begin(), token.query.end());
        supervision.commands.outdated_text = token.outdated_warning;
    }
    for (const std::string& name : {std::string(token.address_variable), mode_variable, variable}) {
        const auto value = environment.get(name);
        if (value) {
            supervision.commands.environment +=
                formatted("export {}={}\n", name, shell_quoted(*value));
        }
    }
}

}  // namespace

std::string url_of(const HealthCheck& check) {
    return formatted("http://{}", host_and_port(check.host, check.port));
}

bool is_healthy(const HealthCheck& check) {
    constexpr std::size_t max_line = 1024;
    const Deadline deadline = Clock::now() + std::chrono::milliseconds(500);
    const auto socket = connect_to(check.host, check.port, deadline);
    if (!socket) return false;
    const std::string request =
        formatted("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", check.path,
                  host_and_port(check.host, check.port));
    if (!send_all(*socket, request, deadline)) return false;
    const auto answer = receive_line(*socket, max_line, deadline);
    return answer && answer->starts_with("HTTP/1.") && answer->substr(8, 5) == " 200 ";
}

std::string step_name(const OwnTask& own_task) {
    return formatted("{}.{}", own_task.place.step.job, own_task.place.step.step);
}

std::function<void()> step_canceller(const OwnTask& own_task, const Environment& environment) {
    if (own_task.place.launcher != Launcher::slurm) return {};
    return [&environment, step = step_name(own_task)] {
        const auto ended = cancel_step(step, environment);
        if (!ended) print_error_line(ended.error().message());
    };
}

Supervision make_supervision(const OwnTask& own_task, const std::vector<std::string>& program,
                             Environment& environment) {
    const Rendezvous& rendezvous = own_task.plan.rendezvous;
    const std::uint16_t control_port = rendezvous.port + contract::service_ports - 1;
    const StepLayout& layout = own_task.place.layout;
    Supervision supervision;
    supervision.mode = own_task.request.framework->mode;
    supervision.end_step = step_canceller(own_task, environment);
    supervision.step = {{"exec", step_name(own_task), read_secret_variable(environment)},
                        std::vector<std::string>(layout.node_count()),
                        own_task.task().node_rank.value,
                        rendezvous.address,
                        control_port};
    for (std::uint32_t i = 0; i < layout.node_count(); ++i) {
        supervision.step.names[layout.node_rank(NodeIndex{i}).value] =
            layout.hosts().name(NodeIndex{i});
    }
    supervision.service_port = rendezvous.port;
    supervision.commands.program = program;
    const Service& service = *own_task.request.framework->service;
    std::vector<std::string>& with_options =
        service.companion.empty() ? supervision.commands.program : supervision.commands.companion;
    with_options.insert(with_options.end(), service.companion.begin(), service.companion.end());
    with_options.insert(with_options.end(), own_task.task().options.begin(),
                        own_task.task().options.end());
    supervision.health = health_check_of(own_task, supervision.commands.program);
    supervision.commands.ready_text = service.ready_text;
    supervision.commands.folder = {std::string(service.folder_variable), supervision.mode + "-",
                                   service.max_folder_length};
    supervision.commands.folder_option = service.folder_option;
    if (service.token != nullptr) set_token(supervision, *service.token, environment);
    for (const SetVariable& variable : contract::service_rendezvous) {
        environment.unset(std::string(variable.name));
    }
    return supervision;
}

}  // namespace distgpu
