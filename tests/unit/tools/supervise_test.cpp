// How `distgpu exec` ends with what it started, how its nodes find each other, and what it makes of
// the plan. Each of its processes is one of the test's own.
#include "exec/supervise.h"

#include "base/environment.h"
#include "base/io/programs.h"
#include "base/io/socket.h"
#include "made_up_folder.h"
#include "made_up_task.h"
#include "mapping/texts/variables.h"
#include "node/step_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;

std::uint16_t free_port() {
    const auto socket = listen_on(0);
    return port_of(*socket);
}

struct End {
    int status = -1;
    std::string errors{};
};

// In a process of its own, whose signals and children it takes.
struct Running {
    pid_t pid;
    int errors;

    explicit Running(const Supervision& supervision) {
        std::array<int, 2> ends{};
        EXPECT_EQ(pipe(ends.data()), 0);
        pid = fork();
        if (pid == 0) {
            // Ignored where the tests run behind nohup or in the background, which a shell
            // inherits.
            for (const int signal_number : {SIGINT, SIGQUIT, SIGHUP}) {
                signal(signal_number, SIG_DFL);
            }
            dup2(ends[1], STDERR_FILENO);
            close(ends[0]);
            close(ends[1]);
            _exit(static_cast<int>(supervise(supervision)));
        }
        close(ends[1]);
        errors = ends[0];
    }

    End end() const {
        End result;
        std::array<char, 4096> piece{};
        ssize_t got = 0;
        while ((got = read(errors, piece.data(), piece.size())) > 0) {
            result.errors.append(piece.data(), static_cast<std::size_t>(got));
        }
        close(errors);
        int status = 0;
        waitpid(pid, &status, 0);
        result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
        return result;
    }
};

Supervision shell(const std::string& script) {
    Supervision supervision;
    supervision.mode = "vllm";
    supervision.step.names = {"n0"};
    supervision.step.handshake.step = "1.0";
    supervision.commands.program = {"sh", "-c", script};
    return supervision;
}

// Of two nodes, both on this machine.
Supervision of_two(std::uint32_t node, std::uint16_t port, const std::string& script) {
    Supervision supervision = shell(script);
    supervision.step.names = {"n0", "n1"};
    supervision.step.own_node = node;
    supervision.step.head = "127.0.0.1";
    supervision.step.port = port;
    supervision.step.handshake.secret = Secret(Secret::Bytes{1, 2, 3});
    return supervision;
}

TEST(Supervise, AnyEndBeforeASignalIsAFailure) {
    EXPECT_EQ(Running(shell("exit 7")).end().status, 7);
    const auto good = Running(shell("exit 0")).end();
    EXPECT_EQ(good.status, 1);
    EXPECT_THAT(good.errors,
                ContainsRegex("distgpu: vllm on n0: ended with status 0 after [0-9]+ s, "
                              "which ends the step\n"));
    EXPECT_EQ(Running(shell("kill -KILL $$")).end().status, 137);
}

// Reads what the program prints until this line.
void await(const Running& running, const std::string& word) {
    std::string text;
    std::array<char, 256> piece{};
    while (text.find(word + "\n") == std::string::npos) {
        const ssize_t got = read(running.errors, piece.data(), piece.size());
        ASSERT_GT(got, 0);
        text.append(piece.data(), static_cast<std::size_t>(got));
    }
}

TEST(Supervise, AfterASignalTheStatusIsTheProgramsOwn) {
    for (const auto& [script, status] : std::vector<std::pair<std::string, int>>{
             {"trap 'exit 0' TERM; echo up >&2; while :; do sleep 0.05; done", 0},
             {"trap 'exit 9' TERM; echo up >&2; while :; do sleep 0.05; done", 9},
             {"echo up >&2; sleep 60 & wait", 143}}) {
        const Running running(shell(script));
        await(running, "up");
        kill(running.pid, SIGTERM);
        const auto end = running.end();
        EXPECT_EQ(end.status, status) << script;
        EXPECT_EQ(end.errors, "") << script;
    }
}

