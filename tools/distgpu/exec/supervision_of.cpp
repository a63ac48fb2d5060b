#include "base/format.h"
#include "base/io/socket.h"
#include "base/shell_words.h"
#include "base/values.h"
#include "exec/supervise.h"
#include "mapping/frameworks/framework.h"
#include "mapping/frameworks/serving.h"
#include "mapping/layout/step_layout.h"
#include "node/step_variables.h"
#include "output.h"
#include "slurm/slurm_queries.h"

#include <utility>

namespace distgpu {
namespace {

// Of rank 0's node, where its program says by its options where it answers.
std::optional<HealthCheck> health_of(const OwnTask& own, const std::vector<std::string>& program) {
    const Service& service = *own.request.framework->service;
    if (own.task().rank != GlobalRank{0}) return std::nullopt;
    const auto host = given_value(program, service.host_option);
    const auto port = whole_number(given_value(program, service.port_option).value_or(""));
    constexpr std::uint32_t last = 65535;
    if (!host || !port || *port > last) return std::nullopt;
    // On all addresses: on this one too.
    const bool everywhere = host->empty() || *host == "0.0.0.0" || *host == "::";
    const std::string& address = own.facts.address;
    const std::string own_host = address.empty() ? own.plan.node_name : address;
    return HealthCheck{everywhere ? own_host : std::string(*host),
                       static_cast<std::uint16_t>(*port), std::string(service.health)};
}

// A word of the user's own stays.
void set_token(Supervision& supervision, const ServiceToken& token, Environment& environment) {
    constexpr std::size_t digits = 64;
    const std::string mode_variable(token.mode_variable);
    const std::string variable(token.variable);
    const auto& secret = supervision.step.meeting.secret;
    if (secret && !environment.get(mode_variable)) {
        // Made of the step's secret, which itself is never handed on.
        const auto tag = prove(Proof::secret, secret, supervision.mode, "token");
        if (tag) {
            environment.set(mode_variable, "token");
            environment.set(variable, tag->substr(0, digits));
        }
    }
    const auto mode = environment.get(mode_variable);
    if (supervision.step.own == 0 && !mode) {
        say(formatted(
            "distgpu: {}: no token, so whoever reaches this cluster's ports can run programs "
            "as you; start it with srun --distgpu={}, or export {}=token and a {} of your own",
            supervision.mode, supervision.mode, mode_variable, variable));
    }
    if (mode == "token") {
        supervision.parts.query.assign(token.query.begin(), token.query.end());
        supervision.parts.unknown = token.unknown;
    }
    for (const std::string& name : {std::string(token.address_variable), mode_variable, variable}) {
        const auto value = environment.get(name);
        if (value) {
            supervision.parts.environment +=
                formatted("export {}={}\n", name, shell_quoted(*value));
        }
    }
}

}  // namespace

std::string url_of(const HealthCheck& check) {
    return formatted("http://{}", host_and_port(check.host, check.port));
}

bool is_healthy(const HealthCheck& check) {
    constexpr std::size_t longest_line = 1024;
    const Deadline deadline = Clock::now() + std::chrono::milliseconds(500);
    const auto socket = connect_to(check.host, check.port, deadline);
    if (!socket) return false;
    const std::string request =
        formatted("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", check.path,
                  host_and_port(check.host, check.port));
    if (!send_all(*socket, request, deadline)) return false;
    const auto answer = receive_line(*socket, longest_line, deadline);
    return answer && answer->starts_with("HTTP/1.") && answer->substr(8, 5) == " 200 ";
}

std::string step_name(const OwnTask& own) {
    return formatted("{}.{}", own.place.step.job, own.place.step.step);
}

std::function<void()> step_end(const OwnTask& own, const Environment& environment) {
    if (own.place.launcher != Launcher::slurm) return {};
    return [&environment, step = step_name(own)] {
        const auto ended = cancel_step(step, environment);
        if (!ended) say(ended.error().message());
    };
}

Supervision supervision_of(const OwnTask& own, const std::vector<std::string>& program,
                           Environment& environment) {
    const Rendezvous& rendezvous = own.plan.rendezvous;
    const std::uint16_t control_port = rendezvous.port + contract::service_ports - 1;
    const StepLayout& layout = own.place.layout;
    Supervision supervision;
    supervision.mode = own.request.framework->mode;
    supervision.end_step = step_end(own, environment);
    supervision.step = {{"exec", step_name(own), handed_secret(environment)},
                        std::vector<std::string>(layout.node_count()),
                        own.task().node_rank.value,
                        rendezvous.address,
                        control_port};
    for (std::uint32_t i = 0; i < layout.node_count(); ++i) {
        supervision.step.names[layout.node_rank(NodeIndex{i}).value] =
            layout.hosts().name(NodeIndex{i});
    }
    supervision.first_port = rendezvous.port;
    supervision.parts.program = program;
    const Service& service = *own.request.framework->service;
    std::vector<std::string>& with_options =
        service.companion.empty() ? supervision.parts.program : supervision.parts.companion;
    with_options.insert(with_options.end(), service.companion.begin(), service.companion.end());
    with_options.insert(with_options.end(), own.task().options.begin(), own.task().options.end());
    supervision.health = health_of(own, supervision.parts.program);
    supervision.parts.up_text = service.up_text;
    supervision.parts.folder = {std::string(service.folder_variable), supervision.mode + "-",
                                service.longest_folder};
    supervision.parts.folder_option = service.folder_option;
    if (service.token != nullptr) set_token(supervision, *service.token, environment);
    for (const SetVariable& variable : contract::service_rendezvous) {
        environment.unset(std::string(variable.name));
    }
    return supervision;
}

}  // namespace distgpu
