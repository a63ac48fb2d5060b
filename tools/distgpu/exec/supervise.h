// Runs one node's part of a step that needs supervision: a server on every node, or programs
// besides the user's. `distgpu exec` stays the parent of the processes that it starts, keeps a
// connection to `distgpu exec` on rank 0's node, and ends when all of its processes have ended.
#pragma once

#include "base/environment.h"
#include "base/io/programs.h"
#include "meet/handshake.h"
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

// node_connections.cpp: connects the nodes of a step, so that each learns when another's part ends.
// The node of rank 0, the head, listens, and every other node connects to it. After the handshake
// (meet/handshake.h) each line is a message.

struct StepNodes {
    Handshake handshake;
    std::vector<std::string> names;  // of all nodes, by node rank
    std::uint32_t own_node = 0;      // this node's rank
    std::string head;                // the address of rank 0's node
    std::uint16_t port = 0;          // on which the head listens
};

struct Message {
    enum class Kind : std::uint8_t {
        up,     // to the head: this node's part is ready
        start,  // from the head: begin, in the folder `text`
        ended,  // this node's part ended by itself, with status `number`
        stop,   // the node received the signal `number`
        end,    // from the head: the step is over
        lost,   // the connection broke
    };
    Kind kind = Kind::lost;
    int number = 0;
    std::string text{};
};

class NodeConnections {
  public:
    explicit NodeConnections(StepNodes step) : step_(std::move(step)) {}

    bool is_head() const { return step_.own_node == 0; }

    // Called on the head. Error: the port is in use.
    std::optional<Error> listen();
    // How other nodes prove that they belong to the step; nullopt if there are none.
    std::optional<Proof> proof() const;

    // Called on the other nodes. One attempt of at most a second, so that the caller can handle
    // signals between attempts.
    std::optional<Error> connect_to_head();

    void add_to(std::vector<pollfd>& waiting) const;

    // The nodes that have connected to the head since the last call. Does not wait.
    std::vector<std::uint32_t> accept_nodes();
    // The messages that have arrived, each with its node; the last one of a node is `lost` if its
    // connection broke.
    std::vector<std::pair<std::uint32_t, Message>> receive();
    // Does nothing if the connection is broken.
    void send(std::uint32_t node, const Message& message);
    void send_to_all(const Message& message);

    void set_ready(std::uint32_t node) { ready_.insert(node); }
    bool are_all_connected() const { return !listener_.is_open() || peers_.size() + 1 == count(); }
    bool are_all_ready() const { return ready_.size() + 1 == count(); }
    // The names of nodes, at most eight: "n1, n2 and 7 more".
    std::string names_not_ready() const;
    std::string names_not_connected() const;

    const std::string& name(std::uint32_t node) const { return step_.names[node]; }
    const std::string& own_name() const { return step_.names[step_.own_node]; }
    std::size_t count() const { return step_.names.size(); }

  private:
    struct Peer {
        Socket socket;
        std::string received{};
    };

    template <typename Known>
    std::string names_without(const Known& known) const;

    StepNodes step_;
    Socket listener_;                        // on the head, if there are other nodes
    std::optional<HandshakeServer> server_;  // likewise
    std::map<std::uint32_t, Peer> peers_;    // on the head all other nodes, elsewhere the head
    std::set<std::uint32_t> ready_;          // on the head: other nodes that are ready
};

// node_processes.cpp: the processes of a step on one node: the program, the companion below it if
// there is one, such as `ray start --block`, and the query; and the folder for their files.

// The path of the step's folder.
struct FolderRule {
    std::string variable;        // names its parent folder; /tmp if not set
    std::string prefix;          // of its name: "ray-"
    std::size_t max_length = 0;  // of its path, in bytes
};

// A private folder of the step on this node, removed when this object is destroyed. Making one also
// removes folders of earlier steps whose `distgpu exec` was killed.
class StepFolder {
  public:
    StepFolder() = default;  // without a folder
    ~StepFolder();
    StepFolder(StepFolder&& other) noexcept { *this = std::move(other); }
    StepFolder& operator=(StepFolder&& other) noexcept {
        std::swap(path_, other.path_);
        std::swap(lock_, other.lock_);
        return *this;
    }

    // `path`: as chosen by rank 0's node; empty to choose an unpredictable name. Errors: the path
    // is too long; it exists already, for example because the nodes share its parent; it cannot be
    // made.
    static Result<StepFolder> make(const FolderRule& rule, std::string path = "");

    const std::string& path() const { return path_; }

