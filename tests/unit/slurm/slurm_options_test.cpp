// Options of srun and sbatch, and what they say of the step.
#include "slurm/slurm_options.h"

#include "base/values.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;

// The words of a line, which has one blank between two of them.
Words words(std::string_view line) {
    Words words;
    while (!line.empty()) words.emplace_back(cut_until(line, ' '));
    return words;
}

// "nodes=2 label= | a b", with what the program is behind the bar; '?' marks an unknown option, '!'
// one that lacks its value.
std::string read(std::string_view line) {
    const Words all = words(line);
    const bool is_job = line.starts_with("sbatch");
    const SlurmLine parsed =
        parse_slurm_line(all, is_job ? SlurmCommand::sbatch : SlurmCommand::srun);
    std::string text;
    for (const SlurmOption& option : parsed.options.list) {
        if (option.kind == SlurmOption::Kind::unknown) text += '?';
        if (option.kind == SlurmOption::Kind::lacks_value) text += '!';
        text += option.name + '=' + option.value + ' ';
    }
    text += '|';
    for (std::size_t i = parsed.program; i < all.size(); ++i) text += ' ' + all[i];
    return text;
}

TEST(SlurmOptions, AreReadAsGetoptReadsThem) {
    struct Row {
        const char* line;
        const char* options;
    };
    for (const Row& row : {
             Row{"srun --nodes=2 --label a", "nodes=2 label= | a"},
             {"srun --nodes 2 --label a", "nodes=2 label= | a"},
             {"srun -N2 -l a", "nodes=2 label= | a"},
             {"srun -N 2 --lab a", "nodes=2 label= | a"},
             {"srun -luN2 -QKn 4 a", "label= unbuffered= nodes=2 quiet= kill-on-bad-exit=n | 4 a"},
             // The program is the first word behind them.
             {"srun -N2 a -n4", "nodes=2 | a -n4"},
             {"srun -N2 -- -a", "nodes=2 | -a"},
             {"srun --nice a", "nice= | a"},
             {"srun --exclusive=user -K0 a", "exclusive=user kill-on-bad-exit=0 | a"},
             {"srun -N2", "nodes=2 |"},
             {"srun", "|"},
             {"", "|"},
             // A value is no option.
             {"srun --comment -n4 -J --distgpu=pytorch --accel-bind gn --wait --exclude a",
              "comment=-n4 job-name=--distgpu=pytorch accel-bind=gn wait=--exclude | a"},
             {"srun -n4 -N", "ntasks=4 !nodes= |"},
             // Names may be short; other names of an option, and what is shared by other options'.
             {"srun --cpu-b none a", "cpu-bind=none | a"},
             {"srun --cpu-bin none a", "cpu-bind=none | a"},
             {"srun --cpu-bind none a", "cpu-bind=none | a"},
             {"srun --cpu_ none a", "cpu-bind=none | a"},
             {"srun --cpu_bind none a", "cpu-bind=none | a"},
             {"srun --tasks-per-n=4", "ntasks-per-node=4 |"},
             {"srun --pack-group=0", "het-group=0 |"},
             {"srun --conta=/image", "container=/image |"},
             {"srun --container-image=a", "container-image=a |"},
             {"srun --cpu=4 a", "?cpu=4 | a"},
             {"srun --cont=a", "?cont=a |"},
             {"srun --ntasks-per=2", "?ntasks-per=2 |"},
             {"srun --no=2", "?no=2 |"},
             {"srun --=2", "?=2 |"},
             // They are those of the command.
             {"sbatch -W --wait-all-nodes 1 job", "wait= wait-all-nodes=1 | job"},
             {"srun -W 60 a", "wait=60 | a"},
             {"sbatch --cpu-bind=none", "?cpu-bind=none |"},
             // Of another plugin: whether the next word is the value, only that knows.
             {"srun --uenv=pytorch -N2 a", "?uenv=pytorch nodes=2 | a"},
             {"srun --uenv pytorch -N2 a", "?uenv=pytorch nodes=2 | a"},
             {"srun --fast -N2 a", "?fast= nodes=2 | a"},
         }) {
        EXPECT_EQ(read(row.line), row.options) << row.line;
    }
}

TEST(SlurmOptions, AnUnknownOneMayHideTheProgram) {
    const auto is_certain = [](std::string_view line) {
        return parse_slurm_line(words(line), SlurmCommand::srun).has_certain_program();
    };
    EXPECT_TRUE(is_certain("srun --uenv=pytorch -N2 a"));
    EXPECT_FALSE(is_certain("srun --uenv pytorch -N2 a"));
}

TEST(SlurmOptions, TheLastOneCounts) {
    const auto options = srun_options(words("srun -N2 -n4 --nodes=3 a"));
    EXPECT_EQ(options.value("nodes"), "3");
    EXPECT_EQ(options.value("gpus"), std::nullopt);
    EXPECT_TRUE(options.has("nodes"));
    EXPECT_FALSE(srun_options(words("srun -n4 -N")).has("nodes"));
}

