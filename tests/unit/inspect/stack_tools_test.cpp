// Stacks and variables as py-spy prints them, and how the tools that read stacks are found.
#include "inspect/stack_tools.h"

#include "base/format.h"
#include "dead_folder.h"
#include "inspect/process_facts.h"
#include "made_up_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;

// The program, started by another name, for a minute.
class ChildProgram {
  public:
    ChildProgram(const std::string& program, std::string name) : pid_(fork()) {
        if (pid_ == 0) {
            execl(program.c_str(), name.c_str(), "60", nullptr);
            _exit(1);
        }
        constexpr useconds_t pause = 1000;
        while (read_command(pid_) != name + " 60") usleep(pause);
    }
    ChildProgram(const ChildProgram&) = delete;
    ChildProgram& operator=(const ChildProgram&) = delete;
    ~ChildProgram() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }

    pid_t pid() const { return pid_; }

  private:
    pid_t pid_;
};

std::string frame(const std::string& name, const std::string& file, int line,
                  const std::string& locals = "null") {
    return formatted(
        R"({{"name":"{}","filename":"{}","module":null,"short_filename":"x","line":{},"locals":{},)"
        R"("is_entry":false,"is_shim_entry":false}})",
        name, file, line, locals);
}

std::string thread(const std::string& name, const std::string& number, const std::string& frames) {
    return formatted(
        R"({{"pid":5846,"thread_id":140333830927040,"thread_name":{},"os_thread_id":{},)"
        R"("active":false,"owns_gil":false,"frames":[{}],"process_info":null}})",
        name, number, frames);
}

PythonStack python_of(const std::vector<std::string>& threads, pid_t process = 5846) {
    const auto python = parse_py_spy("[" + join(threads, ",") + "]", process);
    EXPECT_TRUE(python);
    return python.value_or(PythonStack());
}

Stack stack_of(const std::vector<std::string>& threads, pid_t process = 5846) {
    return python_of(threads, process).stack;
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
    EXPECT_EQ(stack_of({beat, main_thread}), main_stack);
    EXPECT_EQ(stack_of({main_thread, beat, beat}), main_stack);
    EXPECT_EQ(stack_of({beat, renamed}), main_stack);
    // In a container of its own numbers.
    EXPECT_EQ(stack_of({beat, main_thread}, 17), main_stack);
    EXPECT_EQ(stack_of({unnamed, beat}, 17), main_stack);
}

// Two workers of a DataLoader, forked while the rank was in main(): one is idle, one reads.
TEST(ParsePySpy, LeavesOutWhatTheParentOfAForkWasDoing) {
    const std::string parent =
        frame("_bootstrap", "/usr/lib/python3.11/multiprocessing/process.py", 314) + "," +
        frame("__iter__", "/site-packages/torch/dataloader.py", 434) + "," +
        frame("main", "/home/u/train.py", 9);
    const std::string loop = frame("_worker_loop", "/site-packages/torch/worker.py", 257) + ",";
    const Stack idle = stack_of({thread("\"MainThread\"", "5846", loop + parent)});
    EXPECT_THAT(idle, SizeIs(2));
    EXPECT_FALSE(has_own_code(idle));
    const Stack reads = stack_of({thread(
        "\"MainThread\"", "5846", frame("read", "/home/u/data.py", 7) + "," + loop + parent)});
    EXPECT_THAT(reads, SizeIs(3));
    EXPECT_TRUE(has_own_code(reads));
}

TEST(ParsePySpy, IsNothingOfOtherText) {
    for (const std::string text :
         {"", "[]", "{}", "null", "[{}]", "[1]", "[", "Error: no such process",
          "[],\"threads\":[3]", R"([{"frames":[{"name":"f","filename":"g","locals":[3]}]}])"}) {
        EXPECT_EQ(parse_py_spy(text, 1), std::nullopt) << text;
    }
}

