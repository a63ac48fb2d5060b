// SPEC = MODE[,KEY[=VALUE]]...: what is read, what is refused with which words.
#include "mapping/spec/parse_spec.h"

#include "base/format.h"
#include "mapping/frameworks/framework.h"
#include "mapping/request/request.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace distgpu {
namespace {

// The lists of all modes and all keys grow with each framework.
std::string all_modes() {
    std::string text = "modes are ";
    for (const Framework* framework : frameworks()) {
        text += formatted("{}, ", framework->mode);
        for (const std::string_view alias : framework->aliases) text += formatted("{}, ", alias);
    }
    return text + "off, help";
}

std::string all_keys() {
    std::string text = "keys are ";
    for (const SpecKey& key : spec_keys()) {
        text += formatted("{}{}", key.name == spec_keys().front().name ? "" : ", ", key.name);
    }
    return text;
}

struct Refusal {
    const char* title;
    std::string spec;
    std::string message;  // without "distgpu: --distgpu=" and the SPEC
};

void expect_refusals(const std::vector<Refusal>& rows) {
    for (const auto& row : rows) {
        const auto request = parse_spec("--distgpu", row.spec);
        ASSERT_FALSE(request) << row.title;
        EXPECT_EQ(request.error().message(), "distgpu: --distgpu=" + row.spec + ": " + row.message)
            << row.title;
    }
}

TEST(Spec, ReadsModes) {
    for (const Framework* framework : frameworks()) {
        const auto request = parse_spec("--distgpu", framework->mode);
        ASSERT_TRUE(request) << framework->mode;
        Request expected;
        expected.framework = framework;
        expected.mode = framework->mode;
        EXPECT_EQ(*request, expected) << framework->mode;
    }
    const auto off = parse_spec("--distgpu", "off");
    ASSERT_TRUE(off);
    EXPECT_EQ(*off, Request{});
    const auto help = parse_spec("--distgpu", "help");
    ASSERT_TRUE(help);
    Request expected;
    expected.help = true;
    EXPECT_EQ(*help, expected);
}

TEST(Spec, ReadsKeysInAnyOrder) {
    struct Row {
        const char* title;
        std::string spec;
        void (*expect)(Request&);
    };
    using Form = Master::Form;
    const std::vector<Row> rows = {
        {"the first port of users", "pytorch,port=1024", [](Request& r) { r.port = 1024; }},
        {"the last port", "pytorch,port=65535", [](Request& r) { r.port = 65535; }},
        {"a host", "pytorch,master=fd00::1",
         [](Request& r) {
             r.master = Master{Form::host, "fd00::1"};
         }},
        {"a suffix", "pytorch,master=suffix:i",
         [](Request& r) {
             r.master = Master{Form::suffix, "i"};
         }},
        {"one process", "torchrun,nproc=1",
         [](Request& r) {
             r.framework = find_framework("torchrun");
             r.nproc = 1;
         }},
        {"the most processes", "torchrun,nproc=4096",
         [](Request& r) {
             r.framework = find_framework("torchrun");
             r.nproc = 4096;
         }},
        {"Slurm's order", "pytorch,order=slurm", [](Request& r) { r.order = RankOrder{}; }},
        {"by switch", "pytorch,order=switch",
         [](Request& r) { r.order = RankOrder{RankOrder::Source::switches}; }},
        {"by a file", "pytorch,order=./my ring",
         [](Request& r) {
             r.order = RankOrder{RankOrder::Source::file, "./my ring"};
         }},
        {"by a variable", "pytorch,order=$MY_NODES2",
         [](Request& r) {
             r.order = RankOrder{RankOrder::Source::variable, "MY_NODES2"};
         }},
        {"Slurm's order of what has no other", "jax,order=slurm",
         [](Request& r) {
             r.framework = find_framework("jax");
             r.order = RankOrder{};
         }},
        {"threads as they are", "pytorch,omp=keep", [](Request& r) { r.keep_omp = true; }},
        {"threads from the CPUs", "pytorch,omp=auto", [](Request& /*r*/) {}},
        {"roles", "tensorflow,chief=1,ps=2,evaluator=1",
         [](Request& r) {
             r.framework = find_framework("tensorflow");
             r.chief = 1;
             r.ps = 2;
             r.evaluator = 1;
         }},
        {"a word alone", "pytorch,dry-run", [](Request& r) { r.dry_run = true; }},
        {"another word alone", "pytorch,verbose", [](Request& r) { r.verbose = true; }},
        {"everything, the last key first", "torchrun,verbose,dry-run,nproc=8,master=name,port=2000",
         [](Request& r) {
             r.framework = find_framework("torchrun");
             r.port = 2000;
             r.master = Master{Form::name, ""};
             r.nproc = 8;
             r.dry_run = true;
             r.verbose = true;
         }},
        {"off takes keys too", "off,verbose",
         [](Request& r) {
             r.framework = nullptr;
             r.verbose = true;
         }},
    };
    for (const auto& row : rows) {
        Request expected;
        expected.framework = find_framework("pytorch");
        row.expect(expected);
        if (expected.framework != nullptr) expected.mode = expected.framework->mode;
        const auto request = parse_spec("--distgpu", row.spec);
        ASSERT_TRUE(request) << row.title;
        EXPECT_EQ(*request, expected) << row.title;
    }
}

TEST(Spec, UnknownModesAreRefused) {
    expect_refusals({
        {"two letters swapped", "pytroch", "unknown mode; did you mean 'pytorch'?"},
        {"two letters swapped at the end", "pytorhc", "unknown mode; did you mean 'pytorch'?"},
        {"a letter too few", "torchrn", "unknown mode; did you mean 'torchrun'?"},
        {"the project's own spelling", "PyTorch", "unknown mode; did you mean 'pytorch'?"},
        {"a blank", " pytorch", "unknown mode; did you mean 'pytorch'?"},
        {"a misspelt mode before keys", "pytorhc,port=2000",
         "unknown mode; did you mean 'pytorch'?"},
        {"nothing near", "qqqqqqq", "unknown mode; " + all_modes()},
        {"a key in the mode's place", "port=2000", "unknown mode; " + all_modes()},
        {"inherited without a value", "(null)", "unknown mode; " + all_modes()},
        {"nothing", "", "no mode; " + all_modes()},
        {"keys without a mode", ",port=2000", "no mode; " + all_modes()},
    });
}

TEST(Spec, OtherNamesOfModesGetOurs) {
    const auto meant = [](const char* mode) {
        return "unknown mode; did you mean '" + std::string(mode) + "'?";
    };
    expect_refusals({
        {"what pytorch calls it", "ddp", meant("pytorch")},
        {"in capitals", "DDP", meant("pytorch")},
        {"sharded", "fsdp", meant("pytorch")},
        {"the module", "torch", meant("pytorch")},
        {"the module of torchrun", "torch.distributed.run", meant("torchrun")},
        {"the maker", "huggingface", meant("accelerate")},
        {"its letters", "hf", meant("accelerate")},
        {"with an underscore", "pytorch_lightning", meant("lightning")},
        {"the launcher", "mpirun", meant("ompi")},
        {"before keys", "ddp,port=2000", meant("pytorch")},
    });
    for (const char* accepted : {"tf", "mpi", "transformers"}) {
        EXPECT_TRUE(parse_spec("--distgpu", accepted)) << accepted;
    }
}

TEST(Spec, TwoModesAreOneTooMany) {
    expect_refusals({
        {"a process for each GPU, and a launcher", "pytorch,torchrun",
         "pytorch and torchrun are both modes, and a step has one; write pytorch for one process "
         "per task, or torchrun for one launcher per node"},
        {"behind a key", "torchrun,port=2000,pytorch",
         "torchrun and pytorch are both modes, and a step has one; write torchrun for one launcher "
         "per node, or pytorch for one process per task"},
        {"of one kind", "pytorch,lightning",
         "pytorch and lightning are both modes, and a step has one; write one of the two"},
        {"a server", "vllm,ray",
         "vllm and ray are both modes, and a step has one; write one of the two"},
        {"aliases", "tf,mpi",
         "tf and mpi are both modes, and a step has one; write one of the two"},
        {"what others call it", "lightning,DDP",
         "lightning and pytorch ('DDP') are both modes, and a step has one; write one of the two"},
        {"off", "pytorch,off",
         "pytorch and off are both modes, and a step has one; write one of the two"},
        {"behind off", "off,jax",
         "off and jax are both modes, and a step has one; write one of the two"},
        {"with another sign", "pytorch+torchrun",
         "pytorch and torchrun are both modes, and a step has one; write pytorch for one process "
         "per task, or torchrun for one launcher per node"},
        {"the same", "pytorch,pytorch", "pytorch names the mode a second time; give it once"},
        {"the same by another name", "pytorch,ddp",
         "pytorch ('ddp') names the mode a second time; give it once"},
        {"the same by its alias", "tensorflow,tf", "tf names the mode a second time; give it once"},
    });
}

TEST(Spec, OtherNamesOfKeysGetOurs) {
    const auto meant = [](const std::string& key, const std::string& ours) {
        return "unknown key '" + key + "'; did you mean '" + ours + "'?";
    };
    expect_refusals({
        {"torchrun's option", "pytorch,master-port=2000", meant("master-port", "port")},
        {"as a variable", "pytorch,MASTER_PORT=2000", meant("MASTER_PORT", "port")},
        {"the address", "pytorch,master_addr=n1", meant("master_addr", "master")},
        {"the processes", "torchrun,nproc-per-node=4", meant("nproc-per-node", "nproc")},
        {"one letter", "pytorch,v", meant("v", "verbose")},
    });
}

// Whose processes have ranks that no variable of ours gives them.
TEST(Spec, AnOrderIsRefusedWhereItWouldChangeNothing) {
    const std::string no_change = ", which 'order' does not change; ";
    expect_refusals({
        {"JAX", "jax,order=switch",
         "JAX takes its ranks from SLURM_PROCID" + no_change + "leave it out"},
        {"Lightning's task for each device", "lightning,order=./ring",
         "Lightning takes its ranks from SLURM_PROCID" + no_change +
             "use lightning,per-node with --ntasks-per-node=1, or leave it out"},
        {"MPI", "mpi,order=$NODES",
         "MPI numbers its processes itself" + no_change + "leave it out"},
        {"Horovod over MPI", "horovod,order=switch",
         "Horovod takes its ranks from MPI" + no_change +
             "use horovod,backend=gloo, or leave it out"},
        {"Horovod over MPI by name", "horovod,order=switch,backend=mpi",
         "Horovod takes its ranks from MPI" + no_change +
             "use horovod,backend=gloo, or leave it out"},
        {"c10d", "torchrun,order=switch,rdzv=c10d",
         "with rdzv=c10d the launchers agree on their ranks among themselves" + no_change +
             "use rdzv=static, the default, or leave it out"},
    });
    for (const char* spec :
         {"pytorch,order=switch", "torchrun,order=switch", "lightning,per-node,order=switch",
          "accelerate,order=switch", "accelerate,per-node,order=switch", "deepspeed,order=switch",
          "deepspeed,per-node,order=switch", "megatron,order=switch", "composer,order=switch",
          "horovod,backend=gloo,order=switch", "tensorflow,order=switch"}) {
        EXPECT_TRUE(parse_spec("--distgpu", spec)) << spec;
    }
}

TEST(Spec, AnotherSeparatorIsNamed) {
    expect_refusals({
        {"a colon", "pytorch:verbose", "unknown mode; write pytorch,verbose"},
        {"a blank", "pytorch verbose", "unknown mode; write pytorch,verbose"},
        {"an equals sign", "pytorch=verbose", "unknown mode; write pytorch,verbose"},
        {"before a comma", "pytorch:verbose,port=2000",
         "unknown mode; write pytorch,verbose,port=2000"},
        {"in the place of a comma", "pytorch,verbose:port=2000",
         "unknown key 'verbose:port'; write verbose,port=2000"},
        {"in the place of an equals sign", "pytorch,port:2000",
         "unknown key 'port:2000'; write port=2000"},
        {"after no mode", "qqqqqqq:verbose", "unknown mode; " + all_modes()},
    });
}

TEST(Spec, UnknownKeysAreRefused) {
    // "--distgpu=pytorch, verbose"
    const std::string no_key =
        "no key after a comma; leave the comma out, or write the key after it without a space";
    expect_refusals({
        {"two letters swapped", "pytorch,prot=1", "unknown key 'prot'; did you mean 'port'?"},
        {"a letter too few", "pytorch,mastr=x", "unknown key 'mastr'; did you mean 'master'?"},
        {"without its hyphen", "pytorch,dryrun", "unknown key 'dryrun'; did you mean 'dry-run'?"},
        {"upper case", "pytorch,Verbose", "unknown key 'Verbose'; did you mean 'verbose'?"},
        {"a blank", "pytorch, verbose", "unknown key ' verbose'; did you mean 'verbose'?"},
        {"nothing near", "pytorch,qqqqqqq=1", "unknown key 'qqqqqqq'; " + all_keys()},
        {"nothing after the comma", "pytorch,", no_key},
        {"nothing between commas", "pytorch,,verbose", no_key},
        {"a value without a key", "pytorch,=5", "unknown key ''; " + all_keys()},
        {"off does not excuse it", "off,prot=1", "unknown key 'prot'; did you mean 'port'?"},
        {"help does not excuse it", "help,prot=1", "unknown key 'prot'; did you mean 'port'?"},
    });
}

TEST(Spec, MisusedKeysAreRefused) {
    expect_refusals({
        {"no value", "pytorch,port", "key 'port' needs a value; write port=N"},
        {"no host", "pytorch,master",
         "key 'master' needs a value; write master=addr|name|suffix:S|HOST"},
        {"a value too much", "pytorch,verbose=1",
         "key 'verbose' takes no value; write 'verbose' alone"},
        {"an empty value too much",
         "pytorch,dry-run=", "key 'dry-run' takes no value; write 'dry-run' alone"},
        {"twice, unlike", "pytorch,port=2000,port=3000", "key 'port' given twice; give it once"},
        {"twice, alike", "pytorch,verbose,verbose", "key 'verbose' given twice; give it once"},
        {"twice, apart", "pytorch,verbose,port=2000,verbose",
         "key 'verbose' given twice; give it once"},
    });
}

TEST(Spec, KeysOfOtherFrameworksAreRefused) {
    expect_refusals({
        {"one taker", "pytorch,chief=1", "key 'chief' is not for pytorch; it is for tensorflow"},
        {"several takers", "megatron,nproc=2",
         "key 'nproc' is not for megatron; it is for pytorch, torchrun, lightning, accelerate, "
         "deepspeed, composer, ompi"},
        {"a word alone", "composer,per-node",
         "key 'per-node' is not for composer; it is for pytorch, lightning, accelerate, "
         "deepspeed, ompi"},
        {"by an alias", "tf,backend=gloo",
         "key 'backend' is not for tensorflow; it is for horovod"},
        {"even with a bad value", "megatron,rdzv=x",
         "key 'rdzv' is not for megatron; it is for torchrun"},
    });
    EXPECT_TRUE(parse_spec("--distgpu", "off,chief=1,per-node,backend=gloo"));
}

TEST(Spec, NprocWithoutALauncherIsRefused) {
    expect_refusals({
        {"the launcher is another mode", "pytorch,nproc=4",
         "nproc is for a launcher, but pytorch has a task for each process; write "
         "torchrun,nproc=4 with --ntasks-per-node=1, or leave nproc out and use "
         "--ntasks-per-node=4"},
        {"the launcher is a key", "transformers,nproc=2,verbose",
         "nproc is for a launcher, but transformers has a task for each process; write "
         "accelerate,per-node,nproc=2 with --ntasks-per-node=1, or leave nproc out and use "
         "--ntasks-per-node=2"},
    });
    EXPECT_TRUE(parse_spec("--distgpu", "off,nproc=4"));
}

TEST(Spec, MessagesNameTheModeAsItWasWritten) {
    const auto option = [](const char* spec) {
        const auto request = parse_spec("--distgpu", spec);
        return request ? option_of(*request) : request.error().message();
    };
    EXPECT_EQ(option("tf,verbose"), "--distgpu=tf");
    EXPECT_EQ(option("pytorch,port=2000,per-node"), "--distgpu=pytorch,per-node");
    EXPECT_EQ(option("torchrun,rdzv=c10d"), "--distgpu=torchrun,rdzv=c10d");
    EXPECT_EQ(option("lightning,per-node,nproc=2"), "--distgpu=lightning,per-node");
    Request made;
    made.framework = find_framework("jax");
    EXPECT_EQ(option_of(made), "--distgpu=jax");
}

TEST(Spec, AKeyMayTakeAnotherContract) {
    struct Row {
        const char* spec;
        const char* mode;
    };
    const std::vector<Row> rows = {
        {"lightning,per-node", "lightning,per-node"},
        {"lightning,nproc=2,per-node,verbose", "lightning,per-node"},
        {"transformers,per-node", "accelerate,per-node"},
        {"pytorch,per-node", "torchrun"},
        {"torchrun,rdzv=static", "torchrun"},
        {"torchrun,rdzv=c10d,nproc=2", "torchrun,rdzv=c10d"},
        {"horovod,backend=mpi", "horovod"},
        {"horovod,backend=gloo", "horovod,backend=gloo"},
    };
    for (const auto& row : rows) {
        const auto request = parse_spec("--distgpu", row.spec);
        ASSERT_TRUE(request) << row.spec;
        EXPECT_EQ(request->framework->mode, row.mode) << row.spec;
    }
}

TEST(Spec, ValuesOutOfBoundsAreRefused) {
    const std::string no_port =
        ": not a port that a user may listen on; give a number from 1024 to 65535";
    const std::string no_host =
        ": not a host name or address; give addr, name, suffix:S, or a host (its port is port=N)";
    const std::string no_order =
        ": no order of the nodes; give slurm, switch, a file with its path (./FILE), or '$NAME' of "
        "a variable";
    const std::string no_count = ": not a number of processes; give a number from 1 to 4096";
    expect_refusals({
        {"an empty port", "pytorch,port=", "port=" + no_port},
        {"a privileged port", "pytorch,port=1023", "port=1023" + no_port},
        {"past the last port", "pytorch,port=65536", "port=65536" + no_port},
        {"a port and an equals sign", "pytorch,port=2000=1", "port=2000=1" + no_port},
        {"an empty host", "pytorch,master=", "master=" + no_host},
        {"an empty suffix", "pytorch,master=suffix:", "master=suffix:" + no_host},
        {"no process", "torchrun,nproc=0", "nproc=0" + no_count},
        {"a negative number of processes", "torchrun,nproc=-1", "nproc=-1" + no_count},
        {"too many processes", "torchrun,nproc=4097", "nproc=4097" + no_count},
        {"2^32 + 1 processes", "torchrun,nproc=4294967297", "nproc=4294967297" + no_count},
        {"torchrun's own word", "torchrun,nproc=gpu", "nproc=gpu" + no_count},
        {"no rendezvous of torchrun's", "torchrun,rdzv=etcd",
         "rdzv=etcd: unknown value; give rdzv=static or rdzv=c10d"},
        {"no back end",
         "horovod,backend=", "backend: unknown value; give backend=mpi or backend=gloo"},
        {"omp by number", "pytorch,omp=4", "omp=4: unknown value; give auto or keep"},
        {"a file without a slash", "pytorch,order=ring", "order=ring" + no_order},
        {"no name", "pytorch,order=$", "order=$" + no_order},
        {"a shell's other forms", "pytorch,order=${NODES}", "order=${NODES}" + no_order},
        {"an empty order", "pytorch,order=", "order=" + no_order},
        {"two chiefs", "tf,chief=2",
         "chief=2: not a valid number of tasks; give a number from 0 to 1"},
        {"a negative server", "tf,ps=-1",
         "ps=-1: not a valid number of tasks; give a number from 0 to 10000"},
        {"two evaluators", "tf,evaluator=2",
         "evaluator=2: not a valid number of tasks; give a number from 0 to 1"},
        {"the first wrong key is named", "pytorch,port=1,master=", "port=1" + no_port},
    });
}

TEST(Spec, ControlCharactersAreEchoedAsQuestionMarks) {
    struct Row {
        std::string spec;
        std::string message;
    };
    const std::vector<Row> rows = {
        {"pytorch\n", "pytorch?: unknown mode; did you mean 'pytorch'?"},
        {"\x1b[2Jqqqqqqq", "?[2Jqqqqqqq: unknown mode; " + all_modes()},
        {"pytorch,\aqqqqqqq", "pytorch,?qqqqqqq: unknown key '?qqqqqqq'; " + all_keys()},
        {"pytorch,port=\t1",
         "pytorch,port=?1: port=?1: not a port that a user may listen on; give a number from 1024 "
         "to 65535"},
    };
    for (const auto& row : rows) {
        const auto request = parse_spec("SLURM_DISTGPU", row.spec);
        ASSERT_FALSE(request);
        EXPECT_EQ(request.error().message(), "distgpu: SLURM_DISTGPU=" + row.message);
    }
}

// A word of a command line that no option stands before.
TEST(Spec, AWordAloneIsNamedAsItWasTyped) {
    EXPECT_EQ(parse_spec("", "pytroch").error().message(),
              "distgpu: pytroch: unknown mode; did you mean 'pytorch'?");
    EXPECT_EQ(parse_spec("", "").error().object, "''");
    EXPECT_EQ(parse_spec("", "python3").error().message(),
              "distgpu: python3: a program, and no mode; give a mode, such as pytorch");
    EXPECT_EQ(parse_spec("SLURM_DISTGPU", "python3").error().message(),
              "distgpu: SLURM_DISTGPU=python3: a program, and no mode; give a mode, as in "
              "SLURM_DISTGPU=pytorch");
    EXPECT_EQ(parse_spec("", std::string(max_spec_length + 1, 'q')).error().object.substr(0, 3),
              "qqq");
}

TEST(Spec, LongTextIsShortenedAndBounded) {
    const auto word = parse_spec("--distgpu", std::string(max_spec_length, 'q'));
    ASSERT_FALSE(word);
    const std::string shortened = std::string(57, 'q') + "...";
    EXPECT_EQ(word.error().message(),
              "distgpu: --distgpu=" + shortened + ": unknown mode; " + all_modes());
    const auto key = parse_spec("--distgpu", "pytorch," + std::string(100, 'q'));
    ASSERT_FALSE(key);
    EXPECT_EQ(key.error().message(), "distgpu: --distgpu=pytorch," + std::string(49, 'q') +
                                         "...: unknown key '" + shortened + "'; " + all_keys());
    const auto spec = parse_spec("--distgpu", std::string(max_spec_length + 1, 'q'));
    ASSERT_FALSE(spec);
    EXPECT_EQ(spec.error().message(),
              "distgpu: --distgpu=" + shortened + ": 1025 bytes long; give at most 1024 bytes");
}

TEST(SpecHelp, NamesEveryModeKeyAndTwin) {
    const std::string help = spec_help();
    EXPECT_EQ(help.back(), '\n');
    const auto has_line = [&help](const std::string& begin, std::string_view end) {
        const std::size_t at = help.find("\n  " + begin + " ");
        return at != std::string::npos &&
               help.substr(at + 1, help.find('\n', at + 1) - at - 1).find(end) != std::string::npos;
    };
    for (const Framework* framework : frameworks()) {
        EXPECT_TRUE(has_line(std::string(framework->mode), framework->summary)) << framework->mode;
    }
    for (const char* mode : {"off", "help"}) EXPECT_TRUE(has_line(mode, "")) << mode;
    for (const SpecKey& key : spec_keys()) {
        EXPECT_TRUE(has_line(key_usage(key), key.help)) << key.name;
    }
    for (const char* twin : {"SLURM_DISTGPU", "SBATCH_DISTGPU", "SALLOC_DISTGPU"}) {
        EXPECT_NE(help.find(twin), std::string::npos) << twin;
    }
}

}  // namespace
}  // namespace distgpu
