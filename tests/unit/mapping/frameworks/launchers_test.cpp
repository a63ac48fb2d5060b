// Programs and modes that do not fit each other.
#include "mapping/frameworks/launchers.h"

#include "task_values.h"

#include <gtest/gtest.h>

#include <array>

namespace distgpu {
namespace {

// "refused: MESSAGE" or "warned: MESSAGE"; empty: the program fits.
std::string judged(const char* spec, const char* counts, std::vector<std::string> program) {
    const std::string hosts = std::string(counts) == "1" ? "n1" : "n[1-2]";
    SampleStep step(spec, hosts.c_str(), counts);
    step.facts.program = std::move(program);
    const auto mismatch = program_mismatch(step.view());
    if (!mismatch) return {};
    return (mismatch->is_refusal ? "refused: " : "warned: ") + mismatch->error.message();
}

TEST(Launchers, FitTheirOwnModes) {
    struct Row {
        const char* spec;
        std::vector<std::string> program;
    };
    const std::vector<Row> rows = {
        {"torchrun", {"torchrun", "train.py"}},
        {"torchrun", {"/opt/venv/bin/torchrun", "--nproc-per-node=4", "train.py"}},
        {"torchrun", {"python3", "-u", "-m", "torch.distributed.run", "train.py"}},
        {"torchrun", {"python", "-m", "torch.distributed.launch", "train.py"}},
        {"torchrun", {"python3.11", "/opt/venv/bin/torchrun", "train.py"}},
        {"torchrun,rdzv=c10d", {"torchrun", "train.py"}},
        {"pytorch,per-node", {"torchrun", "train.py"}},
        {"accelerate,per-node", {"accelerate", "launch", "train.py"}},
        {"deepspeed,per-node", {"deepspeed", "--no_ssh", "train.py"}},
        {"composer", {"composer", "train.py"}},
        // Their own scripts start the processes.
        {"lightning,per-node", {"python3", "train.py"}},
        {"ompi,per-node", {"python3", "train.py"}},
        {"pytorch", {"python3", "-u", "train.py"}},
        // What they start does not show.
        {"pytorch", {"bash", "-c", "if true; then torchrun train.py; fi"}},
        {"pytorch", {"bash", "train.sh"}},
        {"torchrun", {"./wrapper", "train.py"}},
        {"torchrun", {"pythonista", "train.py"}},
        {"pytorch", {"accelerate", "config"}},
        {"pytorch", {"horovod-rendezvous", "python3", "train.py"}},
        {"pytorch", {}},
    };
    for (const Row& row : rows) {
        EXPECT_EQ(judged(row.spec, "1(x2)", row.program), "") << row.spec;
    }
}

TEST(Launchers, AreRefusedWhereEachProcessHasATask) {
    EXPECT_EQ(judged("pytorch", "4(x2)", {"torchrun", "train.py"}),
              "refused: distgpu: torchrun: it starts the processes of its node itself, but "
              "--distgpu=pytorch has a task for each, here 4 on a node; use --distgpu=torchrun "
              "with --ntasks-per-node=1, or leave torchrun out and start the script with python3");
    EXPECT_EQ(judged("accelerate", "4(x2)", {"accelerate", "launch", "train.py"}),
              "refused: distgpu: accelerate launch: it starts the processes of its node itself, "
              "but --distgpu=accelerate has a task for each, here 4 on a node; use "
              "--distgpu=accelerate,per-node with --ntasks-per-node=1, or leave accelerate launch "
              "out and start the script with python3");
}

TEST(Launchers, AreToldTheirModeWhereTheyAreAloneOnTheirNode) {
    EXPECT_EQ(judged("deepspeed", "1(x2)", {"deepspeed", "train.py"}),
              "warned: distgpu: deepspeed: --distgpu=deepspeed does not set it up, so each node "
              "may train alone; use --distgpu=deepspeed,per-node with --ntasks-per-node=1, or "
              "leave deepspeed out and start the script with python3");
    EXPECT_EQ(judged("pytorch", "1", {"torchrun", "train.py"}),
              "warned: distgpu: torchrun: --distgpu=pytorch does not set it up, so it may start a "
              "single process; use --distgpu=torchrun with --ntasks-per-node=1, or leave torchrun "
              "out and start the script with python3");
    EXPECT_EQ(judged("composer", "1(x2)", {"torchrun", "train.py"}),
              "warned: distgpu: torchrun: --distgpu=composer does not set it up, so each node may "
              "train alone; use --distgpu=torchrun with --ntasks-per-node=1");
    EXPECT_EQ(judged("torchrun", "1(x2)", {"composer", "train.py"}),
              "warned: distgpu: composer: --distgpu=torchrun does not set it up, so each node may "
              "train alone; use --distgpu=composer with --ntasks-per-node=1");
}

TEST(Launchers, ThatStartRanksOnAllNodesAreRefused) {
    const std::string again =
        "it starts ranks itself, but srun starts a task for each, and each task would start all "
        "ranks again; ";
    EXPECT_EQ(judged("pytorch", "4(x2)", {"mpirun", "-np", "8", "python3", "train.py"}),
              "refused: distgpu: mpirun: " + again +
                  "leave mpirun and its options out (--distgpu=ompi gives the tasks what it "
                  "would), or use --distgpu=off");
    EXPECT_EQ(judged("ompi", "1", {"/usr/bin/mpiexec", "-n", "8", "./program"}),
              "refused: distgpu: mpiexec: " + again +
                  "leave mpiexec and its options out, or use --distgpu=off");
    EXPECT_EQ(judged("horovod,backend=gloo", "4(x2)", {"horovodrun", "-np", "8", "python3", "x"}),
              "refused: distgpu: horovodrun: " + again +
                  "leave horovodrun and its options out, or use --distgpu=off");
}

TEST(Launchers, RayIsTold) {
    EXPECT_EQ(judged("pytorch", "1(x2)", {"ray", "start", "--head"}),
              "warned: distgpu: ray start: its workers would get the ranks of the task that "
              "starts them; use --distgpu=ray, which starts Ray itself, or --distgpu=off");
}

TEST(Launchers, AreMissedWhereTheModeIsForThem) {
    const std::string alone =
        " leaves the processes to a launcher, so each task trains alone, as rank 0 of 1; ";
    EXPECT_EQ(judged("torchrun", "1(x2)", {"/usr/bin/python3", "-u", "train.py"}),
              "warned: distgpu: /usr/bin/python3 -u train.py: --distgpu=torchrun" + alone +
                  "start the script with torchrun, or use --distgpu=pytorch with a task for each "
                  "GPU");
    EXPECT_EQ(judged("deepspeed,per-node", "1(x2)", {"python", "-m", "train"}),
              "warned: distgpu: python -m train: --distgpu=deepspeed,per-node" + alone +
                  "start the script with deepspeed, or use --distgpu=deepspeed with a task for "
                  "each GPU");
    EXPECT_EQ(judged("composer", "1(x2)", {"python3.11", "train.py"}),
              "warned: distgpu: python3.11 train.py: --distgpu=composer" + alone +
                  "start the script with composer");
}

// Each of them is the launcher, whatever stands before -m.
TEST(Launchers, AreSeenBehindPythonsOptions) {
    const std::vector<std::vector<std::string>> options = {
        {},
        {"-u"},
        {"-W", "ignore"},
        {"-Wignore"},
        {"-X", "faulthandler", "-u"},
        {"-uX", "dev"},
        {"--check-hash-based-pycs", "never"},
    };
    for (std::vector<std::string> program : options) {
        program.insert(program.begin(), "python3");
        const auto shown = [&](const std::vector<std::string>& rest) {
            std::vector<std::string> whole = program;
            whole.insert(whole.end(), rest.begin(), rest.end());
            return judged("pytorch", "4(x2)", whole).substr(0, 50);
        };
        const std::string refused = "refused: distgpu: python -m torch.distributed.run:";
        EXPECT_EQ(shown({"-m", "torch.distributed.run", "train.py"}), refused);
        EXPECT_EQ(shown({"-mtorch.distributed.run", "train.py"}), refused);
        EXPECT_EQ(shown({"-um", "torch.distributed.run", "train.py"}), refused);
        EXPECT_EQ(shown({"train.py", "-m", "torch.distributed.run"}), "");
        EXPECT_EQ(shown({"-c", "torchrun", "-m", "torch.distributed.run"}), "");
        EXPECT_EQ(shown({"-m"}), "");
        EXPECT_EQ(shown({}), "");
    }
}

// One of a mode that wants options is told of the command that gives them.
TEST(Launchers, OfServersNeedExecAndTheirMode) {
    EXPECT_EQ(
        judged("pytorch", "1(x2)", {"vllm", "serve", "m"}),
        "warned: distgpu: vllm serve: --distgpu=pytorch does not set it up, so each node may "
        "train alone; use --distgpu=vllm with --ntasks-per-node=1, and distgpu exec -- before "
        "vllm serve");
    EXPECT_EQ(judged("vllm", "1(x2)", {"distgpu", "exec", "--", "vllm", "serve", "m"}), "");
    EXPECT_EQ(judged("vllm", "1(x2)", {"distgpu", "exec", "--", "python3", "my_server.py"}), "");
}

TEST(Launchers, AreSeenBehindOtherPrograms) {
    const std::string refused = "refused: distgpu: torchrun: it starts the processes of its node";
    const std::vector<std::vector<std::string>> lines = {
        {"timeout", "1h", "torchrun", "train.py"},
        {"distgpu", "exec", "--", "nice", "-n5", "torchrun", "train.py"},
        {"bash", "-c", "cd run && exec torchrun train.py"},
    };
    for (const auto& line : lines) {
        EXPECT_EQ(judged("pytorch", "4(x2)", line).substr(0, refused.size()), refused);
        EXPECT_EQ(judged("torchrun", "1(x2)", line), "");
    }
}

// Plain Python is told only where nothing else can be the launcher.
TEST(Launchers, AreMissedBehindOtherPrograms) {
    const auto missed = [](const std::vector<std::string>& line) {
        return judged("torchrun", "1(x2)", line).find("leaves the processes to a launcher") !=
               std::string::npos;
    };
    EXPECT_TRUE(missed({"python3"}));
    EXPECT_TRUE(missed({"python3", "-c", "train()"}));
    EXPECT_TRUE(missed({"timeout", "1h", "python3", "train.py"}));
    EXPECT_TRUE(missed({"uv", "run", "train.py"}));
    EXPECT_TRUE(missed({"bash", "-c", ". venv/bin/activate; python3 train.py 2>&1 | tee log"}));
    EXPECT_FALSE(missed({"bash", "-c", "python3 prepare.py; ./train"}));
    EXPECT_FALSE(missed({"bash", "-c", "python3 prepare.py && torchrun train.py"}));
    EXPECT_FALSE(missed({"bash", "-c", "python3 prepare.py || torchrun train.py"}));
    EXPECT_FALSE(missed({"bash", "-c", "for i in 1 2; do python3 train.py; done"}));
    EXPECT_FALSE(missed({"env", "A=1", "./train"}));
    EXPECT_FALSE(missed({"timeout", "1h"}));
}

TEST(Launchers, OutsideTheStepTheyAreTold) {
    const auto told = [](const std::string& object, const std::string& shell) {
        return "warned: distgpu: " + object + ": " + shell +
               " starts the program outside the step, where it has none of the variables of "
               "--distgpu=pytorch; leave " +
               shell + " out: srun starts the tasks on the nodes of the step itself";
    };
    const auto on = [](std::vector<std::string> program) {
        return judged("pytorch", "1(x2)", std::move(program));
    };
    EXPECT_EQ(on({"ssh", "n2", "python3", "train.py"}), told("ssh n2 python3 train.py", "ssh"));
    EXPECT_EQ(on({"ssh", "n2", "cd x && python3 -m package.train"}),
              told("ssh n2 cd x && python3 -m package.train", "ssh"));
    EXPECT_EQ(on({"timeout", "1h", "rsh", "n2", "./train.py"}), told("rsh n2 ./train.py", "rsh"));
    EXPECT_EQ(on({"pdsh", "-w", "n[1-2]", "torchrun", "a.py"}),
              told("pdsh -w n[1-2] torchrun a.py", "pdsh"));
    EXPECT_EQ(on({"bash", "-c", "cd x; ssh n1 hostname; exec ssh n2 python3 train.py"}),
              told("ssh n2 python3 train.py", "ssh"));
}

TEST(Launchers, OutsideTheStepMayBeMeant) {
    for (const std::vector<std::string>& program : std::vector<std::vector<std::string>>{
             {"ssh", "n2"},
             {"ssh", "n2", "nvidia-smi"},
             {"ssh", "n2", "python3", "--version"},
             {"ssh", "n2", "python3", "-c", "import torch"},
             {"ssh", "n2", "python3", "-m", "pip", "list"},
             {"ssh", "n2", "./train"},
             {"ssh", "n2", "srun", "python3", "train.py"},
             {"ssh", "n2", "distgpu", "exec", "pytorch", "--", "python3", "train.py"},
             {"git", "clone", "ssh://n2/train.py"},
             // Who hands on the variables knows.
             {"ssh", "n2", "env", "RANK=$RANK", "python3", "train.py"},
             {"ssh", "-o", "SendEnv=*", "n2", "python3", "train.py"},
             // A helper of what the task itself starts.
             {"bash", "-c", "ssh n2 python3 prepare.py; python3 train.py"},
             {"bash", "-c", "ssh n2 python3 prepare.py; ./train"},
             {"bash", "-c", "test -f a || ssh n2 python3 prepare.py"},
         }) {
        EXPECT_EQ(judged("pytorch", "1(x2)", program), "");
    }
}

constexpr std::array options{
    LauncherOption{"--nnodes", OptionMeaning::nodes, {}, "-n"},
    LauncherOption{"--node-rank", OptionMeaning::node_rank},
    LauncherOption{"--standalone", OptionMeaning::one_node},
    LauncherOption{"--no-ssh", OptionMeaning::custom},
};
constexpr Text flags = "--standalone --no-ssh --debug -v";

// "NAME=VALUE" of each, "?" for a value that a shell knows; "..." where there may be more.
std::string read(const std::vector<std::string>& words,
                 LauncherOptions launcher = {.options = options, .flags = flags}) {
    const GivenOptions given = read_options(launcher, words);
    std::string text;
    for (const GivenOption& option : given.options) {
        text += std::string(option.option->name) + "=" + option.value.value_or("?") + " ";
    }
    return text + (given.complete ? "" : "...");
}

TEST(LauncherOptions, AreReadInEverySpelling) {
    EXPECT_EQ(read({"--nnodes=2", "train.py"}), "--nnodes=2 ");
    EXPECT_EQ(read({"--nnodes", "2", "train.py"}), "--nnodes=2 ");
    EXPECT_EQ(read({"-n", "2", "train.py"}), "--nnodes=2 ");
    EXPECT_EQ(read({"-n2", "train.py"}), "--nnodes=2 ");
    EXPECT_EQ(read({"--node_rank=1", "--node-rank", "2"}), "--node-rank=1 --node-rank=2 ");
    EXPECT_EQ(read({"--standalone", "--no_ssh", "train.py"}), "--standalone= --no-ssh= ");
}

TEST(Launchers, MayLoseNodesWithARangeOfNodes) {
    const auto may_lose = [](const char* spec, std::vector<std::string> program) {
        SampleStep step(spec, "n[1-2]", "1(x2)");
        step.facts.program = std::move(program);
        return may_lose_nodes(step.view());
    };
    const char* const elastic = "torchrun,rdzv=c10d";
    EXPECT_TRUE(may_lose(elastic, {"torchrun", "--nnodes=1:2", "train.py"}));
    EXPECT_TRUE(may_lose(elastic, {"torchrun", "--nnodes", "1:2", "train.py"}));
    EXPECT_TRUE(may_lose(elastic, {"bash", "-c", "torchrun --nnodes=$MIN:$MAX train.py"}));
    EXPECT_FALSE(may_lose(elastic, {"torchrun", "--nnodes=2:2", "train.py"}));
    EXPECT_FALSE(may_lose(elastic, {"torchrun", "--nnodes=2", "train.py"}));
    EXPECT_FALSE(may_lose(elastic, {"torchrun", "train.py", "--nnodes=1:2"}));
    EXPECT_FALSE(may_lose("pytorch", {"python3", "train.py"}));
}

TEST(LauncherOptions, EndWithTheScript) {
    EXPECT_EQ(read({"train.py", "--nnodes=2"}), "");
    EXPECT_EQ(read({"--debug", "train", "--nnodes=2"}), "");
    EXPECT_EQ(read({"--other", "value", "--nnodes=2", "train"}), "--nnodes=2 ");
    // One that is not known may have no value.
    EXPECT_EQ(read({"--other", "train.py", "--nnodes=2"}), "");
    EXPECT_EQ(read({"train.py", "--nnodes=2"},
                   {.options = options, .flags = flags, .reads_after_script = true}),
              "--nnodes=2 ");
}

TEST(LauncherOptions, AreAbbreviatedWhereOnlyOneIsMeant) {
    EXPECT_EQ(read({"--nn=2", "--stand", "train.py"}), "--nnodes=2 --standalone= ");
    EXPECT_EQ(read({"--no=2", "train.py"}), "");
    EXPECT_EQ(read({"--nn=2"}, {.options = options, .flags = flags, .allows_abbreviations = false}),
              "");
}

TEST(LauncherOptions, OfAShellAreNotKnown) {
    EXPECT_EQ(read({"--nnodes=$SLURM_NNODES", "--node-rank", "`id`", "a"}),
              "--nnodes=? --node-rank=? ");
    EXPECT_EQ(read({"--nnodes=2", "$OPTIONS", "--node-rank=1"}), "--nnodes=2 ...");
    EXPECT_EQ(read({"--nnodes=2", "$HOME/train.py", "--node-rank=1"}), "--nnodes=2 ");
    const GivenOptions open =
        read_options({.options = options, .flags = flags}, std::vector<std::string>{"$OPTIONS"});
    EXPECT_FALSE(open.lacks("--nnodes"));
}

}  // namespace
}  // namespace distgpu
