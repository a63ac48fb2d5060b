// The keys of SPEC that choose GPUs, CPUs and network devices.
#include "mapping/binding/gpu_policies.h"
#include "mapping/frameworks/framework.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

TEST(BindingKeys, AreRead) {
    struct Row {
        const char* spec;
        void (*expect)(Request&);
    };
    const std::vector<Row> rows = {
        {"pytorch,gpus=near", [](Request& r) { r.gpus = &gpu_policy::near; }},
        {"pytorch,gpus=isolate", [](Request& r) { r.gpus = &gpu_policy::isolate; }},
        {"pytorch,gpus=keep", [](Request& r) { r.gpus = &gpu_policy::keep; }},
        {"pytorch,gpu-ids=index", [](Request& /*r*/) {}},
        {"pytorch,gpu-ids=uuid", [](Request& r) { r.gpu_uuids = true; }},
        {"pytorch,cpus=near", [](Request& r) { r.cpus = BindingChoice::near; }},
        {"pytorch,cpus=keep", [](Request& r) { r.cpus = BindingChoice::keep; }},
        {"pytorch,hcas=near", [](Request& r) { r.hcas = BindingChoice::near; }},
        {"pytorch,hcas=keep", [](Request& r) { r.hcas = BindingChoice::keep; }},
        {"pytorch,bind=none", [](Request& r) { r.keep_all = true; }},
        {"pytorch,hcas=keep,bind=none,gpus=isolate,cpus=near",
         [](Request& r) {
             r.keep_all = true;
             r.gpus = &gpu_policy::isolate;
             r.cpus = BindingChoice::near;
             r.hcas = BindingChoice::keep;
         }},
    };
    for (const auto& row : rows) {
        Request expected;
        expected.framework = find_framework("pytorch");
        expected.mode = "pytorch";
        row.expect(expected);
        const auto request = parse_spec("--distgpu", row.spec);
        ASSERT_TRUE(request) << row.spec;
        EXPECT_EQ(*request, expected) << row.spec;
    }
}

// Every framework's tasks run on CPUs.
TEST(BindingKeys, AreForEveryMode) {
    for (const Framework* framework : frameworks()) {
        const std::string spec =
            std::string(framework->mode) + ",gpus=near,gpu-ids=uuid,cpus=keep,hcas=near,bind=none";
        EXPECT_TRUE(parse_spec("--distgpu", spec)) << spec;
    }
}

TEST(BindingKeys, OtherValuesAreRefused) {
    const std::string places = ": unknown value; give near or keep";
    struct Row {
        const char* spec;
        std::string message;
    };
    const std::vector<Row> rows = {
        {"pytorch,gpus=far", "gpus=far: unknown value; give near, isolate or keep"},
        {"pytorch,gpus=", "gpus=: unknown value; give near, isolate or keep"},
        {"pytorch,gpus=Near", "gpus=Near: unknown value; give near, isolate or keep"},
        {"pytorch,gpus=2", "gpus=2: unknown value; give near, isolate or keep"},
        {"pytorch,gpus", "key 'gpus' needs a value; write gpus=near|isolate|keep"},
        {"pytorch,gpus=near,gpus=near", "key 'gpus' given twice; give it once"},
        {"pytorch,gpu-ids=pci", "gpu-ids=pci: unknown value; give index or uuid"},
        {"pytorch,gpu-ids=", "gpu-ids=: unknown value; give index or uuid"},
        {"pytorch,gpu-ids", "key 'gpu-ids' needs a value; write gpu-ids=index|uuid"},
        {"pytorch,cpus=isolate", "cpus=isolate" + places},
        {"pytorch,cpus=", "cpus=" + places},
        {"pytorch,cpus=0-3", "cpus=0-3" + places},
        {"pytorch,cpus", "key 'cpus' needs a value; write cpus=near|keep"},
        {"pytorch,hcas=isolate", "hcas=isolate" + places},
        {"pytorch,hcas=mlx5_0", "hcas=mlx5_0" + places},
        {"pytorch,hcas", "key 'hcas' needs a value; write hcas=near|keep"},
        {"pytorch,bind=near", "bind=near: unknown value; give none"},
        {"pytorch,bind=", "bind=: unknown value; give none"},
        {"pytorch,bind", "key 'bind' needs a value; write bind=none"},
        {"pytorch,gpu=near", "unknown key 'gpu'; did you mean 'gpus'?"},
        {"pytorch,hca=near", "unknown key 'hca'; did you mean 'hcas'?"},
    };
    for (const auto& row : rows) {
        const auto request = parse_spec("--distgpu", row.spec);
        ASSERT_FALSE(request) << row.spec;
        EXPECT_EQ(request.error().message(),
                  std::string("distgpu: --distgpu=") + row.spec + ": " + row.message);
    }
}

TEST(BindingKeys, StandInTheHelp) {
    const std::string help = spec_help();
    for (const char* line : {
             "  gpus=near|isolate|keep          all GPUs with the nearest as device LOCAL_RANK "
             "(default), the task's own, or Slurm's choice\n",
             "  gpu-ids=index|uuid              name the GPUs by number or by UUID\n",
             "  cpus=near|keep                  the CPUs near the task's GPUs (default without "
             "--cpu-bind), or Slurm's choice\n",
             "  hcas=near|keep                  NCCL's and UCX's network devices: the nearest "
             "(default), or left alone\n",
             "  bind=none                       keep gpus, cpus and hcas as Slurm set them, unless "
             "given too\n",
         }) {
        EXPECT_NE(help.find(std::string("\n") + line), std::string::npos) << line;
    }
}

// plugstack.conf has the same words.
TEST(ParseGpuPolicy, ReadsTheThreeWords) {
    struct Row {
        const char* text;
        const GpuPolicy* policy;
    };
    for (const auto& row : {Row{"near", &gpu_policy::near}, Row{"isolate", &gpu_policy::isolate},
                            Row{"keep", &gpu_policy::keep}}) {
        const auto policy = parse_gpu_policy(row.text);
        ASSERT_TRUE(policy) << row.text;
        EXPECT_EQ(*policy, row.policy) << row.text;
    }
    const auto refused = parse_gpu_policy(std::string(100, 'x') + "\n");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message(), "distgpu: gpus=" + std::string(57, 'x') +
                                             "...: unknown value; give near, isolate or keep");
}

TEST(ParseBindingChoice, ReadsTheTwoWords) {
    const auto near = parse_binding_choice("cpus", "near");
    ASSERT_TRUE(near);
    EXPECT_EQ(*near, BindingChoice::near);
    const auto keep = parse_binding_choice("cpus", "keep");
    ASSERT_TRUE(keep);
    EXPECT_EQ(*keep, BindingChoice::keep);
    const auto refused = parse_binding_choice("hcas", "fa\tr");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message(), "distgpu: hcas=fa?r: unknown value; give near or keep");
}

}  // namespace
}  // namespace distgpu
