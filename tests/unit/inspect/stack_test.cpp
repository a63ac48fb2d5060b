// Stacks as py-spy, eu-stack and gdb print them, where a rank is by them, and how these tools are
// found.
#include "inspect/stack.h"

#include "base/format.h"
#include "made_up_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::string frame(const std::string& name, const std::string& file, int line) {
    return formatted(
        R"({{"name":"{}","filename":"{}","module":null,"short_filename":"x","line":{},"locals":null,)"
        R"("is_entry":false,"is_shim_entry":false}})",
        name, file, line);
}

std::string thread(const std::string& name, const std::string& number, const std::string& frames) {
    return formatted(
        R"({{"pid":5846,"thread_id":140333830927040,"thread_name":{},"os_thread_id":{},)"
        R"("active":false,"owns_gil":false,"frames":[{}],"process_info":null}})",
        name, number, frames);
}

// What py-spy 0.4 prints of a rank of torch: the newest thread first, of each the innermost call.
const std::string beat = thread("\"beat\"", "5895",
                                frame("idle", "/home/u/t.py", 3) + "," +
                                    frame("Thread.run", "/usr/lib/python3.11/threading.py", 975));
const std::string main_frames =
    frame("all_reduce", "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py",
          4181) +
    "," + frame("train", "/home/u/t.py", 9) + "," + frame("<module>", "/home/u/t.py", 10);
const std::string main_thread = thread("\"MainThread\"", "5846", main_frames);
const Stack main_stack{
    {"<module>", "/home/u/t.py", 10},
    {"train", "/home/u/t.py", 9},
    {"all_reduce", "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py",
     4181}};

TEST(ParsePySpy, TakesTheMainThreadTheOutermostCallFirst) {
    const std::string renamed = thread("\"trainer\"", "5846", main_frames);
    const std::string unnamed = thread("null", "null", main_frames);
    EXPECT_EQ(parse_py_spy("[" + beat + "," + main_thread + "]", 5846), main_stack);
    EXPECT_EQ(parse_py_spy("[" + main_thread + "," + beat + "," + beat + "]", 5846), main_stack);
    EXPECT_EQ(parse_py_spy("[" + beat + "," + renamed + "]", 5846), main_stack);
    // In a container of its own numbers.
    EXPECT_EQ(parse_py_spy("[" + beat + "," + main_thread + "]", 17), main_stack);
    EXPECT_EQ(parse_py_spy("[" + unnamed + "," + beat + "]", 17), main_stack);
}

TEST(ParsePySpy, IsNothingOfOtherText) {
    for (const std::string text : {"", "[]", "{}", "null", "[{}]", "[1]", "[",
                                   "Error: no such process", "[],\"threads\":[3]"}) {
        EXPECT_EQ(parse_py_spy(text, 1), std::nullopt) << text;
    }
}

TEST(ParsePySpy, BoundsWhatAProgramNames) {
    std::string deep = frame("f", "/f.py", 1);
    for (int i = 0; i < 999; ++i) deep += "," + frame("f", "/f.py", 1);
    EXPECT_THAT(parse_py_spy("[" + thread("null", "1", deep) + "]", 1).value_or(Stack()),
                SizeIs(200));
    const std::string hostile = frame(std::string(5000, 'f'), R"(/\u001b[2J\u009b2J\n.py)", -3);
    const auto stack = parse_py_spy("[" + thread("null", "1", hostile) + "]", 1);
    ASSERT_TRUE(stack && stack->size() == 1);
    EXPECT_EQ(stack->front().function, std::string(300, 'f'));
    EXPECT_EQ(stack->front().file, "/?[2J??2J?.py");
    EXPECT_EQ(stack->front().line, 0U);
}

std::vector<std::string> names(const std::string& backtrace) {
    std::vector<std::string> names;
    for (const Frame& frame : parse_backtrace(backtrace)) {
        EXPECT_EQ(frame, Frame{frame.function});
        names.push_back(frame.function);
    }
    return names;
}

