#include "mapping/spec/misplaced_option.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/spec/parse_spec.h"

#include <array>
#include <cctype>

namespace distgpu {
namespace {

struct Synonyms {
    Literal<16> name;
    Literal<88> synonyms;  // normalized, separated by blanks
};

constexpr auto mode_synonyms = std::to_array<Synonyms>({
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

constexpr auto key_synonyms = std::to_array<Synonyms>({
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

std::optional<std::string_view> name_for(std::span<const Synonyms> table, std::string_view word) {
    for (const Synonyms& row : table) {
        if (has_word(row.synonyms, normalized_word(word))) return row.name;
    }
    return std::nullopt;
}

// Whether the word is --distgpu with a mode other than off and help.
bool requests_mode(std::string_view word) {
    constexpr std::string_view option = "--distgpu=";
    if (!word.starts_with(option)) return false;
    const auto request = parse_spec("--distgpu", word.substr(option.size()));
    return request && request->framework != nullptr;
}

}  // namespace

std::optional<std::string_view> suggested_mode(std::string_view word) {
    return name_for(mode_synonyms, word);
}

std::optional<std::string_view> suggested_key(std::string_view word) {
    return name_for(key_synonyms, word);
}

std::string normalized_word(std::string_view word) {
    std::string letters(word);
    std::transform(letters.begin(), letters.end(), letters.begin(), [](unsigned char c) {
        return c == '_' ? '-' : static_cast<char>(std::tolower(c));
    });
    return letters;
}

std::optional<std::string_view> why_not_a_mode(std::string_view word) {
    constexpr std::string_view programs =
        "sh bash env time timeout numactl nsys uv conda srun singularity apptainer hostname true "
        "python";
    const std::string_view ending = word.substr(std::min(word.rfind('.'), word.size()));
    if (word.starts_with('-')) return "an option, not a mode";
    const std::string_view name = word.substr(0, word.find_last_not_of("0123456789.") + 1);
    const bool is_file =
        word.find('/') != std::string_view::npos || has_word(".py .sh .sbatch .slurm", ending);
    if (!is_file && !has_word(programs, name)) return std::nullopt;
    return "a program, not a mode";
}

std::optional<Error> option_after_program(std::span<const std::string> program) {
    for (std::size_t i = 1; i < program.size(); ++i) {
        if (!requests_mode(program[i])) continue;
        return Error{excerpt(program[i]), "it comes after the program, where srun does not read it",
                     formatted("write it before {}", excerpt(program.front()))};
    }
    return std::nullopt;
}

std::optional<Error> directive_after_command(std::string_view script) {
    bool has_command = false;
    for (std::size_t number = 1; !script.empty(); ++number) {
        std::string_view line = cut_until(script, '\n');
        const std::size_t text = line.find_first_not_of(" \t\r");
        has_command = has_command || (text != std::string_view::npos && line[text] != '#');
        if (!has_command || !line.starts_with("#SBATCH")) continue;
        while (!line.empty()) {
            const std::string_view item = cut_until(line, ' ');
            const std::string_view word = item.substr(0, item.find('\r'));
            if (!requests_mode(word)) continue;
            return Error{formatted("line {}: {}", number, excerpt(word)),
                         "it comes after the first command, where sbatch does not read it",
                         "move the line up to the other #SBATCH lines"};
        }
    }
    return std::nullopt;
}

}  // namespace distgpu
