#include "exec/supervision_of.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/frameworks/program_options.h"
#include "mapping/frameworks/serving.h"
#include "mapping/plan/ranks.h"
#include "node/step_secret.h"
#include "output.h"
#include "slurm/shell_words.h"
#include "slurm/slurm_command.h"

#include <chrono>
#include <thread>
#include <utility>

namespace distgpu {
namespace {

std::vector<std::string> names_by_rank(const StepLayout& layout) {
    std::vector<std::string> names(layout.node_count());
    for (std::uint32_t i = 0; i < layout.node_count(); ++i) {
        names[layout.node_rank(NodeIndex{i}).value] = layout.hosts().name(NodeIndex{i});
    }
    return names;
}

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
    if (supervision.node == 0 && !mode) {
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

std::string step_name(const OwnTask& own) {
    return formatted("{}.{}", own.place.step.job, own.place.step.step);
}

}  // namespace

std::function<void()> step_end(const OwnTask& own, const Environment& environment) {
    if (own.place.launcher != Launcher::slurm) return {};
    return [&environment, step = step_name(own)] {
        // srun drops what is still on its way when the step is cancelled (22.05).
        constexpr std::chrono::milliseconds until_it_is_shown{250};
        std::this_thread::sleep_for(until_it_is_shown);
        constexpr std::chrono::seconds limit{10};
        const auto ended = run_slurm_command(environment, {"scancel", step}, limit);
        if (!ended) say(ended.error().message());
    };
}

Supervision supervision_of(const OwnTask& own, const std::vector<std::string>& program,
                           Environment& environment) {
    const Rendezvous& rendezvous = own.plan.rendezvous;
    const std::uint16_t control_port = rendezvous.port + contract::service_ports - 1;
    Supervision supervision;
    supervision.mode = own.request.framework->mode;
    supervision.node_names = names_by_rank(own.place.layout);
    supervision.node = own.task().node_rank.value;
    supervision.end_step = step_end(own, environment);
    supervision.step = {{"exec", step_name(own), handed_secret(environment)},
                        own.place.layout.node_count(),
                        rendezvous.address,
                        control_port};
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
