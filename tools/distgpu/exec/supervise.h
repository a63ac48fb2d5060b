// Runs one node's part of a step that needs supervision: a server on every node, or programs beside
// the user's own. `distgpu exec` stays the parent of what it starts, is connected with `distgpu
// exec` on rank 0's node, and ends when everything that it started has ended.
#pragma once

#include "base/environment.h"
#include "base/io/programs.h"
#include "meet/meeting.h"
#include "node/own_task.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <poll.h>
#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// nodes.cpp: the nodes of a step, connected so that each learns when another's part ends: the node
// of rank 0, the head, listens, and every other node connects to it. They meet as meet/meeting.h
// says; then each line is a message.

struct ControlledStep {
    Meeting meeting;
    std::vector<std::string> names;  // of all nodes, by their ranks
    std::uint32_t own = 0;           // this node's rank
    std::string head;                // the address of rank 0's node
    std::uint16_t port = 0;          // on which it listens for the others
};

struct Message {
    enum class Kind : std::uint8_t {
        up,     // to the head: this node's part is ready
        start,  // from the head: begin, in the folder `text`
        ended,  // this node's part ended by itself, with status `number`
        stop,   // the signal `number` came
        end,    // from the head: the step is over
        lost,   // the connection broke
    };
    Kind kind = Kind::lost;
    int number = 0;
    std::string text{};
};

class Nodes {
  public:
    explicit Nodes(ControlledStep step) : step_(std::move(step)) {}

    bool is_head() const { return step_.own == 0; }

    // The head listens for the others. Error: the port is taken.
    std::optional<Error> open();
    // How the others have to prove that they are of the step; nothing: there are none.
    std::optional<Proof> proof() const;

    // Another node connects to the head: one attempt of at most a second, so that the caller sees
    // signals between two of them.
    std::optional<Error> reach();

    void add_to(std::vector<pollfd>& waiting) const;

    // The nodes that have connected to the head since the last call. Waits for nothing.
    std::vector<std::uint32_t> greet();
    // The messages that have come, each with its node; the last one of a node is `lost` if its
    // connection broke.
    std::vector<std::pair<std::uint32_t, Message>> hear();
    // Does nothing on a broken connection.
    void tell(std::uint32_t node, const Message& message);
    void tell_all(const Message& message);

    void set_up(std::uint32_t node) { up_.insert(node); }
    bool are_all_connected() const { return !listener_.is_open() || peers_.size() + 1 == count(); }
    bool are_all_up() const { return up_.size() + 1 == count(); }
    // The names of the nodes that are not up, or never connected: "n1, n2 and 7 more".
    std::string missing() const;
    std::string absent() const;

    const std::string& name(std::uint32_t node) const { return step_.names[node]; }
    const std::string& own_name() const { return step_.names[step_.own]; }
    std::size_t count() const { return step_.names.size(); }

  private:
    struct Peer {
        Socket socket;
        std::string received{};
    };

    template <typename Known>
    std::string names_without(const Known& known) const;

    ControlledStep step_;
    Socket listener_;                      // of the head, if there are other nodes
    std::optional<Host> host_;             // the same
    std::map<std::uint32_t, Peer> peers_;  // of the head all others, else the head alone
    std::set<std::uint32_t> up_;           // those of the others that are ready
};

// parts.cpp: what one node runs of a step: the program, and where there is one, the companion below
// it, such as `ray start --block`; and the folder in which they keep their files.

// Where the step's folder may be, and what it is called.
struct FolderRule {
    std::string variable;     // names the folder around it; where it is not set, that is /tmp
    std::string prefix;       // of its name: "ray-"
    std::size_t longest = 0;  // of its path, in bytes
};

// A folder of the step on this node which nobody else can enter, removed with this object. Making
// one also removes those of earlier steps whose `distgpu exec` was killed.
class StepFolder {
  public:
    StepFolder() = default;  // none
    ~StepFolder();
    StepFolder(StepFolder&& other) noexcept { *this = std::move(other); }
    StepFolder& operator=(StepFolder&& other) noexcept {
        std::swap(path_, other.path_);
        std::swap(lock_, other.lock_);
        return *this;
    }

    // `path`: that rank 0's node chose; empty: with a name that nobody can know before.
    // Errors: the path is too long; it is there already, as where both nodes see the same one; it
    // cannot be made.
    static Result<StepFolder> make(const FolderRule& rule, std::string path = "");

    const std::string& path() const { return path_; }

  private:
    StepFolder(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

    std::string path_;  // empty: none
    UniqueFd lock_;     // a file in it, held as long as the step runs
};

struct PartCommands {
    std::vector<std::string> program;
    // Runs on every node, below the program, which then runs on rank 0's node alone. Empty: none.
    std::vector<std::string> companion{};
    std::string up_text{};        // what the companion prints when it is ready
    FolderRule folder{};          // of the step on this node
    std::string folder_option{};  // by which rank 0's node gives it to the companion
    // On rank 0's node, beside the companion, asks it for something that older ones do not know.
    std::vector<std::string> query{};
    std::string unknown{};      // what to say if it ends with status 2, as for an unknown word
    std::string environment{};  // lines for a shell in another step of the job, kept in that folder
};

class Parts {
  public:
    enum class Part : std::uint8_t { program, companion, query };