// A daemon of its own session holds the pipe open until it is dead, too.
TEST(Supervise, LeavesNoDescendant) {
    const auto begin = Clock::now();
    EXPECT_EQ(Running(shell("setsid sh -c 'trap \"\" TERM HUP; sleep 60' & exit 3")).end().status,
              3);
    EXPECT_LT(Clock::now() - begin, 20s);
}

// Python's removes the shared memory of what was killed.
TEST(Supervise, WaitsForAResourceTracker) {
    const MadeUpFolder folder;
    // Only commands of the shell's own: another's command line would not be the tracker's.
    const std::string tracker =
        " sh -c 'trap \"\" TERM; : >\"$1.up\"; sleep 0.5; : >\"$1\"; sleep 60' ";
    const std::string tracked = folder.path("tracked");
    const std::string killed = folder.path("killed");
    EXPECT_EQ(Running(shell(tracker + "multiprocessing.resource_tracker " + tracked + " &" +
                            tracker + "another " + killed + " & until [ -e " + tracked +
                            ".up ] && [ -e " + killed + ".up ]; do sleep 0.01; done; exit 3"))
                  .end()
                  .status,
              3);
    EXPECT_TRUE(std::filesystem::exists(tracked));
    EXPECT_FALSE(std::filesystem::exists(killed));
}

TEST(Supervise, AProgramThatCannotRunHasTheStatusThatEnvWouldGiveIt) {
    Supervision supervision = shell("");
    supervision.commands.program = {"/etc/passwd"};
    EXPECT_EQ(Running(supervision).end().status, 126);
    supervision.commands.program = {"/none"};
    const auto end = Running(supervision).end();
    EXPECT_EQ(end.status, 127);
    EXPECT_EQ(end.errors,
              "distgpu: /none: No such file or directory; name a program that can be run\n");
}

// vLLM and SGLang leave files there, killed or not.
TEST(Supervise, TemporaryFilesOfAProgramGoWithIt) {
    const MadeUpFolder around;
    setenv("TMPDIR", around.path().c_str(), 1);
    const std::string script = "touch $TMPDIR/vllm_dist_1; echo \"$TMPDIR\" >&2; kill -KILL $$";
    Supervision supervision = shell(script);
    supervision.commands.folder = {"TMPDIR", "vllm-", 100};
    EXPECT_THAT(Running(supervision).end().errors, HasSubstr(around.path() + "/vllm-"));
    EXPECT_TRUE(std::filesystem::is_empty(around.path()));
    supervision.commands.folder.max_length = around.path().size();  // else it is the usual one
    EXPECT_THAT(Running(supervision).end().errors, HasSubstr(around.path() + "\n"));
    EXPECT_TRUE(std::filesystem::exists(around.path("vllm_dist_1")));
    unsetenv("TMPDIR");
}

TEST(Supervise, AStepThatIsOverTellsWhoComesLate) {
    const std::uint16_t port = free_port();
    const Running head(of_two(0, port, "exit 5"));
    std::this_thread::sleep_for(1s);
    const auto begin = Clock::now();
    const Running other(of_two(1, port, "sleep 60"));
    EXPECT_EQ(other.end().status, 0);
    EXPECT_EQ(head.end().status, 5);
    EXPECT_LT(Clock::now() - begin, 20s);
}

TEST(Supervise, AHeadThatCannotListenEndsTheStep) {
    const auto taken = listen_on(0);
    Supervision supervision = of_two(0, port_of(*taken), "sleep 60");
    supervision.end_step = [] { std::cerr << "cancelled\n"; };
    const auto end = Running(supervision).end();
    EXPECT_EQ(end.status, 125);
    EXPECT_THAT(end.errors, HasSubstr("already in use"));
    EXPECT_THAT(end.errors, HasSubstr("\ncancelled\n"));
}