TEST(ParsePySpy, BoundsWhatAProgramNames) {
    std::string deep = frame("f", "/f.py", 1);
    for (int i = 0; i < 999; ++i) deep += "," + frame("f", "/f.py", 1);
    EXPECT_THAT(stack_of({thread("null", "1", deep)}, 1), SizeIs(200));
    const std::string hostile = frame(std::string(5000, 'f'), R"(/\u001b[2J\u009b2J\n.py)", -3);
    const auto stack = stack_of({thread("null", "1", hostile)}, 1);
    ASSERT_THAT(stack, SizeIs(1));
    EXPECT_EQ(stack.front().function, std::string(300, 'f'));
    EXPECT_EQ(stack.front().file, "/?[2J??2J?.py");
    EXPECT_EQ(stack.front().line, 0U);
}

// ---- Which thread, where the main one only waits.

const std::string library = "/usr/lib/python3.11/";
const std::string own = frame("work", "/home/u/t.py", 5);
const std::string own_twice = own + "," + frame("run", "/home/u/t.py", 4);
const std::string collective = frame("all_reduce", "/v/site-packages/torch/d.py", 4) + "," + own;

// The innermost call first.
std::string main_in(const std::string& frames) {
    return thread("\"MainThread\"", "5846", frames + "," + frame("main", "/home/u/t.py", 99));
}
std::string other(const std::string& frames) {
    return thread("\"other\"", "1",
                  frames + "," + frame("Thread.run", library + "threading.py", 975));
}

std::string numbered(const std::string& number, const std::string& frames) {
    return thread("\"other\"", number, frames);
}

PythonStack sleeping_of(const std::vector<std::string>& threads, const std::set<pid_t>& sleeping) {
    return parse_py_spy("[" + join(threads, ",") + "]", 5846, sleeping).value_or(PythonStack());
}

std::string chosen(const std::vector<std::string>& threads) {
    return stack_of(threads).back().function;
}

TEST(ChosenThread, IsTheOneThatTheMainThreadWaitsFor) {
    const std::string wait = frame("Condition.wait", library + "threading.py", 327);
    const std::vector<std::string> waits{
        frame("Thread._wait_for_tstate_lock", library + "threading.py", 1139) + "," +
            frame("Thread.join", library + "threading.py", 1119),
        frame("Thread.join", library + "threading.py", 1119),  // Python 3.13
        wait + "," + frame("Future.result", library + "concurrent/futures/_base.py", 451),
        wait + "," + frame("Queue.get", library + "queue.py", 171),
        wait + "," + frame("Event.wait", library + "threading.py", 629),
        wait + "," + frame("Event.wait", library + "threading.py", 629) + "," +
            frame("as_completed", library + "concurrent/futures/_base.py", 245),
        frame("wait", library + "threading.py", 320)};  // before Python 3.11
    for (const std::string& each : waits) {
        EXPECT_EQ(chosen({other(own), main_in(each)}), "work") << each;
        EXPECT_EQ(chosen({main_in(each), other(own)}), "work") << each;
    }
    for (const std::string& each :
         {frame("EpollSelector.select", library + "selectors.py", 468) + "," +
              frame("BaseEventLoop.run_until_complete", library + "asyncio/base_events.py", 654),
          frame("wait", library + "subprocess.py", 9), frame("wait", "/home/u/threading.py", 9),
          frame("Thread.start", library + "threading.py", 9), own}) {
        EXPECT_NE(chosen({other(collective), main_in(each)}), "all_reduce") << each;
    }
}

TEST(ChosenThread, IsOfSeveralTheOneInACollectiveOrWithMostOwnFrames) {
    const std::string join = frame("Thread.join", library + "threading.py", 1119);
    EXPECT_EQ(chosen({other(own_twice), other(collective), main_in(join)}), "all_reduce");
    EXPECT_EQ(stack_of({other(own), other(own_twice), main_in(join)}).size(), 3U);
    EXPECT_EQ(stack_of({other(own_twice), other(own), main_in(join)}).size(), 3U);
    // One without own code, or that waits for a thread itself, is none.
    EXPECT_EQ(chosen({other(frame("f", library + "x.py", 1)), main_in(join)}), "Thread.join");
    EXPECT_EQ(stack_of({other(join + "," + own), main_in(join)}).front().function, "main");
    // With --native, machine code is innermost.
    const std::string native = frame("futex", "/lib/x86_64-linux-gnu/libc.so.6", 0);
    EXPECT_EQ(chosen({other(own), main_in(native + "," + join)}), "work");
}