TEST(SlurmOptions, MisspeltOnesAreNearToOthers) {
    EXPECT_EQ(nearest_slurm_option("nods", SlurmCommand::srun), "nodes");
    EXPECT_EQ(nearest_slurm_option("segments", SlurmCommand::sbatch), "segment");
    for (const char* of_a_plugin : {"image", "auto-resume", "uenv", "view", "volume", "ssh"}) {
        EXPECT_EQ(nearest_slurm_option(of_a_plugin, SlurmCommand::sbatch), std::nullopt);
    }
}

// ---- srun's command lines, as 22.05's srun reads them.

using Arguments = Words;

// Of `srun OPTIONS... ./train --epochs 3` and an unset SLURM_CPU_BIND.
bool chosen_by(Arguments options) {
    options.insert(options.begin(), "srun");
    options.insert(options.end(), {"./train", "--epochs", "3"});
    return chooses_cpus(srun_options(options, 3), "");
}

TEST(ChoosesCpus, ByTheOptionAndTheVariable) {
    for (const char* value : {"cores", "none", "map_cpu:0,4", "verbose,cores", "v,q,none",
                              "verbose,mask_cpu:0x3,0xc"}) {
        // The old spelling is an option of its own, hidden from the manual.
        for (const std::string option : {"--cpu-bind", "--cpu_bind"}) {
            EXPECT_TRUE(chosen_by({option, value})) << option << value;
        }
        EXPECT_TRUE(chooses_cpus({}, value)) << value;
    }
    EXPECT_TRUE(chosen_by({"-n", "4", "--cpu-bind=cores", "--distgpu=pytorch"}));
    // The last of several holds for srun; one of them is a choice nevertheless.
    EXPECT_TRUE(chosen_by({"--cpu-bind=cores", "--cpu-bind=verbose"}));
    EXPECT_TRUE(chosen_by({"--cpu-bind=verbose", "--cpu-bind=cores"}));
}

TEST(ChoosesCpus, NotByAReportOrOtherOptions) {
    for (const char* value : {"verbose", "v", "quiet", "q", "quiet,verbose", ""}) {
        EXPECT_FALSE(chosen_by({std::string("--cpu-bind=") + value})) << value;
        EXPECT_FALSE(chosen_by({"--cpu-bind", value})) << value;
        EXPECT_FALSE(chooses_cpus({}, value)) << value;
    }
    EXPECT_FALSE(chosen_by({}));
    for (const char* option :
         {"-n4", "--cpu-freq=high", "--cpus-per-task=4", "--mem-bind=local", "--gpu-bind=closest",
          "--cpu-bindings=cores", "-cpu-bind=cores", "--job-name=--cpu-bind"}) {
        EXPECT_FALSE(chosen_by({option})) << option;
    }
}

// Neither the program's own arguments nor what /proc did not tell count, but each component does.
TEST(ChoosesCpus, BeforeTheProgramOfAnyComponent) {
    struct Row {
        Arguments line;
        std::size_t program;
        bool chooses;
    };
    const Arguments numactl{"srun", "-n4", "numactl", "--cpu-bind=cores", "--cpu-bind", "none"};
    const Arguments second{"srun", "-n1", "a", ":", "-n1", "--cpu-bind=none", "b", "c"};
    for (const Row& row : {Row{numactl, 4, false},
                           {numactl, 0, false},
                           // The option's value is not the program's first argument.
                           {{"srun", "--cpu-bind", "cores"}, 2, false},
                           {second, 0, true},
                           {second, 2, true},
                           {{"srun", "-n1", "a", ":", "-n1", "b", "--cpu-bind=none"}, 0, false},
                           {{}, 0, false},
                           {{}, 3, false},
                           {{"--cpu-bind=cores"}, 3, false}}) {
        EXPECT_EQ(chooses_cpus(srun_options(row.line, row.program), ""), row.chooses)
            << testing::PrintToString(row.line);
    }
}

TEST(ProgramsInFile, AreThoseOfMultiProg) {
    // SPANK has the name of the file, its text and the file's arguments.
    const Arguments line{"srun", "-n2", "--multi-prog", "file"};
    EXPECT_TRUE(srun_options(line, 2).has("multi-prog"));
    const std::vector<Arguments> programs = {{"python3", "train.py"}, {"torchrun", "a.py"}};
    EXPECT_EQ(programs_in("# tasks\n\n0-3  python3 train.py # all\n * torchrun a.py\n5\n"),
              programs);
    EXPECT_TRUE(programs_in("").empty());
}

