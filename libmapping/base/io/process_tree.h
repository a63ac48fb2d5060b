// Programs that this process starts, and everything that they start in turn: it stays below this
// process whatever it does, so that nothing outlives it. Under Slurm's proctrack/linuxproc a killed
// program's children would run on.
#pragma once

#include "base/result.h"

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace distgpu {

// From now on this process inherits the orphans among its descendants.
void adopt_orphans();

// Starts `program`, looked up in PATH, in a session of its own.
// Errors (object: the program's name): it cannot be run.
struct StartOptions {
    int output = -1;  // its standard output and error; negative: this process's
    unsigned long open_files = 0;
    int death_signal = SIGKILL;  // what it gets if this process is killed
};
struct NotStarted {
    Error error;
    bool missing = false;  // else: not executable
};
struct Started {
    pid_t pid = -1;
    std::optional<NotStarted> problem{};
};
Started start_program(const std::vector<std::string>& program, const StartOptions& options);

// A child that has ended, and its status as a shell gives it: 128 + the signal that ended it.
struct Ended {
    pid_t pid = -1;
    int status = 0;
};

// Of the children that have ended the next one; nothing: none has.
std::optional<Ended> next_ended();

// Whether any child is left, an adopted one too.
bool has_children();

// Kills all descendants. Those that were just being made are left for the next call. Spared are for
// the time being, if that is wished, Python's resource trackers: each removes the shared memory of
// the others, and ends, as soon as these are gone.
enum class Spared : std::uint8_t { nobody, trackers };
void kill_descendants(Spared spared);

}  // namespace distgpu
