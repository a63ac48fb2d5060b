// How long rank 0 takes for the check of a step of many nodes, and what it needs.
//
//     gate_times NODES
//
// Rank 0's side is the real one. The first ranks of the other nodes are threads of another process,
// which report and take part in the trial of the network as they do, over the loopback: its two
// cores carry the data of all, so that the rates mean nothing.
#include "base/io/open_files.h"
#include "check/gather.h"
#include "check/pairs/judge_network.h"
#include "check/pairs/node_trial.h"
#include "check/pairs/rounds.h"
#include "check/pairs/step_trial.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 60s;

const Meeting step{"check", "7.0", Secret::parse(std::string(64, '5'))};

Report report(std::uint32_t node) {
    Report report{node, node, "0-63", 8, "eth0", "", "node0001:24608", {}, {}};
    report.traits = {{"GPUs", "8 x NVIDIA H100 80GB HBM3"}, {"kernel", "5.14.0-503.el9.x86_64"}};
    report.stays = true;
    return report;
}

void be_one(std::uint32_t node, const Endpoint& rank0) {
    auto ports = open_trial_ports("127.0.0.1");
    Report own = report(node);
    own.trial = to_text(ports->address);
    auto link = deliver(own, {rank0}, step, Clock::now() + patience);
    if (link) take_part(std::move(ports), *link, Clock::now() + patience);
}

[[noreturn]] void be_the_others(std::uint32_t nodes, const Endpoint& rank0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::vector<std::thread> threads;
    for (std::uint32_t node = 1; node < nodes; ++node) threads.emplace_back(be_one, node, rank0);
    for (std::thread& thread : threads) thread.join();
    std::exit(EXIT_SUCCESS);
}

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

std::ptrdiff_t open_files() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

void run(std::uint32_t nodes) {
    raise_open_files();
    std::vector<Socket> listeners;
    listeners.push_back(*listen_on(0));
    const Endpoint rank0{"127.0.0.1", port_of(listeners.front())};
    const pid_t others = fork();
    if (others == 0) be_the_others(nodes, rank0);
    const auto start = Clock::now();
    Gathered gathered = gather(listeners, step, nodes, Clock::now() + patience);
    const double reports = since(start);
    std::vector<TrialMember> members;
    std::size_t bytes = 0;
    for (const Report& each : gathered.reports) {
        bytes += encode_report(each).size();
        members.push_back({each.node, parse_trial_address(each.trial),
                           std::move(gathered.links.find(each.rank)->second)});
    }
    const auto files = open_files();
    const auto begin = Clock::now();
    const auto results = try_network(members);
    const double trial = since(begin);
    std::size_t measured = 0;
    for (const TrialResult& result : results) {
        bytes += encode(result).size();
        measured += result.heard.size();
    }
    tell_verdict(members, 0);
    int status = 0;
    waitpid(others, &status, 0);
    const auto rounds = pair_rounds(0, static_cast<std::uint32_t>(members.size())).size();
    std::printf(
        "%u nodes: %zu reports in %.2f s; %zu rounds in %.2f s, %zu results of %zu ways; "
        "%zu KiB to rank 0, which has %td files open\n",
        nodes, gathered.reports.size(), reports, rounds, trial, results.size(), measured,
        bytes >> 10U, files);
}

}  // namespace
}  // namespace distgpu

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) distgpu::run(static_cast<std::uint32_t>(std::atoi(argv[i])));
}