// A monitor sleeps most of the time, whether or not the rank progresses.
TEST(ChosenThread, SleepsOnlyIfTheMainThreadWaitsForItsEnd) {
    const std::string wait = frame("Condition.wait", library + "threading.py", 327) + "," +
                             frame("Event.wait", library + "threading.py", 629);
    const std::string join = frame("Thread.join", library + "threading.py", 1119);
    const std::string monitor = numbered("7", frame("watch", "/home/u/t.py", 3) + "," + own_twice);
    const std::string worker = numbered("8", own);
    const auto chosen = [](const std::vector<std::string>& threads,
                           const std::set<pid_t>& sleeping) {
        return sleeping_of(threads, sleeping).stack.back().function;
    };
    EXPECT_EQ(chosen({monitor, worker, main_in(wait)}, {}), "watch");
    EXPECT_EQ(chosen({monitor, worker, main_in(wait)}, {7}), "work");
    EXPECT_EQ(chosen({monitor, main_in(wait)}, {7}), "Condition.wait");
    EXPECT_EQ(chosen({monitor, main_in(join)}, {7}), "watch");
    EXPECT_EQ(chosen({monitor, main_in(own)}, {7, 5846}), "work");
}

// `py-spy dump --native` of Python with debugging symbols.
TEST(ParsePySpy, TellsOfMachineCodeOnlyItsNames) {
    const std::string c = "/build/Modules/socketmodule.c";
    EXPECT_EQ(stack_of({thread("null", "1",
                               frame("recv", "/lib/x86_64-linux-gnu/libc.so.6", 0) + "," +
                                   frame("sock_call", c, 972) + "," + own + "," +
                                   frame("load", "/home/u/fast.pyx", 7) + "," +
                                   frame("0x7fec9f5278ec", "/lib/x86_64-linux-gnu/libc.so.6", 0))}),
              (Stack{{"load", "/home/u/fast.pyx", 7},
                     {"work", "/home/u/t.py", 5},
                     {"sock_call", c, 0},
                     {"recv", "/lib/x86_64-linux-gnu/libc.so.6", 0}}));
}

// ---- Variables, as py-spy 0.4.3 wrote them.

std::string local(const std::string& name, const std::string& value) {
    return formatted(R"({{"name":"{}","addr":140294200027624,"arg":true,"repr":"{}"}})", name,
                     value);
}

PythonStack with_locals(const std::string& locals, const std::string& file = "/home/u/t.py") {
    return python_of({thread("null", "1", frame("f", file, 1, "[" + locals + "]"))});
}

TEST(Variables, AreADigestOfThoseInOwnCode) {
    const std::string digest = with_locals(local("step", "7")).variables;
    EXPECT_THAT(digest, MatchesRegex("[0-9a-f]{16}"));
    EXPECT_EQ(with_locals(local("step", "7")).variables, digest);
    for (const std::string& different : {local("step", "8"), local("stop", "7"), local("ste", "p7"),
                                         local("step", "7") + "," + local("i", "0")}) {
        EXPECT_NE(with_locals(different).variables, digest) << different;
    }
    for (const std::string& same :
         {local("model", "<Model at 0x7f98c939e410>"), local("all", "[1, <M at 0x7f98c939e410>]"),
          local("now", "1795747605.6989012")}) {
        EXPECT_EQ(with_locals(local("step", "7") + "," + same).variables, digest) << same;
        EXPECT_EQ(with_locals(same).variables, "") << same;
    }
    // A number like a time without a fraction may be a count.
    EXPECT_NE(with_locals(local("tokens", "1795747605")).variables, "");
    EXPECT_EQ(with_locals(local("step", "7"), library + "queue.py").variables, "");
    EXPECT_EQ(with_locals(local("step", "7"), "/v/site-packages/torch/x.py").variables, "");
    EXPECT_EQ(python_of({main_thread}).variables, "");
}