TEST(Supervise, SaysWhoIsMissing) {
    Supervision alone = of_two(0, free_port(), "sleep 60");
    alone.join_timeout = 1s;
    const auto head = Running(alone).end();
    EXPECT_EQ(head.status, 1);
    EXPECT_EQ(head.errors,
              "distgpu: vllm: not ready after 1 s: n1; find out there why distgpu exec did not "
              "start\n");
    alone.step.own_node = 1;
    alone.notice_delay = 0s;
    const auto other = Running(alone).end();
    EXPECT_EQ(other.status, 125);
    const std::string refused =
        "127.0.0.1:" + std::to_string(alone.step.port) + ": Connection refused; ";
    EXPECT_THAT(other.errors, HasSubstr("distgpu: vllm: still waiting for n0: " + refused));
    EXPECT_THAT(other.errors, HasSubstr("\ndistgpu: " + refused));
}

// Where the folders of steps are made, as long as it lives.
struct RayFolder : MadeUpFolder {
    RayFolder() { setenv("RAY_TMPDIR", path().c_str(), 1); }
    ~RayFolder() { unsetenv("RAY_TMPDIR"); }
};

// Of one node, below whose program a companion runs: `ray start` is such a one.
Supervision with_companion(const std::string& companion, const std::string& script) {
    Supervision supervision = shell(script);
    supervision.mode = "ray";
    supervision.commands.companion = {"sh", "-c", companion};
    supervision.commands.ready_text = "is up";
    supervision.commands.folder = {"RAY_TMPDIR", "ray-", 100};
    supervision.commands.folder_option = "folder";  // $0 of the text, and its path $1
    supervision.commands.environment = "export A=b\n";
    return supervision;
}

TEST(Supervise, ACompanionsProgramStartsWhenItIsReadyAndEndsTheStep) {
    const RayFolder around;
    const std::string companion = "touch \"$1/seen\"; echo it is up; sleep 60";
    Supervision supervision = with_companion(
        companion, "cat $RAY_TMPDIR/ray-*/env >&2; ls $RAY_TMPDIR/ray-*/seen >&2; exit 7");
    const auto begin = Clock::now();
    const auto end = Running(supervision).end();
    EXPECT_EQ(end.status, 7);
    EXPECT_THAT(end.errors, HasSubstr("export A=b\n"));
    EXPECT_THAT(end.errors, HasSubstr("distgpu: ray: 1 node at "));
    EXPECT_THAT(end.errors, HasSubstr(around.path() + "/ray-"));
    EXPECT_TRUE(std::filesystem::is_empty(around.path()));
    EXPECT_LT(Clock::now() - begin, 20s);
    supervision.commands.program = {"true"};
    EXPECT_EQ(Running(supervision).end().status, 0);
}

// What fails on the head before it starts anything, the others are told as everything else.
TEST(Supervise, AHeadThatCannotBeginTellsTheOthers) {
    for (const bool has_folder : {false, true}) {
        const RayFolder around;
        if (!has_folder) setenv("RAY_TMPDIR", around.path("none").c_str(), 1);
        const std::uint16_t port = free_port();
        const auto part = [&](std::uint32_t node) {
            Supervision supervision = of_two(node, port, "");
            supervision.commands = with_companion("", "sleep 60").commands;
            supervision.commands.companion = {"/none"};
            return supervision;
        };
        const auto begin = Clock::now();
        const Running other(part(1));
        const auto head = Running(part(0)).end();
        EXPECT_EQ(head.status, has_folder ? 127 : 125);
        EXPECT_THAT(head.errors, HasSubstr("No such file or directory"));
        EXPECT_EQ(other.end().status, 0);
        EXPECT_LT(Clock::now() - begin, 20s);
    }
}

// A status of 2 is that of a companion which does not know the word, and nobody sees its text.
TEST(Supervise, SaysWhatAnOlderCompanionDoesNotKnow) {
    for (const auto& [query, is_said] :
         std::vector<std::pair<std::string, bool>>{{"echo secret; exit 0", false},
                                                   {"echo secret >&2; exit 2", true},
                                                   {"exit 1", false}}) {
        Supervision supervision = with_companion("echo it is up; sleep 60", "sleep 0.5; exit 7");
        supervision.commands.query = {"sh", "-c", query};
        supervision.commands.outdated_text = "older";
        const auto end = Running(supervision).end();
        EXPECT_EQ(end.status, 7);
        EXPECT_EQ(end.errors.find("distgpu: ray: older\n") != std::string::npos, is_said) << query;
        EXPECT_EQ(end.errors.find("secret"), std::string::npos) << query;
    }
}

