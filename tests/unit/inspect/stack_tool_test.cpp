// Which tools look into a process, and why they are refused.
#include "inspect/stack_tool.h"

#include "made_up_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

namespace distgpu {
namespace {

class FindStackTools : public testing::Test {
  protected:
    void write_program(const std::string& file, const std::string& text = "#!/bin/sh\n") const {
        folder.write(file, text);
        std::filesystem::permissions(folder.path(file), std::filesystem::perms::owner_all);
    }

    MadeUpFolder folder;
};

TEST_F(FindStackTools, TakesTheFirstOfThePaths) {
    write_program("a/py-spy");
    write_program("b/py-spy");
    write_program("c/gdb");
    const std::string both = folder.path("none") + ":" + folder.path("b") + "::" + folder.path("a");
    const StackTools tools = find_stack_tools(both + ":" + folder.path("c"), {});
    EXPECT_EQ(tools.py_spy, folder.path("b/py-spy"));
    EXPECT_EQ(tools.eu_stack, "");
    EXPECT_EQ(tools.gdb, folder.path("c/gdb"));
}

TEST_F(FindStackTools, TakesNoFolderNorWhatCannotRun) {
    write_program("a/gdb/gdb");
    folder.write("b/gdb", "text");
    std::filesystem::permissions(folder.path("b/gdb"), std::filesystem::perms::owner_read);
    EXPECT_EQ(find_stack_tools(folder.path("a") + ":" + folder.path("b"), {}).gdb, "");
}

// Such a folder is another one for each process, and anybody's.
TEST_F(FindStackTools, LooksIntoNoFolderThatIsRelative) {
    write_program("a/gdb");
    const auto relative = std::filesystem::relative(folder.path("a")).string();
    EXPECT_EQ(find_stack_tools(relative + "::.", {}).gdb, "");
}

TEST_F(FindStackTools, TakesThoseBesideAProgram) {
    write_program("venv/bin/python3");
    write_program("venv/bin/py-spy");
    write_program("path/gdb");
    write_program("venv/bin/gdb");
    const StackTools tools =
        find_stack_tools(folder.path("path"), {folder.path("venv/bin/python3")});
    EXPECT_EQ(tools.py_spy, folder.path("venv/bin/py-spy"));
    EXPECT_EQ(tools.gdb, folder.path("path/gdb"));
}

// As in /tmp, where anybody may put a py-spy beside another user's program.
TEST_F(FindStackTools, TakesNothingBesideAProgramThatOthersMayHavePutThere) {
    using std::filesystem::perms;
    write_program("open/python3");
    write_program("open/py-spy");
    std::filesystem::permissions(folder.path("open"), perms::all | perms::sticky_bit);
    write_program("shut/python3");
    write_program("shut/py-spy");
    std::filesystem::permissions(folder.path("shut/py-spy"), perms::all);
    write_program("other/python3");
    write_program("other/py-spy");
    std::vector<std::string> programs{folder.path("open/python3"), folder.path("shut/python3"),
                                      folder.path("gone/python3")};
    // Only root can give a file away.
    if (chown(folder.path("other/py-spy").c_str(), 12'345, 12'345) == 0) {
        programs.push_back(folder.path("other/python3"));
    }
    EXPECT_EQ(find_stack_tools("", programs).py_spy, "");
}

TEST_F(FindStackTools, TakesTheFolderOfAProgramAsOne) {
    write_program("a/py-spy");
    write_program("b:" + folder.path("a").substr(1) + "/python3");
    EXPECT_EQ(
        find_stack_tools("", {folder.path("b:" + folder.path("a").substr(1) + "/python3")}).py_spy,
        "");
}

TEST_F(FindStackTools, ThatAreMissingAreNamed) {
    const auto python = read_python_stack({}, 1, false);
    ASSERT_FALSE(python);
    EXPECT_EQ(python.error().message(),
              "distgpu: py-spy: not found on the node; pip install py-spy, "
              "in your environment or on the nodes");
    const auto native = read_native_stack({}, 1);
    ASSERT_FALSE(native);
    EXPECT_EQ(native.error().message(),
              "distgpu: eu-stack and gdb: not found on the node; install elfutils there");
}

// It shows how it was called as the name of a function.
TEST_F(FindStackTools, ArePausingNoProcessThatStands) {
    write_program("py-spy",
                  "#!/bin/sh\n"
                  "echo \"[{\\\"frames\\\":[{\\\"name\\\":\\\"$*\\\",\\\"filename\\\":"
                  "\\\"f\\\",\\\"line\\\":1}]}]\"\n");
    const StackTools tools = find_stack_tools(folder.path(), {});
    const auto stack = read_python_stack(tools, 17, false);
    ASSERT_TRUE(stack) << stack.error().message();
    EXPECT_EQ(stack->at(0).function, "dump --json --pid 17");
    EXPECT_EQ(read_python_stack(tools, 17, true)->at(0).function,
              "dump --json --pid 17 --nonblocking");
}

TEST_F(FindStackTools, ThatFailSayWhy) {
    write_program("py-spy", "#!/bin/sh\necho 'Error: out of luck' >&2\nexit 1\n");
    write_program("eu-stack", "#!/bin/sh\necho 'eu-stack: Permission denied' >&2\nexit 2\n");
    const StackTools tools = find_stack_tools(folder.path(), {});
    const auto python = read_python_stack(tools, 17, false);
    ASSERT_FALSE(python);
    EXPECT_EQ(python.error(), (Error{"py-spy", "Error: out of luck", ""}));
    const auto native = read_native_stack(tools, 17);
    ASSERT_FALSE(native);
    EXPECT_EQ(native.error().problem, "eu-stack: Permission denied");
    write_program("py-spy", "#!/bin/sh\necho '[]'\n");
    EXPECT_EQ(read_python_stack(tools, 17, false).error(),
              (Error{"py-spy", "printed no stack", ""}));
}

// Their last lines: of py-spy 0.4, eu-stack 0.188 and gdb 13.
const std::vector<std::string> refusals{
    "Permission Denied: Try running again with elevated permissions by going 'sudo env !!'",
    "eu-stack: dwfl_linux_proc_report pid 9477: Permission denied",
    "ptrace: Operation not permitted."};

TEST(RefusedLook, NamesYama) {
    for (const std::string& said : refusals) {
        for (const std::string scope : {"1", "2", "3"}) {
            EXPECT_EQ(refused_look({"py-spy", said, ""}, scope).message(),
                      "distgpu: stacks: the kernel lets no process look into another "
                      "(kernel.yama.ptrace_scope is " +
                          scope + "); " +
                          (scope == "1" ? "start the step with --distgpu=MODE,watch, which opens "
                                          "each task's own process, or "
                                        : "") +
                          "ask your administrator to set it to 0");
        }
    }
}

TEST(RefusedLook, WithoutYamaNamesTheProgram) {
    for (const std::string& said : refusals) {
        for (const std::string scope : {"", "0"}) {
            EXPECT_EQ(refused_look({"py-spy", said, ""}, scope).message(),
                      "distgpu: stacks: the kernel lets nobody look into the program, which "
                      "forbids it itself");
        }
    }
}

TEST(RefusedLook, LeavesOtherErrorsAlone) {
    const Error other{"py-spy", "not found on the node", "install it"};
    EXPECT_EQ(refused_look(other, "1"), other);
}

}  // namespace
}  // namespace distgpu
