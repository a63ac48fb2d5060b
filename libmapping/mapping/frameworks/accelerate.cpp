// Hugging Face Accelerate, and the Trainer of Transformers, which is built on it.
// Source: accelerate/state.py is distributed where LOCAL_RANK is set and then uses
// env://; `accelerate launch` (commands/launch.py, 1.15) takes the machine's rank
// from its command line alone.
#include "mapping/frameworks/common.h"
#include "mapping/frameworks/registry.h"

namespace distgpu {
namespace {

using namespace contract;

constexpr std::array<std::string_view, 1> aliases{"transformers"};
constexpr std::array<std::string_view, 2> keys{"per-node", "nproc"};

constexpr std::array<std::string_view, 2> launchers{"accelerate launch",
                                                    "python -m accelerate.commands.launch"};

const Framework per_node{
    .mode = "accelerate,per-node",
    .summary = "accelerate launch, one launcher per node",
    .launcher_per_node = true,
    .launchers = launchers,
    .sets = node_rendezvous,
    .unsets = launcher_unsets,
    .refuse = one_task_per_node,
};

constexpr std::array variants{Variant{"per-node", &per_node}};

}  // namespace

const Framework accelerate{
    .mode = "accelerate",
    .summary = "Hugging Face Accelerate and Trainer, one process per task",
    .aliases = aliases,
    .keys = keys,
    .variants = variants,
    .one_gpu_per_task = true,
    .sets = env_rendezvous,
    .unsets = env_rendezvous_leftovers,
};

}  // namespace distgpu