// Nobody else is there to end what the companion started.
TEST(Supervise, ACompanionEndsItselfWhenTheProcessAboveItIsKilled) {
    const RayFolder around;  // of the step's, which is left
    std::array<int, 2> pipe_ends{};
    ASSERT_EQ(pipe(pipe_ends.data()), 0);
    const std::string to_test = std::to_string(pipe_ends[1]);
    Supervision supervision =
        with_companion("trap 'echo ended >&" + to_test +
                           "; exit' TERM; echo it is up; while :; do sleep 0.05; done",
                       "echo driver >&2; exec sleep 60");
    const Running running(supervision);
    close(pipe_ends[1]);
    await(running, "driver");
    kill(running.pid, SIGKILL);
    std::array<char, 256> piece{};
    EXPECT_EQ(read(pipe_ends[0], piece.data(), piece.size()), 6);  // "ended\n"
    close(pipe_ends[0]);
    running.end();
}

TEST(Supervise, ACompanionThatEndsFirstIsAFailure) {
    const auto end = Running(with_companion("echo no such port; exit 0", "sleep 60")).end();
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.errors,
                ContainsRegex("distgpu: ray on n0: sh ended with status 0 after [0-9]+ s, "
                              "which ends the step; its last output:\nno such port\n"));
    EXPECT_EQ(Running(with_companion("echo it is up; sleep 0.5", "sleep 60")).end().status, 1);
}

TEST(Supervise, AfterASignalTheProgramHasItsCompanionUntilItsEnd) {
    const RayFolder around;
    Supervision supervision = with_companion(
        "trap 'rm $1/here' TERM; touch \"$1/here\"; echo it is up; while :; do sleep 0.1; done",
        "trap 'sleep 0.5; ls $RAY_TMPDIR/ray-*/here >/dev/null && exit 5' TERM; echo driver >&2; "
        "while :; do sleep 0.05; done");
    const Running running(supervision);
    await(running, "driver");
    kill(running.pid, SIGTERM);
    EXPECT_EQ(running.end().status, 5);
}

// The nodes that connect, as soon as one does.
std::vector<std::uint32_t> joined_within(NodeConnections& head, std::chrono::seconds limit) {
    const Deadline deadline = Clock::now() + limit;
    while (Clock::now() < deadline) {
        if (auto joined = head.accept_nodes(); !joined.empty()) return joined;
        std::this_thread::sleep_for(1ms);
    }
    return {};
}

// A step's other nodes may hear of its end before the signal that ended it.
TEST(Supervise, WhatASignalBrokeIsNoFailure) {
    const StepNodes step = of_two(0, free_port(), "").step;
    std::optional<NodeConnections> head(step);
    ASSERT_FALSE(head->listen());
    Supervision supervision = of_two(1, step.port, "");
    supervision.commands = with_companion("echo it is up; sleep 60", "").commands;
    const Running running(supervision);
    ASSERT_EQ(joined_within(*head, 5s).size(), 1U);
    std::this_thread::sleep_for(200ms);
    head.reset();  // the connection
    std::this_thread::sleep_for(150ms);
    kill(running.pid, SIGTERM);
    const auto end = running.end();
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(end.errors, "");
}

// Rank 0's node is none of the others, and there are two.
TEST(NodeConnections, TakesOnlyNodesOfTheStep) {
    const StepNodes step = of_two(0, free_port(), "").step;
    NodeConnections head(step);
    ASSERT_FALSE(head.listen());
    for (const std::uint32_t node : {0U, 2U, 1U}) {
        std::optional<Error> refused;
        std::thread other([&] {
            StepNodes others = step;
            others.own_node = node;
            refused = NodeConnections(others).connect_to_head();
        });
        const auto joined = joined_within(head, 1s);
        other.join();
        EXPECT_EQ(!refused, node == 1) << node;
        EXPECT_EQ(joined.size(), node == 1 ? 1U : 0U) << node;
    }
}