TEST(Variables, AreNotThoseOfALoopThatSleeps) {
    const std::string poll = frame("poll", "/home/u/t.py", 1, "[" + local("times", "7") + "]");
    const std::string join = main_in(frame("Thread.join", library + "threading.py", 1119));
    const std::string loop = numbered("7", poll);
    EXPECT_NE(sleeping_of({loop, join}, {}).variables, "");
    EXPECT_EQ(sleeping_of({loop, join}, {7}).variables, "");
    // Those of the main thread are judged by what it does at most moments, except in Event.wait(1),
    // which looks like any other wait to the kernel.
    EXPECT_NE(sleeping_of({thread("null", "5846", poll)}, {5846}).variables, "");
    const auto in_wait = [&](const std::string& caller, const std::string& timeout) {
        return python_of({main_in(frame("Condition.wait", library + "threading.py", 331,
                                        "[" + local("timeout", timeout) + "]") +
                                  "," + caller + "," + poll)})
            .variables;
    };
    const std::string event = frame("Event.wait", library + "threading.py", 629);
    EXPECT_EQ(in_wait(event, "3"), "");
    EXPECT_NE(in_wait(event, "None"), "");
    EXPECT_NE(in_wait(frame("Queue.get", library + "queue.py", 180), "3"), "");
}

TEST(Variables, MayBeARequestToOtherRanks) {
    for (const char* const value :
         {"<Work at 0x7f98c939e490>", "<torch._C._distributed_c10d.Work at 0x7f98c939e490>",
          "[<Work at 0x7f98c939e410>, <Work at 0x7f98c939e3d0>]",
          "<torch.distributed.distributed_c10d.Work object at 0x7f98c939e490>",
          "<mpi4py.MPI.Request at 0x7f98c939e490>"}) {
        EXPECT_TRUE(with_locals(local("x", value)).has_request) << value;
        EXPECT_FALSE(with_locals(local("x", value), library + "queue.py").has_request) << value;
    }
    for (const char* const value : {"<NetWork at 0x7f98c939e490>", "<Worker at 0x7f98c939e490>",
                                    "7", "<mpi4py.MPI.Comm at 0x7f98c939e490>"}) {
        EXPECT_FALSE(with_locals(local("work", value)).has_request) << value;
    }
}

TEST(HoldsGil, IsOfTheChosenThread) {
    const auto with_gil = [](std::string printed) {
        const std::string no = "\"owns_gil\":false";
        return printed.replace(printed.find(no), no.size(), "\"owns_gil\":true");
    };
    EXPECT_TRUE(python_of({beat, with_gil(main_thread)}).holds_gil);
    EXPECT_FALSE(python_of({with_gil(beat), main_thread}).holds_gil);
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
        const StackTools tools = find_stack_tools(each.path, {at(each.program)}, "");
        EXPECT_EQ(tools.py_spy, at(each.py_spy)) << each.title;
        EXPECT_EQ(tools.eu_stack, "") << each.title;
        EXPECT_EQ(tools.gdb, at(each.gdb)) << each.title;
    }
}

TEST_F(FindStackTools, AreFirstThoseOfTheSystem) {
    for (const char* const file : {"system/gdb", "path/gdb", "path/py-spy"}) {
        folder.write_program(file, "#!/bin/sh\n");
    }
    const StackTools tools = find_stack_tools(at("path"), {}, at("system"));
    EXPECT_EQ(tools.gdb, at("system/gdb"));
    EXPECT_EQ(tools.py_spy, at("path/py-spy"));
}

TEST_F(FindStackTools, KnowThePythonOfAnEnvironment) {
    const auto python_of = [](const std::vector<std::string>& programs) {
        return find_stack_tools("", programs, "").python;
    };
    EXPECT_EQ(python_of({"/bin/sleep", "/opt/conda/bin/python3.11"}), "/opt/conda/bin/python3.11");
    // Users install nothing there.
    EXPECT_EQ(python_of({"/usr/bin/python3.11", "/usr/local/bin/python3"}), "");
    EXPECT_EQ(python_of({}), "");
}

