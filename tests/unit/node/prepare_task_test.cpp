// From a plan to a process that is prepared: what is done, in which order, and what is left undone.
// Stand-ins for the distgpu command check and watch the step.
#include "node/prepare_task.h"

#include "base/io/files.h"
#include "made_up_folder.h"
#include "map_environment.h"
#include "mapping/plan/bound_node.h"
#include "mapping/texts/variables.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace distgpu {
namespace {

using plan_testing::bound_node;
using plan_testing::everywhere;
using plan_testing::planned_on;

// Two tasks of `spec` on the first of two nodes, each of which may run on all of its CPUs; what
// happens to the process of one of them, line by line.
class PrepareTask : public testing::Test {
  protected:
    Result<std::string> prepare(const char* spec, std::uint32_t local) {
        request_ = plan_testing::request(spec);
        plan_ = planned_on(spec, facts_);
        TaskProcess process{environment_, [this](const std::string& line) { log_ += line + '\n'; },
                            [this](const CpuSet& cpus) {
                                log_ += "CPUs " + cpus.to_string() + '\n';
                                return allowed_;
                            },
                            [this](const std::string& lines) { log_ += lines + '\n'; }};
        return prepare_task({request_, layout_, facts_, plan_, LocalRank{local}}, spec, process);
    }

    NodeTopology topology_ = two_socket_node({0, 2});
    NodeFacts facts_ = bound_node(topology_, everywhere(2), {0, 1});
    StepLayout layout_ = plan_testing::layout("n[1-2]", {{0, 2, 2, 1}});
    Request request_;
    NodePlan plan_;
    MapEnvironment environment_{
        {{"SLURM_DISTGPU", "pytorch"}, {"PET_NNODES", "7"}, {"HIP_VISIBLE_DEVICES", "7"}}};
    bool allowed_ = true;
    std::string log_;
};

TEST_F(PrepareTask, NarrowsTheCpusAndSetsTheVariables) {
    EXPECT_EQ(*prepare("pytorch", 1), "");
    EXPECT_EQ(log_, "CPUs 8-11,24-27\n");
    EXPECT_EQ(environment_.get("RANK"), "1");
    EXPECT_EQ(environment_.get("PET_NNODES"), std::nullopt);
    EXPECT_EQ(environment_.get("SLURM_DISTGPU"), std::nullopt);
    EXPECT_EQ(environment_.get("SLURM_DISTGPU_PREPARED"), "0.0 pytorch");
    // This process's own CPUs, which no test changes.
    EXPECT_EQ(
        environment_.get("SLURM_DISTGPU_BOUND"),
        bound_record_text(own_cpus(), facts_,
                          std::vector<BoundVariable>{{"HIP_VISIBLE_DEVICES", "7"},
                                                     {"CUDA_VISIBLE_DEVICES", "0,1", true},
                                                     {"CUDA_DEVICE_ORDER", "PCI_BUS_ID", true}}));
    log_.clear();
    EXPECT_EQ(*prepare("pytorch,cpus=keep", 1), "");
    EXPECT_EQ(log_, "");
}

// For its node.
TEST_F(PrepareTask, SpeaksBeforeItActs) {
    EXPECT_EQ(*prepare("pytorch,verbose", 1), "");
    EXPECT_EQ(log_, "CPUs 8-11,24-27\n");
    log_.clear();
    EXPECT_EQ(*prepare("pytorch,verbose", 0), "");
    EXPECT_EQ(log_.find("distgpu: pytorch: world size 4 on 2 nodes (n[1-2]), rendezvous n1:"), 0U)
        << log_;
    EXPECT_NE(log_.find("\nCPUs 0-3,16-19\n"), std::string::npos) << log_;
}

TEST_F(PrepareTask, GoesOnWhereTheKernelRefusesTheCpus) {
    allowed_ = false;
    EXPECT_EQ(*prepare("pytorch", 0), "");
    EXPECT_EQ(log_,
              "CPUs 0-3,16-19\n"
              "distgpu: rank 0: the kernel refused CPUs 0-3,16-19; they stay as they were\n");
    EXPECT_EQ(environment_.get("RANK"), "0");
}

TEST_F(PrepareTask, DoesNothingInADryRun) {
    const auto before = environment_.variables();
    const auto printed = prepare("pytorch,dry-run", 1);
    ASSERT_TRUE(printed);
    EXPECT_NE(printed->find("  RANK=1\n"), std::string::npos) << *printed;
    EXPECT_EQ(log_, "");
    EXPECT_EQ(environment_.variables(), before);
}

TEST_F(PrepareTask, SaysWhichVariableWasNotTaken) {
    const std::string spec = "pytorch,master=" + std::string(MapEnvironment::longest + 20, 'x');
    const auto done = prepare(spec.c_str(), 0);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().remedy, "please report this");
}