TEST(HealthCheck, IsThatOfAServerThatAnswersWith200) {
    for (const auto& [answer, healthy] :
         std::vector<std::pair<std::string, bool>>{{"HTTP/1.1 200 OK\r\n\r\n", true},
                                                   {"HTTP/1.0 200 OK\r\n\r\n", true},
                                                   {"HTTP/1.1 503 Loading\r\n\r\n", false},
                                                   {"HTTP/1.1 2000\r\n\r\n", false},
                                                   {"220 mail 200 \r\n", false}}) {
        const auto listener = listen_on(0);
        ASSERT_TRUE(listener);
        std::thread server([&, text = answer] {
            std::optional<Socket> client;
            while (!(client = accept_from(*listener))) std::this_thread::sleep_for(1ms);
            static_cast<void>(receive_line(*client, 100, Clock::now() + 1s));
            static_cast<void>(send_all(*client, text, Clock::now() + 1s));
            std::this_thread::sleep_for(20ms);
        });
        EXPECT_EQ(is_healthy({"127.0.0.1", port_of(*listener), "/health"}), healthy) << answer;
        server.join();
    }
    EXPECT_FALSE(is_healthy({"127.0.0.1", free_port(), "/health"}));
    EXPECT_EQ(url_of({"fd00::1", 8000, "/health"}), "http://[fd00::1]:8000");
}

constexpr std::uint16_t port = 2000;

// Rank 0's part of a step of ray's in this environment.
NodeCommands ray_parts(EnvironmentCopy& environment) {
    const OwnTask own = made_up_task("ray", port);
    return make_supervision(own, {"python", "train.py"}, environment).commands;
}

TEST(SupervisionOf, MakesATokenOfTheStepsSecret) {
    const std::string secret(64, 'a');
    EnvironmentCopy environment({{secret_variable, secret}, {"RAY_ADDRESS", "n1:2000"}});
    const NodeCommands commands = ray_parts(environment);
    EXPECT_EQ(environment.get("RAY_AUTH_MODE"), "token");
    const std::string token = environment.get("RAY_AUTH_TOKEN").value_or("");
    EXPECT_EQ(token.size(), 64U);
    EXPECT_NE(token, secret);
    EXPECT_EQ(commands.query, (std::vector<std::string>{"ray", "get-auth-token"}));
    EXPECT_EQ(commands.environment,
              "export RAY_ADDRESS='n1:2000'\nexport RAY_AUTH_MODE='token'\n"
              "export RAY_AUTH_TOKEN='" +
                  token + "'\n");
}

TEST(SupervisionOf, KeepsATokenOfTheUsers) {
    EnvironmentCopy environment({{secret_variable, std::string(64, 'a')},
                                 {"RAY_AUTH_MODE", "token"},
                                 {"RAY_AUTH_TOKEN", "it's mine"}});
    const NodeCommands commands = ray_parts(environment);
    EXPECT_EQ(commands.environment,
              "export RAY_AUTH_MODE='token'\nexport RAY_AUTH_TOKEN='it'\\''s mine'\n");
    EXPECT_FALSE(commands.query.empty());
}

TEST(SupervisionOf, SaysWhereThereIsNoToken) {
    EnvironmentCopy environment;
    testing::internal::CaptureStderr();
    const NodeCommands commands = ray_parts(environment);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "distgpu: ray: no token, so whoever reaches this cluster's ports can run programs as "
              "you; start it with srun --distgpu=ray, or export RAY_AUTH_MODE=token and a "
              "RAY_AUTH_TOKEN of your own\n");
    EXPECT_TRUE(commands.query.empty());
    EXPECT_EQ(commands.environment, "");
}

TEST(SupervisionOf, AServerHasNoToken) {
    EnvironmentCopy environment({{"RAY_AUTH_MODE", "token"}, {"RAY_AUTH_TOKEN", "x"}});
    const OwnTask own = made_up_task("vllm", port);
    const NodeCommands commands = make_supervision(own, {"vllm", "serve"}, environment).commands;
    EXPECT_EQ(commands.environment, "");
    EXPECT_TRUE(commands.query.empty());
}

}  // namespace
}  // namespace distgpu