    // Raises the limit of open files for this process, but not for what it starts.
    explicit Parts(const PartCommands& commands);

    bool has_companion() const { return !commands_.companion.empty(); }
    bool runs(Part part) const { return running_.contains(part); }
    bool are_over() const { return !runs(Part::program) && !runs(Part::companion); }

    // `path`, and errors: as in StepFolder::make().
    std::optional<Error> make_folder(const std::string& path = "");
    void remove_folder() { folder_ = {}; }
    std::string folder() const { return folder_.path(); }
    std::string environment_file() const { return folder_.path() + "/env"; }

    // Without a companion its temporary files are removed with the step, if possible. Errors: it
    // cannot be run.
    std::optional<NotStarted> start_program();
    std::optional<NotStarted> start_companion(bool is_head);
    // If there is a query. One that cannot be run is not reported.
    void start_query();

    // The companion's output, to wait for; negative: there is none. Nobody sees it unless the
    // companion fails.
    int output() const { return output_.fd(); }
    // True once: the companion is ready.
    bool becomes_ready();
    // The last lines of its output, also what it printed just before its end.
    const std::string& last_output();

    // Which of them a child was that has ended; nothing: none of them.
    std::optional<Part> take_end(pid_t child);
    void signal(Part part, int signal) const;

  private:
    std::optional<NotStarted> start(Part part, const std::vector<std::string>& command,
                                    StartOptions options);
    // False: there was nothing to read.
    bool read_output();

    const PartCommands& commands_;
    std::uint64_t usual_files_;
    StepFolder folder_;
    std::map<Part, pid_t> running_;
    UniqueFd output_;  // a pipe's end
    std::string output_text_;
    bool companion_is_ready_ = false;
};

// From now on this process inherits the orphans among its descendants, so that nothing outlives it:
// under Slurm's proctrack/linuxproc a killed program's children would run on.
void adopt_orphans();

// A child that has ended, and its status as a shell gives it: 128 + the signal that ended it.
struct Ended {
    pid_t pid = -1;
    int status = 0;
};

// Of the children that have ended the next one; nothing: none has.
std::optional<Ended> next_ended();

// Whether any child is left, an adopted one too.
bool has_children();

// Kills all descendants; those that were just being made are left for the next call. Python's
// resource trackers may be spared: each removes the shared memory of the others and ends once these
// are gone.
enum class Spared : std::uint8_t { nobody, trackers };
void kill_descendants(Spared spared);

// supervise.cpp: all of it together; supervision_of.cpp: of what a plan asks for.

// How to ask a server whether it answers yet.
struct HealthCheck {
    std::string host;  // a name or an address
    std::uint16_t port = 0;
    std::string path;  // "/health"
};

// "http://10.0.0.1:8000"
std::string url_of(const HealthCheck& check);

// Whether the server answers a GET of the path with status 200. Waits for half a second at most.
bool is_healthy(const HealthCheck& check);

struct Supervision {
    std::string mode;                      // "vllm", for messages
    ControlledStep step;                   // whose part this is, and how the nodes are connected
    std::uint16_t first_port = 0;          // of the step, where rank 0's node serves
    PartCommands parts;                    // what this node runs
    std::optional<HealthCheck> health{};   // on rank 0's node: how to ask whether it is ready
    std::function<void()> end_step{};      // by Slurm; empty: Slurm did not start the step
    std::chrono::seconds join_limit{600};  // within which all nodes have to be connected
    std::chrono::seconds usual_start{30};  // after which the user is told which nodes are missing
    std::chrono::seconds grace{10};        // from the request to end until the kill
};

// Without a companion any end of a node's program ends the step, and is a failure unless a signal
// asked for it. With one, the program starts when the companions of all nodes are ready, and its
// end is the step's, with its status; an earlier end of a companion is a failure. Result: the
// status to end with; that of rank 0's node is the step's.
ExitCode supervise(const Supervision& supervision);

// What a task's plan asks for. The program gets the plan's options, and its `environment` loses the
// variables of the same meaning: they would mislead what it starts. Precondition: the framework has
// a service.
Supervision supervision_of(const OwnTask& own, const std::vector<std::string>& program,
                           Environment& environment);

// "42.0"
std::string step_name(const OwnTask& own);

// Ends the whole step, also on the nodes where `distgpu exec` has not begun. Empty: Slurm did not
// start it. `environment` has to live as long.
std::function<void()> step_end(const OwnTask& own, const Environment& environment);

}  // namespace distgpu
