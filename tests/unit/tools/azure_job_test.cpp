// Azure ML jobs: what is read of their files, and what of it a batch script gets. Whole jobs are
// golden files: tests/convert.
#include "convert/azure_python.h"
#include "convert/azure_yaml.h"
#include "convert/conversion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace distgpu {
namespace {

// The arguments of the first call, as "name=value".
std::string arguments(const std::string& script) {
    const auto calls = read_python_calls(script);
    if (calls.empty()) return "none";
    std::string text;
    for (const auto& [name, value] : calls.back().fields) {
        text += name + "=" + (value.kind == AzureValue::Kind::text ? value.text : "?") + " ";
    }
    return text;
}

TEST(AzurePython, Literals) {
    EXPECT_EQ(arguments("f(a='x', b=\"y\" 'z', c=3, d=-1.5, e=True)"), "a=x b=yz c=3 d=-1.5 e=? ");
    EXPECT_EQ(arguments("f(a='''x\ny''', b=r'\\n', c='\\\\n', d=f'{x}')"),
              "a=x\ny b=\\n c=\\n d=? ");
    EXPECT_EQ(arguments("x = 'a b'.split()\nn = 2\nf(a=x, b=n, c=m, d=n + 1)"),
              "a=a b b=2 c=? d=? ");
    EXPECT_EQ(arguments("# f(a=1)\nif x == f(b=2):\n  pass"), "b=2 ");
}

TEST(AzurePython, FieldsThatAreSetLater) {
    EXPECT_EQ(arguments("x = f(a=1)\nx.b = 2\nx.a = 3\nif x.a == 4: pass"), "a=3 b=2 ");
    EXPECT_EQ(arguments("x = f(a=1)\ng(c=2)\nx.b = 2\ny.a = 3"), "c=2 ");
    EXPECT_EQ(arguments("x = f(a=1)\nx.b = 2\ng(c=x)"), "c=? ");
}

TEST(AzurePython, WhateverComesItEnds) {
    for (const char* script :
         {"f(", "f(a=", "f(a=[", "f(a={'b':", "'", "'''", "f(a=')", "f(]))}", "f(a=1 2 3)",
          "f(**x, *y)", "f(a=b.c(d).e)", "\\", "f(a=x[1:2], b=2)"}) {
        EXPECT_LE(read_python_calls(script).size(), 3U) << script;
    }
    const std::string deep = "f(a=" + std::string(100000, '[') + ")";
    EXPECT_LE(read_python_calls(deep).size(), 1U);
    std::string doubled = "a0 = ['x']\n";
    for (int i = 0; i < 60; ++i) {
        const std::string name = "a" + std::to_string(i);
        doubled += "a" + std::to_string(i + 1) + " = [" + name + ", " + name + "]\n";
    }
    EXPECT_EQ(read_python_calls(doubled + "f(a=a60)").size(), 1U);
}

TEST(AzureYaml, WhatIsNoJobIsRefused) {
    const auto refused = [](const std::string& text) {
        const auto read = read_azure_yaml("job.yml", text);
        return read ? "read" : read.error().message();
    };
    EXPECT_EQ(refused("a: [1"),
              "distgpu: job.yml:2: not YAML: did not find expected ',' or ']'; mend it there");
    EXPECT_EQ(refused("- a\n").substr(0, 51),
              "distgpu: job.yml: not a job: it has no fields; give");
    EXPECT_EQ(refused("").substr(0, 50), "distgpu: job.yml: empty, or too many values; give ");
    // Nine aliases of nine aliases: 9^9 values.
    std::string laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
    for (int i = 1; i < 9; ++i) {
        std::string row = "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
        for (int j = 0; j < 9; ++j) row += (j == 0 ? "*a" : ",*a") + std::to_string(i - 1);
        laughs += row + "]\n";
    }
    EXPECT_EQ(refused(laughs).substr(0, 45), "distgpu: job.yml: empty, or too many values; ");
}

std::string script_of(const std::string& file, const std::string& text) {
    const auto conversion = convert_file(file, text);
    return conversion ? conversion->script : conversion.error().message();
}

bool has_line(const std::string& text, const std::string& line) {
    return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

// What a shell would take for more than a text.
TEST(AzureJob, TextsAreQuoted) {
    const std::string script =
        script_of("j.yml",
                  "command: python a.py --x ${{inputs.x}}\ninputs: {x: \"a'b; rm -rf $HOME\"}\n"
                  "display_name: \"a\\n#SBATCH -A b\"\nenvironment_variables: {A: $(b)}\n");
    EXPECT_TRUE(has_line(script, "srun --distgpu=pytorch python a.py --x 'a'\\''b; rm -rf $HOME'"))
        << script;
    EXPECT_TRUE(has_line(script, "#SBATCH --job-name='a?#SBATCH -A b'")) << script;
    EXPECT_TRUE(has_line(script, "export A='$(b)'")) << script;
}

TEST(AzureJob, InputsWithinQuotes) {
    const std::string script =
        script_of("j.yml",
                  "command: python a.py \"${{inputs.x}}\" '${{inputs.x}}' \"${{inputs.d}}\"\n"
                  "inputs: {x: \"it's $1\", d: {path: p}}\n");
    const std::string input = "'it'\\''s $1'";
    EXPECT_TRUE(has_line(script, "srun --distgpu=pytorch python a.py \"\"" + input + "\"\" ''" +
                                     input + "'' \"\"\"$d\"\"\""))
        << script;
}

TEST(AzureJob, TheProgramIsFoundAmongItsPreparations) {
    EXPECT_TRUE(has_line(
        script_of("j.yml", "command: python -m pip install x && python a.py | tee log; ls\n"),
        "python -m pip install x && srun --distgpu=pytorch python a.py | tee log; ls"));
}

TEST(AzureJob, TheModeIsOneOfTheDistribution) {
    const auto mode = [](const std::string& rest) {
        const std::string script = script_of("j.yml", "command: python a.py\n" + rest);
        const std::size_t begin = script.find("--distgpu=");
        return script.substr(begin, script.find(' ', begin) - begin);
    };
    EXPECT_EQ(mode("distribution: {type: pytorch}\nenvironment: tensorflow-2.16\n"),
              "--distgpu=pytorch");
    EXPECT_EQ(mode("distribution: {type: mpi}\nenvironment: horovod\n"), "--distgpu=horovod");
    EXPECT_EQ(mode("distribution: {type: mpi}\nenvironment: lightning\n"),
              "--distgpu=ompi,per-node");
    EXPECT_EQ(mode("distribution: {type: pytorch}\nenvironment: lightning\n"),
              "--distgpu=lightning,per-node");
}

// A launcher in a mode of a task for each process is refused by srun.
TEST(AzureJob, ALauncherThatIsNotUnderstoodIsLeft) {
    const auto conversion = convert_file("j.yml", "command: torchrun --nnodes 1:4 a.py\n");
    ASSERT_TRUE(conversion);
    EXPECT_EQ(conversion->script, "");
    ASSERT_FALSE(conversion->notes.empty());
    EXPECT_EQ(conversion->notes.back().text,
              "a range of nodes is for elastic training; the command stays as it is");
}

TEST(AzureJob, WhatIsNotTakenIsSaid) {
    const auto conversion = convert_file("j.yml",
                                         "command: python a.py\nresources: {instance_count: two}\n"
                                         "environment_variables: {A B: x}\n");
    ASSERT_TRUE(conversion);
    ASSERT_EQ(conversion->notes.size(), 3U);
    EXPECT_EQ(conversion->notes[0],
              (Note{2, "instance_count: two is no number, so it is not known"}));
    EXPECT_EQ(conversion->notes[1], (Note{3, "environment variable A B: not known"}));
}

TEST(AzureJob, ProcessesAndNodes) {
    const auto v1 = [](const std::string& configuration) {
        return script_of(
            "j.py", "ScriptRunConfig(script='a.py', distributed_job_config=" + configuration + ")");
    };
    // process_count is the total.
    EXPECT_TRUE(has_line(script_of("j.py",
                                   "how = PyTorchConfiguration()\nhow.node_count = 2\n"
                                   "how.process_count = 8\n"
                                   "ScriptRunConfig(command=['python', 'a.py', '--x', 'a b'], "
                                   "distributed_job_config=how)"),
                         "srun --distgpu=pytorch python a.py --x 'a b'"));
    EXPECT_TRUE(has_line(v1("PyTorchConfiguration(process_count=8, node_count=2)"),
                         "#SBATCH --ntasks-per-node=4"));
    EXPECT_TRUE(has_line(v1("PyTorchConfiguration(node_count=2)"), "#SBATCH --ntasks-per-node=1"));
    EXPECT_TRUE(has_line(v1("MpiConfiguration(process_count_per_node=4, node_count=2)"),
                         "srun --mpi=pmix --distgpu=ompi python a.py"));
    EXPECT_TRUE(has_line(v1("TensorflowConfiguration(worker_count=2, parameter_server_count=1)"),
                         "srun --distgpu=tensorflow,ps=1 python a.py"));
    EXPECT_TRUE(has_line(v1("TensorflowConfiguration(worker_count=2, parameter_server_count=1)"),
                         "#SBATCH --ntasks=3"));
}

TEST(AzureJob, WhatHasNoModeIsRefused) {
    EXPECT_EQ(script_of("j.yml", "command: a\ndistribution: {type: ray}\n"),
              "distgpu: j.yml: distribution ray has no mode; distgpu vars help lists the modes");
    EXPECT_EQ(script_of("j.yml", "code: a\n").substr(0, 40),
              "distgpu: j.yml: its command is not known");
    EXPECT_EQ(script_of("j.py", "print(1)\n").substr(0, 36),
              "distgpu: j.py: neither command() nor");
}

}  // namespace
}  // namespace distgpu
