// The options are those of torch 2.9's torch/distributed/run.py, accelerate
// 1.12's commands/launch.py, deepspeed 0.18's launcher/runner.py, horovod 0.28's runner/launch.py
// and Open MPI 4.1's mpirun(1).
#include "convert/launcher_options.h"

#include "base/format.h"

#include <algorithm>
#include <array>

namespace distgpu {
namespace {

using Word = std::string_view;

constexpr std::array<Word, 3> torchrun_commands{"torchrun", "python -m torch.distributed.run",
                                                "python -m torch.distributed.launch"};
constexpr std::array<Word, 9> torchrun_values{
    "--nnodes",       "--nproc-per-node", "--node-rank", "--master-addr", "--master-port",
    "--rdzv-backend", "--rdzv-endpoint",  "--rdzv-id",   "--local-addr"};
constexpr std::array<Word, 2> torchrun_flags{"--standalone", "--use-env"};
constexpr std::array<Word, 4> torchrun_kept{"--no-python", "--run-path", "-m", "--module"};

constexpr std::array<Word, 2> accelerate_commands{"accelerate launch",
                                                  "python -m accelerate.commands.launch"};
constexpr std::array<Word, 3> accelerate_values{"--machine-rank", "--main-process-ip",
                                                "--main-process-port"};
constexpr std::array<Word, 10> accelerate_kept{
    "--cpu", "--use-deepspeed", "--use-fsdp", "--debug",     "--no-python",
    "-m",    "--module",        "--quiet",    "--multi-gpu", "--same-network"};

constexpr std::array<Word, 1> deepspeed_commands{"deepspeed"};
constexpr std::array<Word, 12> deepspeed_values{
    "--hostfile", "-H",          "--num-nodes", "--num-gpus", "--master-addr", "--master-port",
    "--launcher", "--node-rank", "--include",   "-i",         "--exclude",     "-e"};
constexpr std::array<Word, 3> deepspeed_flags{"--no-ssh", "--no-ssh-check", "--force-multi"};
constexpr std::array<Word, 1> horovod_commands{"horovodrun"};
constexpr std::array<Word, 12> horovod_values{
    "-np", "--num-proc", "-H", "--hosts",         "-hostfile",           "--hostfile",
    "-p",  "--ssh-port", "-i", "--start-timeout", "--network-interface", "--network-interfaces"};
constexpr std::array<Word, 4> horovod_flags{"--gloo", "--mpi", "--verbose", "--disable-cache"};

constexpr std::array<Word, 2> mpirun_commands{"mpirun", "mpiexec"};
constexpr std::array<Word, 21> mpirun_values{
    "-np",      "-n",        "-c",         "--np",         "--n",           "-H", "-host",
    "--host",   "-hostfile", "--hostfile", "-machinefile", "--machinefile", "-x", "-map-by",
    "--map-by", "-bind-to",  "--bind-to",  "-npernode",    "--npernode",    "-N", "-ppn"};
constexpr std::array<Word, 4> mpirun_parameters{"-mca", "--mca", "-gmca", "--gmca"};
constexpr std::array<Word, 4> mpirun_flags{"--allow-run-as-root", "--oversubscribe",
                                           "--report-bindings", "-allow-run-as-root"};

using Kind = LauncherRecord::Kind;

constexpr std::array records{
    LauncherRecord{torchrun_commands,
                   "torchrun",
                   Kind::reads_variables,
                   torchrun_values,
                   torchrun_flags,
                   torchrun_kept,
                   {}},
    LauncherRecord{accelerate_commands,
                   "accelerate,per-node",
                   Kind::needs_options,
                   accelerate_values,
                   {},
                   accelerate_kept,
                   {}},
    LauncherRecord{deepspeed_commands,
                   "deepspeed",
                   Kind::starts_each_rank,
                   deepspeed_values,
                   deepspeed_flags,
                   {},
                   {}},
    LauncherRecord{
        horovod_commands, "horovod", Kind::starts_all_nodes, horovod_values, horovod_flags, {}, {}},
    LauncherRecord{mpirun_commands,
                   "ompi",
                   Kind::starts_all_nodes,
                   mpirun_values,
                   mpirun_flags,
                   {},
                   mpirun_parameters},
};

bool holds(Names names, Word name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

Word file_name(Word path) {
    return path.substr(path.rfind('/') + 1);
}

// "python3 -u -m torch.distributed.run" as the records have it.
std::string command_text(const std::vector<std::string>& words, std::size_t begin,
                         std::size_t& end) {
    Word program = file_name(words[begin]);
    end = begin + 1;
    if (!program.starts_with("python")) {
        if (program != "accelerate" || end == words.size()) return std::string(program);
        return formatted("{} {}", program, words[end++]);
    }
    while (end < words.size() && (words[end] == "-u" || words[end] == "-O")) ++end;
    if (end + 1 >= words.size() || words[end] != "-m") return std::string(program);
    end += 2;
    return formatted("python -m {}", words[end - 1]);
}

// "--rdzv_backend=c10d" as "--rdzv-backend".
std::string option_name(const std::string& word) {
    std::string name = word.substr(0, word.find('='));
    if (name.starts_with("--")) std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

bool is_program(Word word) {
    return word.ends_with(".py") || word.ends_with(".sh");
}

class Reader {
  public:
    Reader(const std::vector<std::string>& words, LauncherCall call)
        : words_(words), call_(std::move(call)), at_(call_.options) {}

    LauncherCall read() && {
        while (at_ < words_.size() && words_[at_].size() > 1 && words_[at_].front() == '-') take();
        call_.program = at_;
        return std::move(call_);
    }

  private:
    void take() {
        const std::string& word = words_[at_];
        const std::string name = option_name(word);
        const LauncherRecord& record = *call_.record;
        const bool has_value = word.find('=') != std::string::npos;
        if (holds(record.flags, name)) {
            call_.values[name] = "";
            call_.replaced.push_back(at_++);
        } else if (holds(record.with_value, name)) {
            take_replaced(name, has_value);
        } else if (holds(record.parameters, word) && at_ + 2 < words_.size()) {
            call_.parameters.push_back(at_ + 1);
            call_.replaced.insert(call_.replaced.end(), {at_, at_ + 1, at_ + 2});
            at_ += 3;
        } else {
            call_.others.push_back(at_);
            skip_kept(name, has_value);
        }
    }

    void take_replaced(const std::string& name, bool has_value) {
        call_.replaced.push_back(at_);
        const std::string& word = words_[at_++];
        if (has_value) {
            call_.values[name] = word.substr(word.find('=') + 1);
        } else if (at_ < words_.size()) {
            if (name == "-x") call_.exported.push_back(at_);
            call_.values[name] = words_[at_];
            call_.replaced.push_back(at_++);
        }
    }

    // Which of the other options has a value only shows where the script follows.
    void skip_kept(const std::string& name, bool has_value) {
        ++at_;
        if (has_value || holds(call_.record->kept_flags, name) || at_ + 1 >= words_.size()) return;
        if (!words_[at_].starts_with('-') && !is_program(words_[at_])) ++at_;
    }

    const std::vector<std::string>& words_;
    LauncherCall call_;
    std::size_t at_;
};

}  // namespace

std::optional<LauncherCall> read_launcher(const std::vector<std::string>& words,
                                          std::size_t begin) {
    if (begin >= words.size() || words[begin].empty()) return std::nullopt;
    LauncherCall call;
    call.begin = begin;
    const std::string command = command_text(words, begin, call.options);
    const auto record =
        std::find_if(records.begin(), records.end(),
                     [&](const LauncherRecord& each) { return holds(each.commands, command); });
    if (record == records.end()) return std::nullopt;
    call.record = &*record;
    return Reader(words, std::move(call)).read();
}

}  // namespace distgpu