TEST(PortsOf, AreTheTasksOwn) {
    const NodeFacts facts;
    const StepLayout step = plan_testing::layout("n[1-2]", {{0, 2, 2, 1}});
    const auto ports = [&](const char* spec, std::uint32_t node, std::uint32_t local) {
        const Request request = plan_testing::request(spec);
        const NodePlan plan = plan_testing::planned(spec, step, node);
        return listening_ports({request, step, facts, plan, LocalRank{local}});
    };
    using Ports = std::vector<std::uint16_t>;
    EXPECT_EQ(ports("megatron,port=2000", 0, 0), (Ports{2000, 2001, 2002}));
    EXPECT_EQ(ports("megatron,port=2000", 0, 1), Ports{});
    EXPECT_EQ(ports("megatron,port=2000", 1, 0), Ports{});
    EXPECT_EQ(ports("tensorflow,port=2000", 1, 1), Ports{2001});
}

// A plan of pytorch's with this port, on a node that has one listener.
class CheckPorts : public testing::Test {
  protected:
    std::optional<Error> check(PortSource source, const std::vector<std::uint16_t>& ports) {
        NodePlan plan;
        plan.node_name = "n1";
        plan.rendezvous = {"n1", 1, source};
        return check_ports(plan, ports, warnings_);
    }
    std::string taken(const std::string& source, const char* remedy = "") const {
        return "distgpu: port " + std::to_string(port_of(listener_)) + " (from " + source +
               ") on n1: already in use; choose another with the key port=N" + remedy;
    }

    Socket listener_ = *listen_on(0);
    std::vector<Error> warnings_;
};

TEST_F(CheckPorts, RefusesTheFirstThatIsTakenAndOnlyTellsOfAnExportedOne) {
    const auto error = check(PortSource::key, {1, port_of(listener_)});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message(), taken("port=1"));
    EXPECT_EQ(warnings_, std::vector<Error>{});
    EXPECT_EQ(check(PortSource::exported, {port_of(listener_)}), std::nullopt);
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_EQ(warnings_.front().message(),
              taken("the exported MASTER_PORT", ", or unset MASTER_PORT"));
}

TEST(ClaimPorts, TellsWhoHasOneAndWhatToDo) {
    PortClaims first(PortClaims::OnExec::close);
    PortClaims second(PortClaims::OnExec::close);
    NodePlan plan;
    plan.node_name = "n1";
    // Tests that run at the same time use other ports.
    const auto port = static_cast<std::uint16_t>(32'000 + getpid() % 30'000);
    plan.rendezvous = {"n1", port, PortSource::key};
    const std::vector<std::uint16_t> ports{port};
    EXPECT_EQ(claim_ports(plan, ports, "7.0", first), std::nullopt);
    const auto message = [&] {
        const auto error = claim_ports(plan, ports, "8.0", second);
        return error ? error->message() : "";
    };
    const std::string key = message();
    const std::string number = std::to_string(port);
    EXPECT_EQ(key, "distgpu: port " + number + " (from port=" + number +
                       ") on n1: in use by step 7.0; give each step its own port, or omit port=");
    plan.rendezvous.port_source = PortSource::exported;
    EXPECT_TRUE(message().ends_with("; export another MASTER_PORT for each step, or unset it"));
}

// ---- The check that runs before the program, with stand-ins for the command.

// A shell's lines in place of `distgpu`: its path.
std::string stand_in(const MadeUpFolder& folder, const std::string& lines) {
    return folder.write_program("distgpu", "#!/bin/sh\n" + lines + "\n");
}

class StepCheckTest : public testing::Test {
  protected:
    Result<StepVerdict> verdict_of(const std::string& lines, std::chrono::seconds patience = {}) {
        return run(stand_in(folder_, lines), patience);
    }

    Result<StepVerdict> run(const std::string& path, std::chrono::seconds patience = {}) {
        return HostHelper::start({}).and_then([&](HostHelper helper) {
            return run_step_check(helper, {.command = path, .patience = patience}, launch_, task_);
        });
    }

    MadeUpFolder folder_;
    MapEnvironment launch_{
        {{"RANK", "3"}, {"LD_PRELOAD", "nothing.so"}, {"PATH", "/bin:/usr/bin"}}};
    MapEnvironment task_{{{"OF_IMAGE", "text\nof two lines"}, {"LD_PRELOAD", "image.so"}}};
};

TEST_F(StepCheckTest, ItsStatusIsTheVerdict) {
    EXPECT_EQ(*verdict_of("exit 0"), StepVerdict::ready);
    EXPECT_EQ(*verdict_of("exit 1"), StepVerdict::not_ready);
    EXPECT_EQ(*verdict_of("exit 4"), StepVerdict::incomplete);
}

// What an image sets is to be judged, and is not the check's own.
TEST_F(StepCheckTest, HasTheLaunchsVariablesButTheLinkersAndTheTasksAsData) {
    EXPECT_EQ(*verdict_of(R"([ "$*" = "check --gate --variables=/proc/self/fd/0 --timeout=7" ] &&
[ "$RANK" = 3 ] && [ -z "$LD_PRELOAD$OF_IMAGE" ] && [ ! -e /proc/self/fd/4 ] &&
tr '\0\n' '|/' </proc/self/fd/0 >"${0%/*}/data")",
                          std::chrono::seconds(7)),
              StepVerdict::ready);
    EXPECT_EQ(read_trimmed(folder_.path("data")),
              "LD_PRELOAD=image.so|OF_IMAGE=text/of two lines|");
}

