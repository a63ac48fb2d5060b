#include "mapping/spec/misplaced_option.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/spec/parse_spec.h"

#include <array>
#include <cctype>

namespace distgpu {
namespace {

struct OtherWords {
    std::string_view ours;
    std::string_view others;  // in our letters, between blanks
};

constexpr auto mode_words = std::to_array<OtherWords>({
    {"pytorch", "ddp fsdp torch nccl"},
    {"torchrun",
     "torch.distributed torch.distributed.run torch.distributed.launch torchelastic elastic"},
    {"lightning", "pytorch-lightning pl"},
    {"accelerate", "hf huggingface hugging-face trainer"},
    {"deepspeed", "zero"},
    {"megatron", "megatron-core"},
    {"composer", "mosaicml mosaic"},
    {"horovod", "hvd horovodrun"},
    {"ompi", "openmpi open-mpi mpirun mpiexec"},
    {"tensorflow", "keras"},
    {"jax", "flax"},
    {"off", "none no"},
});

constexpr auto key_words = std::to_array<OtherWords>({
    {"port", "master-port main-process-port"},
    {"master", "master-addr master-address main-process-ip addr host"},
    {"nproc", "nproc-per-node nprocs-per-node num-processes num-gpus"},
    {"rdzv", "rdzv-backend"},
    {"omp", "omp-num-threads threads"},
    {"gpus", "gpu-bind"},
    {"cpus", "cpu-bind"},
    {"hcas", "nics ib"},
    {"verbose", "debug v"},
    {"dry-run", "test"},
});

std::optional<std::string_view> ours(std::span<const OtherWords> table, std::string_view word) {
    for (const OtherWords& row : table) {
        if (has_word(row.others, in_our_letters(word))) return row.ours;
    }
    return std::nullopt;
}

// Whether the word is --distgpu with a value that asks for something.
bool asks(std::string_view word) {
    constexpr std::string_view option = "--distgpu=";
    if (!word.starts_with(option)) return false;
    const auto request = parse_spec("--distgpu", word.substr(option.size()));
    return request && request->framework != nullptr;
}

}  // namespace

std::optional<std::string_view> mode_meant_by(std::string_view word) {
    return ours(mode_words, word);
}

std::optional<std::string_view> key_meant_by(std::string_view word) {
    return ours(key_words, word);
}

std::string in_our_letters(std::string_view word) {
    std::string letters(word);
    std::transform(letters.begin(), letters.end(), letters.begin(), [](unsigned char c) {
        return c == '_' ? '-' : static_cast<char>(std::tolower(c));
    });
    return letters;
}

std::optional<std::string_view> taken_for_mode(std::string_view word) {
    constexpr std::string_view programs =
        "sh bash env time timeout numactl nsys uv conda srun singularity apptainer hostname true "
        "python";
    const std::string_view ending = word.substr(std::min(word.rfind('.'), word.size()));
    if (word.starts_with('-')) return "an option, and no mode";
    const std::string_view name = word.substr(0, word.find_last_not_of("0123456789.") + 1);
    const bool is_file =
        word.find('/') != std::string_view::npos || has_word(".py .sh .sbatch .slurm", ending);
    if (!is_file && !has_word(programs, name)) return std::nullopt;
    return "a program, and no mode";
}

std::optional<Error> option_behind_program(std::span<const std::string> program) {
    for (std::size_t i = 1; i < program.size(); ++i) {
        if (!asks(program[i])) continue;
        return Error{excerpt(program[i]),
                     "it stands behind the program, where srun does not read it",
                     formatted("write it before {}", excerpt(program.front()))};
    }
    return std::nullopt;
}

std::optional<Error> late_directive(std::string_view script) {
    bool has_command = false;
    for (std::size_t number = 1; !script.empty(); ++number) {
        std::string_view line = take_until(script, '\n');
        const std::size_t text = line.find_first_not_of(" \t\r");
        has_command = has_command || (text != std::string_view::npos && line[text] != '#');
        if (!has_command || !line.starts_with("#SBATCH")) continue;
        while (!line.empty()) {
            const std::string_view written = take_until(line, ' ');
            const std::string_view word = written.substr(0, written.find('\r'));
            if (!asks(word)) continue;
            return Error{formatted("line {}: {}", number, excerpt(word)),
                         "it stands below the first command, where sbatch does not read it",
                         "move the line up to the other #SBATCH lines"};
        }
    }
    return std::nullopt;
}

}  // namespace distgpu