// `eu-stack -1` of elfutils 0.188.
TEST(ParseBacktrace, ReadsEuStack) {
    EXPECT_THAT(names("PID 5531 - process\n"
                      "TID 5531:\n"
                      "#0  0x00007f5f8c8f1dd0 pause\n"
                      "#1  0x0000556c7098b8d5 int Mat::step<int, long>(std::vector<int, "
                      "std::allocator<int> >, long)\n"
                      "#2  0x0000556c7098b74c Mat::operator()()\n"
                      "#3  0x0000556c7098b1f1 main::{lambda()#1}::operator()() const\n"
                      "#4  0x0000556c7098b91c std::function<void ()>::operator()() const\n"
                      "#5  0x0000556c7098b1d2 run(std::function<void ()>)\n"
                      "#6  0x0000556c7098b1f2\n"
                      "#10 0x00007f5f8c84524a __libc_start_call_main\n"
                      "#11 0x00007f5f8c845305 __libc_start_main@@GLIBC_2.34\n"),
                ElementsAre("__libc_start_main", "__libc_start_call_main", "run",
                            "std::function<void ()>::operator()", "main::{lambda()#1}::operator()",
                            "Mat::operator()", "Mat::step<int, long>", "pause"));
}

// gdb 13.
TEST(ParseBacktrace, ReadsGdb) {
    EXPECT_THAT(
        names("[Thread debugging using libthread_db enabled]\n"
              "0x00007f5f8c8f1dd0 in __libc_pause () at ../sysdeps/unix/sysv/linux/pause.c:29\n"
              "#0  0x00007f5f8c8f1dd0 in __libc_pause () at ../sysdeps/unix/sysv/linux/pause.c:29\n"
              "#1  <signal handler called>\n"
              "#2  0x0000556c7098b8d5 in Mat::step<int, long> (this=0x7ffe7d25129f, "
              "v=std::vector of length 1, capacity 1 = {...}, u=2) at n.cpp:4\n"
              "#3  0x0000556c7098b74c in Mat::operator() (this=0x7ffe7d25129f) at n.cpp:5\n"
              "#4  0x000056549461b8d5 in ?? ()\n"
              "#5  0x0000556c7098b91c in std::function<void ()>::operator()() const (this=0x1) at "
              "/usr/include/c++/12/bits/std_function.h:591\n"
              "#6  main (argc=1, argv=0x7ffe) at n.cpp:7\n"
              "#10 0x00007f099e44524a in __libc_start_call_main (main=main@entry=0x56549461b1f4) "
              "at ../sysdeps/nptl/libc_start_call_main.h:58\n"
              "[Inferior 1 (process 5531) detached]\n"),
        ElementsAre("__libc_start_call_main", "main", "std::function<void ()>::operator()",
                    "Mat::operator()", "Mat::step<int, long>", "<signal handler called>",
                    "__libc_pause"));
}

TEST(ParseBacktrace, IsEmptyOfOtherText) {
    EXPECT_THAT(names(""), IsEmpty());
    EXPECT_THAT(names("No stack.\n# \n#\n#1\n#1 \n#1  0x\n#2  in \n"), IsEmpty());
}

TEST(ParseBacktrace, BoundsWhatAProgramNames) {
    std::string deep;
    for (int i = 0; i < 1000; ++i) deep += "#1  0x01 " + std::string(1000, 'f') + "\n";
    const auto all = names(deep);
    EXPECT_EQ(all, std::vector(200, std::string(300, 'f')));
    EXPECT_THAT(names("#1  0x01 a\x1b[2J\n"), ElementsAre("a?[2J"));
}

