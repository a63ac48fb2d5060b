// Messages from the nodes of a step to srun, over the network. Only srun knows the whole step, so
// it sorts and prints what the nodes report, and decides once for all of them.
#pragma once

#include "base/environment.h"
#include "base/io/socket.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace distgpu {

struct NodeMessage {
    std::string kind;                // a word: "rows"
    std::vector<std::string> lines;  // printable ASCII, each of 4 KiB at most
};

// What srun does with the messages. Called in the listener's thread alone.
class MessageReceiver {
  public:
    virtual ~MessageReceiver() = default;

    // Returns whether the message was expected, which its sender learns.
    virtual bool receive(NodeMessage message) = 0;

    // Called at the start, after each message and at the time that the last call returned; for the
    // last time, with `is_step_over`, when the step has ended.
    virtual Deadline act(Clock::time_point now, bool is_step_over) = 0;
};

// In srun: receives messages until the step has ended. Sleeps while there are none.
class SrunListener {
  public:
    ~SrunListener() { finish(); }

    // Opens a port, and sets in `environment` what the nodes need to send messages to it. If srun
    // cannot listen, unsets that, and the nodes send nothing.
    void open(Environment& environment);

    // Starts the thread, if open() has opened a port. `max_lines`: of a message.
    void start(std::unique_ptr<MessageReceiver> receiver, std::size_t max_lines);
    bool is_started() const { return thread_.joinable(); }

    // The step has ended: handles the messages that have arrived, and ends the thread.
    void finish();

  private:
    void run();
    void receive_from(const Socket& connection);

    Socket listener_;
    Pipe wake_;
    std::string token_;  // known only to the tasks of the step
    std::size_t max_lines_ = 0;
    std::unique_ptr<MessageReceiver> receiver_;
    std::thread thread_;
};

// Where srun listens, and by what it knows the nodes of the step.
struct SrunAddress {
    Address address;
    std::string token;
};

// `step`: the environment of the step. nullopt if srun does not listen.
std::optional<SrunAddress> read_srun_address(const Environment& step);

// On a node. False if srun cannot be reached within 2 s, or did not expect the message.
bool send_to_srun(const SrunAddress& srun, const NodeMessage& message);

}  // namespace distgpu
