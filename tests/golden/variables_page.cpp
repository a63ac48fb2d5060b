// See variables_page.h. What a framework sets and removes comes from its record;
// what distgpu itself reads stands below.
#include "variables_page.h"

#include "base/format.h"
#include "mapping/binding/device_values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/texts/variables.h"

#include <array>
#include <string_view>

namespace distgpu::golden {
namespace {

struct Row {
    std::string_view name;
    std::string_view meaning;
};

// Read by srun, sbatch and salloc.
constexpr std::array twins{
    Row{spec_variable,
        "read by `srun`: the same text as `--distgpu=`; the command line wins. srun also sends the "
        "step's request to the nodes under this name"},
    Row{"SBATCH_DISTGPU",
        "read by `sbatch`, for the steps of the job, which get it as `SLURM_DISTGPU` over an "
        "exported one; `--distgpu` wins, also as an `#SBATCH` line"},
    Row{"SALLOC_DISTGPU", "read by `salloc`, in the same way"},
};

constexpr std::array internals{
    Row{sent_variable,
        "job and step id, the nodes, the task map and the address of rank 0's node (for "
        "tensorflow of every node), from srun to the nodes. A value of another step is ignored; "
        "one that contradicts what Slurm started "
        "is refused"},
    Row{cpu_bind_variable,
        "that srun has `--cpu-bind`, for the components of a heterogeneous step, of which "
        "`SLURM_DISTGPU_STEP` reaches one; in such a step it holds for all of them"},
    Row{rows_variable,
        "with `verbose`: a port of srun's and 256 random bits, by which srun knows the nodes "
        "of its step that send it the rows of the table"},
    Row{inherited_variable, "how Slurm hands the option of `sbatch` and `salloc` to srun"},
};

constexpr std::array inputs{
    Row{"MASTER_ADDR",
        "the rendezvous address, if you exported it and gave no `master=`. One that a task "
        "inherited from an outer step's distgpu does not count, nor does [the one that srun "
        "sends](administration.md#the-line-in-plugstackconf)"},
    Row{"MASTER_PORT",
        "the rendezvous port, if you exported it and gave no `port=`; 1024 to 65535. One that a "
        "task inherited from an outer step's distgpu does not count"},
    Row{"SLURM_STEP_RESV_PORTS",
        "the ports that Slurm reserved for the step (`MpiParams=ports=` in slurm.conf, or "
        "`srun --resv-ports=N`); used if enough of them are contiguous and the step is not "
        "heterogeneous"},
    Row{"SLURM_RESTART_COUNT", "part of the derived port, so that a requeued job moves on"},
    Row{"CUDA_VISIBLE_DEVICES",
        "the step's GPUs on the node and how the tasks name them; if it is unset, "
        "`ROCR_VISIBLE_DEVICES`, or else `ZE_AFFINITY_MASK`"},
    Row{"SLURM_CPUS_ON_NODE",
        "the number of processes of a per-node launcher on a node without GPUs, and the share of "
        "`OMP_NUM_THREADS` without `--cpus-per-task`"},
    Row{"CUDA_DEVICE_ORDER",
        "if it is another order than `PCI_BUS_ID`, GPUs are named by UUID, or left alone"},
    Row{"SLURMD_TRES_BIND", "whether Slurm bound GPUs to tasks"},
    Row{"SLURM_CPU_BIND",
        "read by `srun`: whether you chose the tasks' CPUs, for example with `--cpu-bind`"},
    Row{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
        "GPUs that jobs share, by MPS or `SLURM_SHARDS_ON_NODE`, are not ordered"},
    Row{"OMP_NUM_THREADS",
        "left alone, if you exported it; so are `NCCL_IB_HCA`, `UCX_NET_DEVICES`, "
        "`NCCL_SOCKET_IFNAME` and `GLOO_SOCKET_IFNAME`"},
    Row{"SLURM_MPI_TYPE", "`--mpi`, for the check of modes that need MPI"},
    Row{"SLURM_JOB_NAME", "whether Lightning would mistake the job for an interactive one"},
    Row{"SLURM_JOB_CPUS_PER_NODE", "whether the nodes are equal, for the check of `composer`"},
};

template <class Rows>
std::string table(std::string_view heading, const Rows& rows) {
    std::string text = formatted("| Variable | {} |\n|---|---|\n", heading);
    for (const auto& [name, meaning] : rows) text += formatted("| `{}` | {} |\n", name, meaning);
    return text + '\n';
}

std::string introduction() {
    return "<!-- Made from libmapping/mapping/frameworks/ by golden_tests: DISTGPU_UPDATE_GOLDEN=1 "
           "rewrites "
           "it. -->\n"
           "# Environment variables\n"
           "\n"
           "`srun --distgpu=MODE` gives each task of the step the variables that its framework "
           "reads, "
           "and removes inherited ones that would mislead it. This page lists them all. Without "
           "`--distgpu` and its environment twins, distgpu neither sets nor removes anything. "
           "`--distgpu=MODE,dry-run` prints what each task would get.\n"
           "\n"
           "## Who wins\n"
           "\n"
           "Variables are applied on each node just before the program starts, in this order:\n"
           "\n"
           "1. The environment that Slurm gives the task, with what you exported.\n"
           "2. distgpu removes the variables listed under *Removed* for the mode.\n"
           "3. distgpu sets the variables listed under *Set*, over inherited values.\n"
           "4. Slurm's TaskProlog and `--task-prolog` run after that and can still change them.\n"
           "\n"
           "Ranks and sizes are always those of the step: an exported `RANK` or `WORLD_SIZE` never "
           "wins. The rendezvous is yours if you want it:\n"
           "\n"
           "- Address: `master=`, else your exported `MASTER_ADDR`, else the administrator's "
           "`master=` in plugstack.conf, else the NodeAddr of the node that runs rank 0.\n"
           "- Port: `port=`, else your exported `MASTER_PORT`, else the first of enough contiguous "
           "ports in `SLURM_STEP_RESV_PORTS`, else a port derived from job id, step id and restart "
           "count.\n"
           "\n"
           "Variables of MPI (`PMIX_*`, `PMI_*`, `OMPI_MCA_*` but for the one that JAX "
           "mistakes) and those of `NCCL_*` and `UCX_*` that are not named here are left as they "
           "are.\n"
           "\n"
           "What a container brings is not your export: "
           "[containers.md](containers.md#which-value-a-variable-has) says which value wins.\n"
           "\n"
           "## In every mode\n"
           "\n";
}

template <class Variables>
std::string set_table(const Variables& variables) {
    std::string rows = "| Variable | Meaning |\n|---|---|\n";
    for (const SetVariable& variable : variables) {
        rows += formatted("| `{}` | {} |\n", variable.name, variable.meaning);
    }
    return rows + '\n';
}

std::string option_table(const Service& service) {
    std::string text =
        service.companion.empty()
            ? "Options that `distgpu exec` adds to the program, unless you wrote them"
            : formatted("Options of the `{}` that `distgpu exec` starts on every node",
                        join(service.companion, " "));
    text +=
        "; it takes `MASTER_ADDR`, `MASTER_PORT`, `NODE_RANK` and `NODE_ADDR` away from what it "
        "starts:\n\n| Option | Meaning |\n|---|---|\n";
    for (const ProgramOption& option : service.options) {
        text += formatted("| `{}` | {} |\n", option.name, option.meaning);
    }
    return text + '\n';
}

std::string framework_section(const Framework& framework) {
    std::string text = formatted("## {}\n\n{}.\n\nSet:\n\n", framework.mode, framework.summary) +
                       set_table(framework.sets);
    if (!framework.unsets.empty()) {
        text += "Removed:\n\n| Variable | Why |\n|---|---|\n";
        for (const UnsetVariable& variable : framework.unsets) {
            text += formatted("| `{}` | {} |\n", variable.name, variable.reason);
        }
        text += '\n';
    }
    return framework.service == nullptr ? text : text + option_table(*framework.service);
}

std::string own_section() {
    return "## Variables that distgpu reads\n\n"
           "The environment twins of `--distgpu`, for scripts and for jobs that are not submitted "
           "from a command line. Order: srun's command line, `SLURM_DISTGPU`, what the allocation "
           "asked for. `off` cancels an inherited mode.\n\n" +
           table("Meaning", twins) + "From the environment of the step:\n\n" +
           table("Used for", inputs) +
           "## Variables between distgpu's parts\n\n"
           "Do not set them. Each task gets:\n\n" +
           table("Meaning",
                 std::array{Row{given_variable,
                                "`MASTER_ADDR`, `MASTER_PORT` and the variables that stay if you "
                                "exported them, as distgpu set them: by these a step started "
                                "inside the task tells inherited ones from your own"},
                            Row{ranks_variable,
                                "the variables that the mode gave the task, with their values, or "
                                "a number made of a long one: by these srun, started inside the "
                                "task without `--distgpu`, knows which ones not to hand on"},
                            Row{job_name_variable,
                                "only where the mode replaced `SLURM_JOB_NAME`: what Slurm calls "
                                "the job, which a step started inside the task gets again"},
                            Row{prepared_variable,
                                "the step's id and its SPEC: by these `distgpu check` and `distgpu "
                                "exec` know what the task was prepared for"},
                            Row{bound_variable,
                                "the CPUs on which the task began, and the PCI address of each GPU "
                                "that it can name: by these `distgpu explain` tells what has "
                                "changed since"},
                            Row{layout_variable,
                                "only in a heterogeneous step, one with an arbitrary distribution "
                                "or, from Slurm 26.05 on, a block step on several nodes: the "
                                "step's id, nodes and task map, which these two could not derive "
                                "there"},
                            Row{secret_variable,
                                "256 random bits that srun draws for the step: by these `distgpu "
                                "check` knows the reports of its own ranks; never sent between "
                                "them"},
                            Row{container_variable,
                                "only in a container that sets network variables otherwise than "
                                "you or distgpu: which, for `distgpu check`"}}) +
           "The others, and `SLURM_DISTGPU`, are removed from each task's environment, so that a "
           "step started inside a task starts afresh:\n\n" +
           table("Meaning", internals);
}

}  // namespace

std::string variables_page() {
    std::string text = introduction() + set_table(common_variables()) +
                       "GPUs and network devices, if the node's topology is known "
                       "([binding](binding.md) says who gets what). An exported `NCCL_*`, `UCX_*` "
                       "or `GLOO_*` variable stays as it is:\n\n" +
                       set_table(device_variables());
    for (const Framework* framework : frameworks()) {
        text += framework_section(*framework);
        for (const Variant& variant : framework->variants) {
            // Others have sections of their own.
            if (variant.framework->mode.find(',') != std::string_view::npos) {
                text += framework_section(*variant.framework);
            }
        }
    }
    text += own_section();
    text.pop_back();  // the empty line after the last table
    return text;
}

}  // namespace distgpu::golden
