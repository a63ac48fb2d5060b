// How `distgpu exec` becomes the program, and how it ends where it cannot. Each runs in a process
// of its own, as exec replaces it.
#include "mapping/texts/variables.h"
#include "subcommands.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using testing::ExitedWithCode;
using Program = std::vector<std::string>;

// Fills in what the command line would, in an environment that tells of no launcher.
[[noreturn]] void run_exec(const std::string& spec, Program program) {
    Subcommand exec = exec_subcommand();
    *std::get<std::string*>(exec.options.at(0).target) = spec;
    *std::get<Program*>(exec.options.at(1).target) = std::move(program);
    std::exit(static_cast<int>(exec.run()));
}

[[noreturn]] void run_alone(const std::string& spec, Program program) {
    clearenv();
    setenv("PATH", "/usr/bin:/bin", 1);
    run_exec(spec, std::move(program));
}

Program shell(const std::string& script) {
    return {"sh", "-c", script};
}

TEST(Exec, GivesTheProgramItsVariablesAndStatus) {
    EXPECT_EXIT(
        run_alone("pytorch", shell("echo \"rank $RANK of $WORLD_SIZE, $LOCAL_RANK\" >&2; exit 7")),
        ExitedWithCode(7), "^rank 0 of 1, 0\n$");
}

TEST(Exec, OffChangesNothing) {
    EXPECT_EXIT(run_alone("off", shell("echo \"${RANK-none}\" >&2; exit 3")), ExitedWithCode(3),
                "^none\n$");
}

TEST(Exec, HelpRunsNoProgram) {
    EXPECT_EXIT(run_alone("help", shell("echo ran >&2; exit 9")), ExitedWithCode(0), "^$");
}

TEST(Exec, DryRunRunsNoProgram) {
    EXPECT_EXIT(run_alone("pytorch,dry-run", shell("exit 9")), ExitedWithCode(0),
                "^distgpu: pytorch: world size 1 on 1 node ");
}

TEST(Exec, AnUnknownModeIsItsOwnFailure) {
    EXPECT_EXIT(run_alone("pytroch", shell("exit 9")), ExitedWithCode(125),
                "^distgpu: pytroch: unknown mode; did you mean 'pytorch'\\?\n$");
}

TEST(Exec, AProgramThatDoesNotExistIsNotFound) {
    EXPECT_EXIT(run_alone("pytorch", {"/nonexistent/train"}), ExitedWithCode(127),
                "^distgpu: /nonexistent/train: No such file or directory; name a program that can "
                "be run\n$");
}

TEST(Exec, AFileThatIsNoProgramIsNotExecutable) {
    EXPECT_EXIT(run_alone("pytorch", {"/etc/passwd"}), ExitedWithCode(126),
                "^distgpu: /etc/passwd: Permission denied; name a program that can be run\n$");
}

// Two preparations that differ would leave ranks of two kinds in one step.
TEST(Exec, ATaskThatWasPreparedOtherwiseIsRefused) {
    const auto run = [] {
        clearenv();
        setenv(prepared_variable, "0.0 pytorch", 1);
        setenv("RANK", "5", 1);
        run_exec("pytorch", shell("exit 9"));
    };
    EXPECT_EXIT(run(), ExitedWithCode(125),
                "^distgpu: [A-Z_]+: the task was prepared with .*, but distgpu exec computed .*; "
                "use one of the two with one mode, or unset SLURM_DISTGPU_PREPARED\n$");
}

}  // namespace
}  // namespace distgpu