TEST_F(StepCheckTest, HasTheCpusAndLimitsOfTheTask) {
    rlimit before{};
    getrlimit(RLIMIT_CORE, &before);
    auto helper = HostHelper::start({});
    ASSERT_TRUE(helper);
    const rlimit none{0, before.rlim_max};
    setrlimit(RLIMIT_CORE, &none);
    const std::string path = stand_in(folder_, "exit $(ulimit -c)");
    const auto verdict = run_step_check(*helper, {.command = path}, launch_, task_);
    setrlimit(RLIMIT_CORE, &before);
    EXPECT_EQ(*verdict, StepVerdict::ready);
}

// Which may be hung itself, and nobody would hear its verdict.
TEST_F(StepCheckTest, EndsWithItsTask) {
    const std::string path = stand_in(folder_, "echo $$ >\"${0%/*}/pid\"\nexec sleep 60");
    const pid_t task = fork();
    if (task == 0) {
        static_cast<void>(run(path));
        _exit(0);
    }
    const auto pid = [&] {
        return std::atoi(read_trimmed(folder_.path("pid")).value_or("").c_str());
    };
    const auto within_10_s = [](auto is_so) {
        for (int i = 0; i < 1000 && !is_so(); ++i) usleep(10'000);
        return is_so();
    };
    ASSERT_TRUE(within_10_s([&] { return pid() > 0; }));
    kill(task, SIGKILL);
    waitpid(task, nullptr, 0);
    const std::string words = "/proc/" + std::to_string(pid()) + "/cmdline";
    // Empty also of one that nobody has waited for.
    EXPECT_TRUE(within_10_s([&] { return read_trimmed(words).value_or("").empty(); }));
}

TEST_F(StepCheckTest, WhatIsNoVerdictIsAnError) {
    EXPECT_EQ(verdict_of("exit 3").error().problem, "ended with status 3");
    EXPECT_EQ(verdict_of("kill -9 $$").error().problem, "ended by signal 9");
    const auto missing = run("/nowhere/distgpu");
    EXPECT_EQ(missing.error().problem, "cannot be started");
    EXPECT_NE(missing.error().object.find("/nowhere/distgpu"), std::string::npos);
    EXPECT_NE(missing.error().remedy.find("command=PATH"), std::string::npos);
}

// ---- What watches a step from beside its first task, with a stand-in for the command.

class StepWatchTest : public testing::Test {
  protected:
    // In a process of its own, which then waits for its children and ends with the status of that.
    int start(const std::string& lines) {
        stand_in(folder_, lines);
        const pid_t task = fork();
        if (task == 0) {
            const bool started = begin().has_value();
            const bool has_child = waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD;
            for (int i = 0; i < 1000 && !std::filesystem::exists(folder_.path("told")); ++i) {
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
            _exit(started && !has_child ? 0 : 1);
        }
        int status = -1;
        waitpid(task, &status, 0);
        return status;
    }

    Result<std::monostate> begin() {
        return HostHelper::start({}).and_then(
            [this](HostHelper helper) { return start_step_watch(helper, watch_, environment_); });
    }

    MadeUpFolder folder_;
    StepWatch watch_{.command = folder_.path("distgpu"),
                     .watch = {.on = true, .minutes = 30, .ends_step = true},
                     .step = "5.0"};
    MapEnvironment environment_{{{"RANK", "0"},
                                 {"SESSION", std::to_string(getsid(0))},
                                 {"LD_PRELOAD", "nothing.so"},
                                 {"PATH", "/bin:/usr/bin"}}};
};

// Its own session, so that it gets no signal meant for the program's group, and the task's end.
TEST_F(StepWatchTest, IsNoChildOfTheTaskAndHoldsItsEnd) {
    const std::string lines = R"sh(cd ${0%/*}
[ "$(cut -d' ' -f6 /proc/$$/stat)" != $SESSION ] && session=own
echo "$* $RANK$LD_PRELOAD $session" >next
readlink /proc/$$/fd/3 >>next
mv next told)sh";
    EXPECT_EQ(start(lines), 0);
    const std::string told = read_trimmed(folder_.path("told")).value_or("");
    EXPECT_EQ(told.substr(0, told.find('\n')), "why 5.0 --watch 30m:end 0 own");
    EXPECT_NE(told.find("pidfd"), std::string::npos) << told;
}

TEST_F(StepWatchTest, WithoutTheCommandThereIsNone) {
    watch_.command = "/nowhere/distgpu";
    const auto started = begin();
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().object.rfind("watch=30:end: /nowhere/distgpu on ", 0), 0U);
    EXPECT_EQ(started.error().problem, "cannot be started");
    EXPECT_EQ(started.error().remedy, "the step runs without a watch");
}

}  // namespace
}  // namespace distgpu
