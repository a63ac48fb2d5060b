// What one node runs of a step: the program, and the companion below it where there is one.
#pragma once

#include "base/io/process_tree.h"
#include "exec/companion.h"
#include "exec/step_folder.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

struct PartCommands {
    std::vector<std::string> program;
    // Runs on every node, below the program, which is then rank 0's node's alone. Empty: none.
    std::vector<std::string> companion{};
    std::string up_text{};        // what it prints when it is ready
    FolderRule folder{};          // of the step on this node
    std::string folder_option{};  // by which rank 0's node gives it to the companion
    // On rank 0's node, beside the companion, asks it for something that older ones do not know.
    std::vector<std::string> query{};
    std::string unknown{};      // what to say where it ends with status 2, as for a wrong word
    std::string environment{};  // lines for a shell in another step of the job, kept in that folder
};

class Parts {
  public:
    enum class Part : std::uint8_t { none, program, companion, query };

    // Allows this process, but not what it starts, as many open files as it may have.
    explicit Parts(const PartCommands& commands);

    bool has_companion() const { return !commands_.companion.empty(); }
    bool runs_program() const { return program_ > 0; }
    bool are_over() const { return program_ < 0 && !companion_.is_running(); }

    // On rank 0's node: chooses the folder. Errors: as StepFolder::make().
    std::optional<Error> make_folder();
    // On another one: takes the name that rank 0's node chose. Errors: as StepFolder::make_at().
    std::optional<Error> make_folder_at(const std::string& path);
    // Without a companion: the program's temporary files go with the step, where that can be.
    void make_temporary_folder();
    void remove_folder() { folder_ = {}; }
    const std::string& folder() const { return folder_.path(); }
    std::string environment_file() const { return folder_.path() + "/env"; }

    // Errors: they cannot be run.
    std::optional<NotStarted> start_program();
    std::optional<NotStarted> start_companion(bool is_head);
    // Where there is one. It goes unanswered if it cannot be run.
    void start_query();

    // To wait for the companion's output; negative: there is none.
    int output() const { return companion_.output(); }
    // True once: the companion is ready.
    bool becomes_ready() { return companion_.output() >= 0 && companion_.becomes_ready(); }
    const std::string& last_output() { return companion_.last_output(); }

    // Which of them a child was that has ended.
    Part take_end(pid_t child);

    void signal_program(int signal) const;
    void signal_companion(int signal) const;

  private:
    const PartCommands& commands_;
    std::uint64_t usual_files_;
    StepFolder folder_;
    Companion companion_;
    pid_t program_ = -1;  // negative: not started, or ended
    pid_t query_ = -1;    // the same
};

}  // namespace distgpu
