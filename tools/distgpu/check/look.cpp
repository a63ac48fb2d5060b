#include "check/look.h"

#include "base/format.h"
#include "base/values.h"
#include "check/gpus.h"
#include "node/affinity.h"
#include "node/step_variables.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace distgpu {
namespace {

std::string interface_of_task(const CheckFacts& facts) {
    std::string named = facts.environment->get("NCCL_SOCKET_IFNAME").value_or("");
    if (named.empty()) return facts.own->facts.interface;
    return named.front() == '=' ? named.substr(1) : named;  // '=': the whole name is meant
}

// A check has its moment even where one before it used up all the time.
CheckResult run(const NamedCheck& check, CheckFacts facts) {
    constexpr std::chrono::milliseconds moment{100};
    facts.deadline = std::max(facts.deadline, Clock::now() + moment);
    const Deadline deadline = facts.deadline;
    auto result =
        within(deadline, [run = check.run, facts = std::move(facts)] { return run(facts); });
    if (result) return *std::move(result);
    return {{{Finding::Weight::fatal,
              {formatted("check {}", check.name), "did not finish",
               formatted("see the kernel log (dmesg) on that node; --skip {} leaves the check out",
                         check.name)}}}};
}

// What stands in the table where nobody looks for InfiniBand.
std::string ports_before(const Checks& checks) {
    const bool chosen = std::find(checks.begin(), checks.end(), &fabric_check) != checks.end();
    return chosen ? "" : "not checked";
}

}  // namespace

CheckFacts facts_of(std::shared_ptr<const OwnTask> own,
                    std::shared_ptr<const Environment> environment, Deadline deadline) {
    CheckFacts facts{std::move(own), std::move(environment), {}, deadline};
    KernelCpuSet mask{};
    if (read_affinity(0, mask)) facts.cpus = CpuSet::from_words(mask);
    return facts;
}

Looked look(const CheckFacts& facts, const Checks& checks) {
    const Rendezvous& rendezvous = facts.own->plan.rendezvous;
    Looked looked;
    Report& report = looked.report;
    report.rank = facts.own->task().rank.value;
    report.node = facts.own->place.node.value;
    report.cpus = facts.cpus.to_string();
    report.gpus = given_gpus(*facts.environment);
    report.interface = interface_of_task(facts);
    report.ports = ports_before(checks);
    // The administrator's arguments of a plugin that is not loaded are not known.
    if (!unanswered_spec(*facts.environment)) {
        report.rendezvous = host_and_port(rendezvous.address, rendezvous.port);
    }
    for (const NamedCheck* check : checks) {
        if (!check->applies(facts)) continue;
        CheckResult result = run(*check, facts);
        for (Finding& finding : result.findings) {
            if (finding.check.empty()) finding.check = check->name;
        }
        std::move(result.findings.begin(), result.findings.end(),
                  std::back_inserter(report.findings));
        std::move(result.traits.begin(), result.traits.end(), std::back_inserter(report.traits));
        if (!result.ports.empty()) report.ports = result.ports;
        if (!result.trial_host.empty()) looked.trial_host = result.trial_host;
    }
    return looked;
}

}  // namespace distgpu