TEST(SrunOptions, TellWhatOfTheSizeTheUserChose) {
    const auto expect_chosen = [](const ChosenSize& size, const std::vector<const char*>& lines) {
        for (const char* line : lines) {
            const Words all = words(std::string("srun ") + line);
            EXPECT_EQ(chosen_size(srun_options(all)), size) << line;
        }
    };
    expect_chosen({}, {"--distgpu=pytorch -J n -l -u", "--exclusive", "--job-name=n", "-JN -on",
                       "--comment -n4 -J --gpus", "program -N2 --ntasks=4"});
    expect_chosen({.nodes = true}, {"-N2", "--nodelist=node02", "-w node02", "--relative=1",
                                    "--exclude=node02", "--jobid=7"});
    expect_chosen({.tasks = true}, {"-n 4", "--ntasks-per-node=4", "--tasks-per-node=4"});
    expect_chosen({.nodes = true, .tasks = true}, {"-luN2 -Qn4"});
    expect_chosen({.gpus = true}, {"--gres=gpu:4", "--gpus-per-task=1", "-G4"});
}

TEST(SrunOptions, TellWhatTheTasksGetOfTheEnvironment) {
    struct Row {
        Arguments options;
        const char* variable;
        bool hands_on;  // srun's own environment, as it is
        bool sets;      // another MASTER_ADDR
    };
    for (Row row : {Row{{}, "", true, false},
                    {{}, "ALL", true, false},
                    {{"--export=ALL"}, "ALL", true, false},
                    {{"--export", "ALL"}, "", true, false},
                    {{"--export=NONE"}, "", false, false},
                    {{"--exp", "NONE"}, "", false, false},
                    {{"--export=ALL,MASTER_ADDR=node01"}, "", false, true},
                    {{}, "NONE", false, false},
                    // srun reads the variable before the option.
                    {{"--export=ALL"}, "NONE", true, false},
                    {{"sh", "--export=NONE"}, "", true, false},
                    {{"--export", "MASTER_ADDR=node01"}, "", false, true},
                    {{"--expo=A=1,MASTER_ADDR="}, "", false, true},
                    {{}, "A=1,MASTER_ADDR=node01", false, true},
                    {{"--export=ALL,PET_MASTER_ADDR=node01"}, "", false, false},
                    {{"--export=MASTER_ADDR"}, "", false, false},
                    {{"--exclusive", "--export=NONE"}, "ALL", false, false},
                    {{"sh", "--export=MASTER_ADDR=n"}, "", true, false}}) {
        row.options.insert(row.options.begin(), "srun");
        const SlurmOptions options = srun_options(row.options);
        const std::string title = testing::PrintToString(row.options) + row.variable;
        EXPECT_EQ(passes_full_environment(options, row.variable), row.hands_on) << title;
        EXPECT_EQ(export_sets(options, row.variable, "MASTER_ADDR"), row.sets) << title;
    }
}

TEST(RequestedGpus, OfAllNodesTogether) {
    const auto asked = [](const std::string& options) {
        return requested_gpus(srun_options(words("srun " + options + " ./train -G 3"), 3));
    };
    for (const char* options :
         {"--gpus=6", "--gpus 6", "-G6", "--gpus=h100:6", "--gpus=2 -n4 --gpus=6"}) {
        EXPECT_EQ(asked(options), 6U) << options;
    }
    for (const char* options :
         {"-l", "--gpus-per-node=6", "--gres=gpu:6", "--gpus=a:2,b:4", "--gpu-bind=none"}) {
        EXPECT_EQ(asked(options), std::nullopt) << options;
    }
    EXPECT_EQ(requested_gpus(srun_options(words("srun -G"))), std::nullopt);
}

// ---- Which steps belong to another launcher, and not to the user.

TEST(MpiDaemon, DaemonsOfMpirunAreForeign) {
    for (const char* daemon :
         {"orted", "prted", "hydra_pmi_proxy", "hydra_bstrap_proxy", "pmi_proxy"}) {
        EXPECT_TRUE(is_mpi_daemon(Arguments{daemon})) << daemon;
        EXPECT_TRUE(is_mpi_daemon(Arguments{std::string("/opt/mpi/bin/") + daemon, "-mca"}))
            << daemon;
        EXPECT_TRUE(is_mpi_daemon(Arguments{std::string("./") + daemon})) << daemon;
    }
}

TEST(MpiDaemon, EverythingElseIsTheUsers) {
    EXPECT_FALSE(is_mpi_daemon({}));
    EXPECT_FALSE(is_mpi_daemon(Arguments{""}));
    for (const char* line : {"/", "python3 train.py", "/usr/bin/python3 orted", "orted.py",
                             "my_orted", "orted/train", "ORTED", "prterun", "mpirun"}) {
        EXPECT_FALSE(is_mpi_daemon(words(line))) << line;
    }
}

}  // namespace
}  // namespace distgpu