TEST(CallSite, IsWhatOwnCodeCalled) {
    const std::string packages = "/venv/lib/python3.11/site-packages/";
    const std::string c10d = packages + "torch/distributed/distributed_c10d.py";
    const std::string jax = packages + "jax/experimental/multihost_utils.py";
    const std::string optimizer = packages + "horovod/torch/optimizer.py";
    const std::string mpi_ops = packages + "horovod/torch/mpi_ops.py";
    const Frame module{"<module>", "/home/u/train.py", 90};
    const Frame train{"train", "/home/u/train.py", 88};
    const Frame own{"load_batch", "/home/u/data.py", 41};
    struct Case {
        const char* title;
        Stack stack;
        CallSite site;
    };
    const std::vector<Case> cases{
        {"torch's collective",
         {module,
          train,
          {"wrapper", packages + "torch/c10d_logger.py", 83},
          {"all_reduce", c10d, 4}},
         {"all_reduce (train.py:88)", true}},
        {"torch's backward",
         {module, {"_engine_run_backward", packages + "torch/autograd/graph.py", 829}},
         {"_engine_run_backward (train.py:90)", false}},
        {"the outermost collective is the one that the user called",
         {module, train, {"allreduce", mpi_ops, 265}, {"synchronize", mpi_ops, 1285}},
         {"allreduce (train.py:88)", true}},
        {"Horovod's optimizer",
         {module,
          {"_DistributedOptimizer.step", optimizer, 364},
          {"_DistributedOptimizer.synchronize", optimizer, 325}},
         {"_DistributedOptimizer.synchronize (train.py:90)", true}},
        {"JAX's collective",
         {module, {"process_allgather", jax, 153}, {"_handle_array_process_allgather", jax, 99}},
         {"process_allgather (train.py:90)", true}},
        {"MPI's function",
         {{"__libc_start_main"}, {"main"}, {"PMPI_Allreduce"}, {"opal_progress"}},
         {"PMPI_Allreduce (main)", true}},
        {"MPI's without a caller", {{"MPI_Barrier"}, {"opal_progress"}}, {"MPI_Barrier", true}},
        {"own code", {module, own}, {"load_batch (data.py:41)", false}},
        {"what own code called",
         {module, own, {"read", "/usr/lib/python3.11/codecs.py", 322}},
         {"read (data.py:41)", false}},
        {"a frozen module", {module, {"open", "<frozen io>", 3}}, {"open (train.py:90)", false}},
        {"without own code the innermost", {{"main"}, {"work"}, {"poll"}}, {"poll", false}},
        {"the same of a package",
         {{"_worker_loop", packages + "torch/utils/data/_utils/worker.py", 257}},
         {"_worker_loop (worker.py:257)", false}},
        {"a collective without own code",
         {{"run", packages + "accelerate/launcher.py", 7}, {"barrier", c10d, 9}},
         {"barrier (launcher.py:7)", true}},
        {"a user's own function may have the name of one",
         {module, {"broadcast", "/home/u/radio.py", 5}},
         {"broadcast (radio.py:5)", false}},
        {"nothing", {}, {}}};
    for (const Case& each : cases) EXPECT_EQ(call_site_of(each.stack), each.site) << each.title;
}

TEST(MayWait, IsTrueOfNamesThatWaitAndOfACollectiveWhoseverItIs) {
    const auto with = [](const std::string& function, const std::string& file) {
        return Stack{{"main", "/home/u/train.py", 9}, {function, file, file.empty() ? 0U : 12U}};
    };
    for (const char* name :
         {"join", "_wait_for_tstate_lock", "_engine_run_backward", "recv", "get"}) {
        EXPECT_TRUE(may_wait(with(name, "/usr/lib/python3.11/threading.py"))) << name;
        EXPECT_FALSE(may_wait(with(name, "/home/u/data.py"))) << name;
        EXPECT_FALSE(waits_for_ranks(with(name, "/usr/lib/python3.11/threading.py"))) << name;
    }
    EXPECT_TRUE(may_wait(with("pthread_cond_wait", "")));
    EXPECT_FALSE(may_wait(with("pause", "")));
    EXPECT_FALSE(may_wait({}));
    for (const char* name : {"all_reduce", "barrier", "MPI_Recv", "_store_based_barrier"}) {
        EXPECT_TRUE(may_wait(with(name, "/home/u/train.py"))) << name;
        EXPECT_TRUE(waits_for_ranks(with(name, "/home/u/train.py"))) << name;
    }
}

class FindStackTools : public testing::Test {
  protected:
    // "" or the path of a file of the folder.
    std::string at(const std::string& file) const { return file.empty() ? "" : folder.path(file); }

    MadeUpFolder folder;
};

