// SPEC = MODE[,KEY[=VALUE]]...: what is read, what is refused with which words.
#include "mapping/spec/parse_spec.h"

#include "base/format.h"
#include "mapping/frameworks/framework.h"
#include "mapping/message_of.h"

#include <gtest/gtest.h>

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
    std::string spec;
    std::string message;  // without "distgpu: --distgpu=" and the SPEC
};

void expect_refusals(const std::vector<Refusal>& rows) {
    for (const auto& row : rows) {
        EXPECT_EQ(message_of(parse_spec("--distgpu", row.spec)),
                  "distgpu: --distgpu=" + row.spec + ": " + row.message);
    }
}

TEST(Spec, ReadsModes) {
    for (const Framework* framework : frameworks()) {
        const auto request = parse_spec("--distgpu", framework->mode);
        ASSERT_TRUE(request) << framework->mode.view();
        Request expected;
        expected.framework = framework;
        expected.mode = framework->mode;
        EXPECT_EQ(*request, expected) << framework->mode.view();
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
    using Form = MasterAddress::Form;
    using Source = RankOrder::Source;
    const auto expect = [](const std::string& spec, void (*change)(Request&)) {
        Request expected;
        expected.framework = find_framework(spec.substr(0, spec.find(',')));
        if (expected.framework != nullptr) expected.mode = expected.framework->mode;
        change(expected);
        const auto request = parse_spec("--distgpu", spec);
        ASSERT_TRUE(request) << spec;
        EXPECT_EQ(*request, expected) << spec;
    };
    expect("pytorch,port=1024", [](Request& r) { r.port = 1024; });
    expect("pytorch,port=65535", [](Request& r) { r.port = 65535; });
    expect("pytorch,master=fd00::1", [](Request& r) { r.master = {Form::host, "fd00::1"}; });
    expect("pytorch,master=suffix:i", [](Request& r) { r.master = {Form::suffix, "i"}; });
    expect("torchrun,nproc=1", [](Request& r) { r.nproc = 1; });
    expect("torchrun,nproc=4096", [](Request& r) { r.nproc = 4096; });
    expect("pytorch,order=slurm", [](Request& r) { r.order = RankOrder{}; });
    expect("jax,order=slurm", [](Request& r) { r.order = RankOrder{}; });
    expect("pytorch,order=switch", [](Request& r) { r.order = RankOrder{Source::switches}; });
    expect("pytorch,order=./my ring", [](Request& r) { r.order = {Source::file, "./my ring"}; });
    expect("pytorch,order=$MY_NODES2", [](Request& r) {
        r.order = {Source::variable, "MY_NODES2"};
    });
    expect("pytorch,omp=keep", [](Request& r) { r.keep_omp = true; });
    expect("pytorch,omp=auto", [](Request& /*r*/) {});
    expect("tensorflow,chief=1,ps=2,evaluator=1",
           [](Request& r) { r.chief = 1, r.ps = 2, r.evaluator = 1; });
    expect("pytorch,dry-run", [](Request& r) { r.dry_run = true; });
    expect("pytorch,verbose", [](Request& r) { r.verbose = true; });
    expect("torchrun,verbose,dry-run,nproc=8,master=name,port=2000", [](Request& r) {
        r.port = 2000;
        r.master = MasterAddress{Form::name, ""};
        r.nproc = 8;
        r.dry_run = r.verbose = true;
    });
    expect("off,verbose", [](Request& r) { r.verbose = true; });
}

TEST(Spec, UnknownModesAreRefused) {
    expect_refusals({
        {"pytroch", "unknown mode; did you mean 'pytorch'?"},
        {"torchrn", "unknown mode; did you mean 'torchrun'?"},
        {"PyTorch", "unknown mode; did you mean 'pytorch'?"},
        {"pytorhc,port=2000", "unknown mode; did you mean 'pytorch'?"},
        {"qqqqqqq", "unknown mode; " + all_modes()},
        {"port=2000", "unknown mode; " + all_modes()},
        {"(null)", "unknown mode; " + all_modes()},
        {"", "no mode; " + all_modes()},
        {",port=2000", "no mode; " + all_modes()},
    });
}

TEST(Spec, OtherNamesOfModesGetOurs) {
    const auto meant = [](const char* mode) {
        return "unknown mode; did you mean '" + std::string(mode) + "'?";
    };
    expect_refusals({
        {"ddp", meant("pytorch")},
        {"DDP", meant("pytorch")},
        {"fsdp", meant("pytorch")},
        {"torch", meant("pytorch")},
        {"torch.distributed.run", meant("torchrun")},
        {"huggingface", meant("accelerate")},
        {"hf", meant("accelerate")},
        {"pytorch_lightning", meant("lightning")},
        {"mpirun", meant("ompi")},
        {"ddp,port=2000", meant("pytorch")},
    });
    for (const char* accepted : {"tf", "mpi", "transformers"}) {
        EXPECT_TRUE(parse_spec("--distgpu", accepted)) << accepted;
    }
}

TEST(Spec, TwoModesAreOneTooMany) {
    expect_refusals({
        {"pytorch,torchrun",
         "pytorch and torchrun are both modes, and a step has one; write pytorch for one process "
         "per task, or torchrun for one launcher per node"},
        {"torchrun,port=2000,pytorch",
         "torchrun and pytorch are both modes, and a step has one; write torchrun for one launcher "
         "per node, or pytorch for one process per task"},
        {"pytorch,lightning",
         "pytorch and lightning are both modes, and a step has one; write one of the two"},
        {"vllm,ray", "vllm and ray are both modes, and a step has one; write one of the two"},
        {"tf,mpi", "tf and mpi are both modes, and a step has one; write one of the two"},
        {"lightning,DDP",
         "lightning and pytorch ('DDP') are both modes, and a step has one; write one of the two"},
        {"pytorch,off", "pytorch and off are both modes, and a step has one; write one of the two"},
        {"off,jax", "off and jax are both modes, and a step has one; write one of the two"},
        {"pytorch+torchrun",
         "pytorch and torchrun are both modes, and a step has one; write pytorch for one process "
         "per task, or torchrun for one launcher per node"},
        {"pytorch,pytorch", "pytorch names the mode a second time; give it once"},
        {"pytorch,ddp", "pytorch ('ddp') names the mode a second time; give it once"},
        {"tensorflow,tf", "tf names the mode a second time; give it once"},
    });
}

TEST(Spec, OtherNamesOfKeysGetOurs) {
    const auto meant = [](const std::string& key, const std::string& ours) {
        return "unknown key '" + key + "'; did you mean '" + ours + "'?";
    };
    expect_refusals({
        {"pytorch,master-port=2000", meant("master-port", "port")},
        {"pytorch,MASTER_PORT=2000", meant("MASTER_PORT", "port")},
        {"pytorch,master_addr=n1", meant("master_addr", "master")},
        {"torchrun,nproc-per-node=4", meant("nproc-per-node", "nproc")},
        {"pytorch,v", meant("v", "verbose")},
    });
}

// Whose processes have ranks that no variable of ours gives them.
TEST(Spec, AnOrderIsRefusedWhereItWouldChangeNothing) {
    const std::string no_change = ", which 'order' does not change; ";
    expect_refusals({
        {"jax,order=switch", "JAX takes its ranks from SLURM_PROCID" + no_change + "leave it out"},
        {"lightning,order=./ring",
         "Lightning takes its ranks from SLURM_PROCID" + no_change +
             "use lightning,per-node with --ntasks-per-node=1, or leave it out"},
        {"mpi,order=$NODES", "MPI numbers its processes itself" + no_change + "leave it out"},
        {"horovod,order=switch", "Horovod takes its ranks from MPI" + no_change +
                                     "use horovod,backend=gloo, or leave it out"},
        {"horovod,order=switch,backend=mpi", "Horovod takes its ranks from MPI" + no_change +
                                                 "use horovod,backend=gloo, or leave it out"},
        {"torchrun,order=switch,rdzv=c10d",
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
        {"pytorch:verbose", "unknown mode; write pytorch,verbose"},
        {"pytorch verbose", "unknown mode; write pytorch,verbose"},
        {"pytorch=verbose", "unknown mode; write pytorch,verbose"},
        {"pytorch:verbose,port=2000", "unknown mode; write pytorch,verbose,port=2000"},
        {"pytorch,verbose:port=2000", "unknown key 'verbose:port'; write verbose,port=2000"},
        {"pytorch,port:2000", "unknown key 'port:2000'; write port=2000"},
        {"qqqqqqq:verbose", "unknown mode; " + all_modes()},
    });
}

TEST(Spec, UnknownKeysAreRefused) {
    // "--distgpu=pytorch, verbose"
    const std::string no_key =
        "no key after a comma; leave the comma out, or write the key after it without a space";
    expect_refusals({
        {"pytorch,prot=1", "unknown key 'prot'; did you mean 'port'?"},
        {"pytorch,dryrun", "unknown key 'dryrun'; did you mean 'dry-run'?"},
        {"pytorch, verbose", "unknown key ' verbose'; did you mean 'verbose'?"},
        {"pytorch,qqqqqqq=1", "unknown key 'qqqqqqq'; " + all_keys()},
        {"pytorch,", no_key},
        {"pytorch,,verbose", no_key},
        {"pytorch,=5", "unknown key ''; " + all_keys()},
        {"off,prot=1", "unknown key 'prot'; did you mean 'port'?"},
        {"help,prot=1", "unknown key 'prot'; did you mean 'port'?"},
    });
}

TEST(Spec, MisusedKeysAreRefused) {
    expect_refusals({
        {"pytorch,port", "key 'port' needs a value; write port=N"},
        {"pytorch,master", "key 'master' needs a value; write master=addr|name|suffix:S|HOST"},
        {"pytorch,verbose=1", "key 'verbose' takes no value; write 'verbose' alone"},
        {"pytorch,dry-run=", "key 'dry-run' takes no value; write 'dry-run' alone"},
        {"pytorch,port=2000,port=3000", "key 'port' given twice; give it once"},
        {"pytorch,verbose,port=2000,verbose", "key 'verbose' given twice; give it once"},
    });
}

TEST(Spec, KeysOfOtherFrameworksAreRefused) {
    expect_refusals({
        {"pytorch,chief=1", "key 'chief' is not for pytorch; it is for tensorflow"},
        {"megatron,nproc=2",
         "key 'nproc' is not for megatron; it is for pytorch, torchrun, lightning, accelerate, "
         "deepspeed, composer, ompi"},
        {"composer,per-node",
         "key 'per-node' is not for composer; it is for pytorch, lightning, accelerate, "
         "deepspeed, ompi"},
        {"tf,backend=gloo", "key 'backend' is not for tensorflow; it is for horovod"},
        {"megatron,rdzv=x", "key 'rdzv' is not for megatron; it is for torchrun"},
    });
    EXPECT_TRUE(parse_spec("--distgpu", "off,chief=1,per-node,backend=gloo"));
}

TEST(Spec, NprocWithoutALauncherIsRefused) {
    expect_refusals({
        {"pytorch,nproc=4",
         "nproc is for a launcher, but pytorch has a task for each process; write "
         "torchrun,nproc=4 with --ntasks-per-node=1, or leave nproc out and use "
         "--ntasks-per-node=4"},
        {"transformers,nproc=2,verbose",
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

TEST(Spec, ValuesOutOfBoundsAreRefused) {
    const std::string no_port =
        ": not a port that a user may listen on; give a number from 1024 to 65535";
    const std::string no_host =
        ": not a host name or address; give addr, name, suffix:S, or a host (its port is port=N)";
    const std::string no_order =
        ": not a valid node order; give slurm, switch, a file with its path (./FILE), or '$NAME' "
        "of a variable";
    const std::string no_count = ": not a number of processes; give a number from 1 to 4096";
    expect_refusals({
        {"pytorch,port=1023", "port=1023" + no_port},
        {"pytorch,port=2000=1", "port=2000=1" + no_port},
        {"pytorch,master=", "master=" + no_host},
        {"torchrun,nproc=0", "nproc=0" + no_count},
        {"torchrun,nproc=4097", "nproc=4097" + no_count},
        {"torchrun,nproc=gpu", "nproc=gpu" + no_count},
        {"torchrun,rdzv=etcd", "rdzv=etcd: unknown value; give rdzv=static or rdzv=c10d"},
        {"horovod,backend=", "backend: unknown value; give backend=mpi or backend=gloo"},
        {"pytorch,omp=4", "omp=4: unknown value; give auto or keep"},
        {"pytorch,order=ring", "order=ring" + no_order},
        {"pytorch,order=$", "order=$" + no_order},
        {"pytorch,order=${NODES}", "order=${NODES}" + no_order},
        {"pytorch,order=", "order=" + no_order},
        {"tf,chief=2", "chief=2: not a valid number of tasks; give a number from 0 to 1"},
        {"tf,ps=-1", "ps=-1: not a valid number of tasks; give a number from 0 to 10000"},
        {"tf,evaluator=2", "evaluator=2: not a valid number of tasks; give a number from 0 to 1"},
        {"pytorch,port=1,master=", "port=1" + no_port},
    });
}

TEST(Spec, ControlCharactersAreEchoedAsQuestionMarks) {
    for (const auto& [spec, message] : std::vector<Refusal>{
             {"pytorch\n", "pytorch?: unknown mode; did you mean 'pytorch'?"},
             {"\x1b[2Jqqqqqqq", "?[2Jqqqqqqq: unknown mode; " + all_modes()},
             {"pytorch,\aqqqqqqq", "pytorch,?qqqqqqq: unknown key '?qqqqqqq'; " + all_keys()}}) {
        EXPECT_EQ(message_of(parse_spec("SLURM_DISTGPU", spec)),
                  "distgpu: SLURM_DISTGPU=" + message);
    }
}

// A word of a command line that no option stands before.
TEST(Spec, AWordAloneIsNamedAsItWasTyped) {
    EXPECT_EQ(parse_spec("", "pytroch").error().message(),
              "distgpu: pytroch: unknown mode; did you mean 'pytorch'?");
    EXPECT_EQ(parse_spec("", "").error().object, "''");
    EXPECT_EQ(parse_spec("", "python3").error().message(),
              "distgpu: python3: a program, not a mode; give a mode, such as pytorch");
    EXPECT_EQ(parse_spec("SLURM_DISTGPU", "python3").error().message(),
              "distgpu: SLURM_DISTGPU=python3: a program, not a mode; give a mode, as in "
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
    EXPECT_EQ(message_of(parse_spec("--distgpu", "pytorch," + std::string(100, 'q'))),
              "distgpu: --distgpu=pytorch," + std::string(49, 'q') + "...: unknown key '" +
                  shortened + "'; " + all_keys());
    EXPECT_EQ(message_of(parse_spec("--distgpu", std::string(max_spec_length + 1, 'q'))),
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
        EXPECT_TRUE(has_line(std::string(framework->mode), framework->summary))
            << framework->mode.view();
    }
    for (const char* mode : {"off", "help"}) EXPECT_TRUE(has_line(mode, "")) << mode;
    for (const SpecKey& key : spec_keys()) {
        EXPECT_TRUE(has_line(key_usage(key), key.help)) << key.name.view();
    }
    for (const char* twin : {"SLURM_DISTGPU", "SBATCH_DISTGPU", "SALLOC_DISTGPU"}) {
        EXPECT_NE(help.find(twin), std::string::npos) << twin;
    }
}

}  // namespace
}  // namespace distgpu