  private:
    StepFolder(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

    std::string path_;  // empty without a folder
    UniqueFd lock_;     // of a file in it, held while the step runs
};

struct NodeCommands {
    std::vector<std::string> program;
    // Runs on every node below the program, which then runs only on rank 0's node. May be empty.
    std::vector<std::string> companion{};
    std::string ready_text{};     // printed by the companion when it is ready
    FolderRule folder{};          // of the step on this node
    std::string folder_option{};  // of the companion on rank 0's node, followed by the folder
    // Runs on rank 0's node next to the companion, to find out whether that is recent enough.
    std::vector<std::string> query{};
    std::string outdated_text{};  // printed if the query ends with status 2, as for a usage error
    std::string environment{};    // shell lines for another step of the job, written to that folder
};

class NodeProcesses {
  public:
    enum class Role : std::uint8_t { program, companion, query };

    // Raises the limit of open files for this process, but not for those that it starts.
    explicit NodeProcesses(const NodeCommands& commands);

    bool has_companion() const { return !commands_.companion.empty(); }
    bool is_running(Role role) const { return running_.contains(role); }
    bool have_ended() const { return !is_running(Role::program) && !is_running(Role::companion); }

    // `path`, and errors: as in StepFolder::make().
    std::optional<Error> make_folder(const std::string& path = "");
    void remove_folder() { folder_ = {}; }
    std::string folder() const { return folder_.path(); }
    std::string environment_file() const { return folder_.path() + "/env"; }

    // Without a companion, the program gets a folder for its temporary files, if it can be made.
    // Errors: the program cannot be run.
    std::optional<NotStarted> start_program();
    std::optional<NotStarted> start_companion(bool is_head);
    // Does nothing without a query, or if it cannot be run.
    void start_query();

    // The companion's output, to poll; negative if there is none. Printed only if the companion
    // fails.
    int output_fd() const { return output_.fd(); }
    // Reads the companion's output; true once, when the companion becomes ready.
    bool has_become_ready();
    // The end of its output, including what it printed just before it ended.
    const std::string& last_output();

    // The role of a child that has ended; nullopt if it has none.
    std::optional<Role> remove_ended(pid_t child);
    void send_signal(Role role, int signal) const;

  private:
    std::optional<NotStarted> start(Role role, const std::vector<std::string>& command,
                                    StartOptions options);
    // False if there was nothing to read.
    bool read_output();

    const NodeCommands& commands_;
    std::uint64_t original_file_limit_;
    StepFolder folder_;
    std::map<Role, pid_t> running_;
    UniqueFd output_;  // the read end of a pipe
    std::string output_text_;
    bool is_companion_ready_ = false;
};

// Makes this process inherit orphans among its descendants, so that none outlives it: with Slurm's
// proctrack/linuxproc a killed program's children would continue to run.
void adopt_orphans();

// A child that has ended, and its status as in a shell: 128 + the signal that ended it.
struct EndedChild {
    pid_t pid = -1;
    int status = 0;
};

// The next child that has ended; nullopt if none has.
std::optional<EndedChild> reap_child();

// Whether any child is left, including adopted ones.
bool has_children();

// Kills all descendants, except those that are being forked meanwhile: call it again. Python's
// resource trackers may be spared: a tracker removes the shared memory of other processes and exits
// when they are gone.
enum class Trackers : std::uint8_t { kill, spare };
void kill_descendants(Trackers trackers);

// supervise.cpp: supervises a step; plan_supervision.cpp: makes a Supervision from a plan.

// The request that shows whether a server is ready.
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
    std::string mode;                        // "vllm", for messages
    StepNodes step;                          // how the nodes are connected
    std::uint16_t service_port = 0;          // of the service on rank 0's node
    NodeCommands commands;                   // run on this node
    std::optional<HealthCheck> health{};     // of the server on rank 0's node
    std::function<void()> end_step{};        // cancels it in Slurm; empty if not started by Slurm
    std::chrono::seconds join_timeout{600};  // within which all nodes have to be connected
    std::chrono::seconds notice_delay{30};   // after which a notice lists the missing nodes
    std::chrono::seconds grace_period{10};   // from the request to end until the kill
};

// Without a companion, the end of any node's program ends the step, and is a failure unless a
// signal requested it. With a companion, the program starts when the companions of all nodes are
// ready, and the step ends with the program, with its status; an earlier end of a companion is a
// failure. Returns the status to exit with; that of rank 0's node is the step's.
ExitCode supervise(const Supervision& supervision);

// Makes the supervision from a task's plan. The program gets the plan's options, and variables of
// the same meaning are removed from its `environment`, because they would mislead the processes
// that it starts. Precondition: the framework has a service.
Supervision make_supervision(const OwnTask& own_task, const std::vector<std::string>& program,
                             Environment& environment);

// "42.0"
std::string step_name(const OwnTask& own_task);

// A function that ends the whole step, even on nodes where `distgpu exec` has not started yet;
// empty if Slurm did not start the step. `environment` has to outlive it.
std::function<void()> step_canceller(const OwnTask& own_task, const Environment& environment);

}  // namespace distgpu