TEST_F(FindStackTools, AreFoundBehindFoldersWhoseFileServerIsDead) {
    folder.write_program("venv/python3", "#!/bin/sh\n");
    folder.write_program("venv/py-spy", "#!/bin/sh\n");
    folder.write_program("path/gdb", "#!/bin/sh\n");
    bool skipped = false;
    EXPECT_TRUE(with_dead_folder(
        [&](const std::string& dead) {
            const auto begin = Clock::now();
            const StackTools tools = find_stack_tools(dead + ":" + at("path"),
                                                      {dead + "/python3", at("venv/python3")}, "");
            return tools.gdb == at("path/gdb") && tools.py_spy == at("venv/py-spy") &&
                   Clock::now() - begin < std::chrono::seconds(8);
        },
        skipped));
    if (skipped) GTEST_SKIP() << "only root can mount a file system";
}

// A link such as a virtual environment has leads to the program; another name is anybody's.
TEST_F(FindStackTools, AreSoughtBesideOwnProgramsAndTheirLinks) {
    const auto programs_of = [](const std::string& name) {
        const ChildProgram child("/bin/sleep", name);
        return read_own_programs({child.pid(), child.pid(), 0});
    };
    const std::string sleep = std::filesystem::canonical("/bin/sleep");
    std::filesystem::create_symlink("/bin/sleep", folder.path("python3"));
    EXPECT_THAT(programs_of(at("python3")), ElementsAre(at("python3"), sleep));
    EXPECT_THAT(programs_of(at("none")), ElementsAre(sleep));
    EXPECT_THAT(programs_of("sleep"), ElementsAre(sleep));
    folder.write_program("other", "#!/bin/sh\n");
    EXPECT_THAT(programs_of(at("other")), ElementsAre(sleep));
    EXPECT_THAT(read_own_programs({}), IsEmpty());
}

// py-spy shows how it was called as the name of a function.
TEST_F(FindStackTools, ArePausingNoProcessThatStands) {
    folder.write_program("py-spy",
                         "#!/bin/sh\n"
                         "echo \"[{\\\"frames\\\":[{\\\"name\\\":\\\"$*\\\",\\\"filename\\\":"
                         "\\\"f\\\",\\\"line\\\":1}]}]\"\n");
    const StackTools tools = find_stack_tools(folder.path(), {}, "");
    const auto stack = read_python_stack(tools, 17, false);
    ASSERT_TRUE(stack) << stack.error().message();
    EXPECT_EQ(stack->stack.at(0).function, "dump --json --locals --pid 17");
    EXPECT_EQ(read_python_stack(tools, 17, true)->stack.at(0).function,
              "dump --json --locals --nonblocking --pid 17");
    EXPECT_EQ(read_mixed_stack(tools, 17)->at(0).function, "dump --json --native --pid 17");
}

TEST_F(FindStackTools, ThatAreMissingOrFailSayWhy) {
    EXPECT_EQ(read_python_stack({}, 1, false).error(),
              (Error{"py-spy", "not found on the node",
                     "pip install py-spy, in your environment or on the nodes"}));
    EXPECT_EQ(read_mixed_stack({.python = "/home/me/venv/bin/python3"}, 1).error(),
              (Error{"py-spy", "not found on the node",
                     "/home/me/venv/bin/python3 -m pip install py-spy"}));
    EXPECT_EQ(read_native_stack({}, 1).error(),
              (Error{"eu-stack and gdb", "not found on the node", "install elfutils there"}));
    folder.write_program("py-spy", "#!/bin/sh\necho 'Error: out of luck' >&2\nexit 1\n");
    folder.write_program("eu-stack", "#!/bin/sh\necho 'eu-stack: Permission denied' >&2\nexit 2\n");
    const StackTools tools = find_stack_tools(folder.path(), {}, "");
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