TEST_F(FindStackTools, AreInAFolderOfThePathOrBesideAProgram) {
    using std::filesystem::perms;
    const auto a = folder.path("a");
    const std::string odd = "b:" + a.substr(1) + "/python3";  // in a folder with ':' in its name
    for (const std::string& file : std::vector<std::string>{
             "a/py-spy", "b/py-spy", "c/gdb", "folder/gdb/gdb", "text/gdb", "venv/python3",
             "venv/py-spy", "venv/gdb", "open/python3", "open/py-spy", "shut/python3",
             "shut/py-spy", "other/python3", "other/py-spy", odd}) {
        folder.write_program(file, "#!/bin/sh\n");
    }
    std::filesystem::permissions(folder.path("text/gdb"), perms::owner_read);
    // As in /tmp, where anybody may put a py-spy beside another user's program.
    std::filesystem::permissions(folder.path("open"), perms::all | perms::sticky_bit);
    std::filesystem::permissions(folder.path("shut/py-spy"), perms::all);
    // Only root can give a file away.
    const bool is_given = chown(folder.path("other/py-spy").c_str(), 12'345, 12'345) == 0;
    // A relative folder is another one for each process, and anybody's.
    const auto relative = std::filesystem::relative(folder.path("c")).string();
    struct Case {
        const char* title;
        std::string path;
        std::string program;
        std::string py_spy;
        std::string gdb;
    };
    const std::vector<Case> cases{
        {"the first of the paths", at("none") + ":" + at("b") + "::" + a + ":" + at("c"), "",
         "b/py-spy", "c/gdb"},
        {"no folder, nor what cannot run", at("folder") + ":" + at("text"), "", "", ""},
        {"no relative folder", relative + "::.", "", "", ""},
        {"beside a program", at("c"), "venv/python3", "venv/py-spy", "c/gdb"},
        {"in a folder that anybody may write to", "", "open/python3", "", ""},
        {"one that anybody may write to", "", "shut/python3", "", ""},
        {"of another user", "", is_given ? "other/python3" : "", "", ""},
        {"beside no program", "", "gone/python3", "", ""},
        {"a program's folder is one", "", odd, "", ""}};
    for (const Case& each : cases) {
        const StackTools tools = find_stack_tools(each.path, {at(each.program)});
        EXPECT_EQ(tools.py_spy, at(each.py_spy)) << each.title;
        EXPECT_EQ(tools.eu_stack, "") << each.title;
        EXPECT_EQ(tools.gdb, at(each.gdb)) << each.title;
    }
}

// py-spy shows how it was called as the name of a function.
TEST_F(FindStackTools, ArePausingNoProcessThatStands) {
    folder.write_program("py-spy",
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

TEST_F(FindStackTools, ThatAreMissingOrFailSayWhy) {
    EXPECT_EQ(read_python_stack({}, 1, false).error(),
              (Error{"py-spy", "not found on the node",
                     "pip install py-spy, in your environment or on the nodes"}));
    EXPECT_EQ(read_native_stack({}, 1).error(),
              (Error{"eu-stack and gdb", "not found on the node", "install elfutils there"}));
    folder.write_program("py-spy", "#!/bin/sh\necho 'Error: out of luck' >&2\nexit 1\n");
    folder.write_program("eu-stack", "#!/bin/sh\necho 'eu-stack: Permission denied' >&2\nexit 2\n");
    const StackTools tools = find_stack_tools(folder.path(), {});
    EXPECT_EQ(read_python_stack(tools, 17, false).error(),
              (Error{"py-spy", "Error: out of luck", ""}));
    EXPECT_EQ(read_native_stack(tools, 17).error().problem, "eu-stack: Permission denied");
    folder.write_program("py-spy", "#!/bin/sh\necho '[]'\n");
    EXPECT_EQ(read_python_stack(tools, 17, false).error(),
              (Error{"py-spy", "printed no stack", ""}));
}

TEST(ExplainStackError, NamesYamaOrTheProgram) {
    const std::string yama =
        "the kernel lets no process trace another (kernel.yama.ptrace_scope is ";
    const std::string ask = "ask your administrator to set it to 0";
    const std::string program = "the program does not allow other processes to trace it";
    const std::vector<std::pair<std::string, std::string>> scopes{
        {"1", yama +
                  "1); start the step with --distgpu=MODE,watch, which makes each task's process "
                  "traceable, or " +
                  ask},
        {"2", yama + "2); " + ask},
        {"3", yama + "3); " + ask},
        {"", program},
        {"0", program}};
    // Their last lines: of py-spy 0.4, eu-stack 0.188 and gdb 13.
    for (const char* const said :
         {"Permission Denied: Try running again with elevated permissions by going 'sudo env !!'",
          "eu-stack: dwfl_linux_proc_report pid 9477: Permission denied",
          "ptrace: Operation not permitted."}) {
        for (const auto& [scope, why] : scopes) {
            EXPECT_EQ(explain_stack_error({"py-spy", said, ""}, scope).message(),
                      "distgpu: stacks: " + why);
        }
    }
    const Error other{"py-spy", "not found on the node", "install it"};
    EXPECT_EQ(explain_stack_error(other, "1"), other);
}

}  // namespace
}  // namespace distgpu
