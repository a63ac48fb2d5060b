// Stacks as py-spy, eu-stack and gdb print them.
#include "inspect/stack.h"

#include "base/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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
    EXPECT_EQ(parse_py_spy("[" + beat + "," + main_thread + "]", 5846), main_stack);
    EXPECT_EQ(parse_py_spy("[" + main_thread + "," + beat + "," + beat + "]", 5846), main_stack);
}

TEST(ParsePySpy, KnowsTheMainThreadByNumberOrName) {
    const std::string renamed = thread("\"trainer\"", "5846", main_frames);
    EXPECT_EQ(parse_py_spy("[" + beat + "," + renamed + "]", 5846), main_stack);
    // In a container of its own numbers.
    EXPECT_EQ(parse_py_spy("[" + beat + "," + main_thread + "]", 17), main_stack);
    const std::string unnamed = thread("null", "null", main_frames);
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

TEST(ToText, OfAFrame) {
    EXPECT_EQ(to_text(Frame{"load_batch", "/home/u/data.py", 41}), "load_batch (data.py:41)");
    EXPECT_EQ(to_text(Frame{"main"}), "main");
}

}  // namespace
}  // namespace distgpu
