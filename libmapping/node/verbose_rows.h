// Sends the rows of the `verbose` table from the nodes, which know them, to srun. Only srun can
// sort the rows of all nodes, and no node writes to its standard error.
#pragma once

#include "base/environment.h"
#include "base/io/socket.h"

#include <atomic>
#include <thread>

namespace distgpu {

// In srun: prints the rows to its standard error, sorted by rank and in one write, as soon as all
// nodes have sent theirs. A node that is 5 s behind the others prints its own.
class VerboseRows {
  public:
    ~VerboseRows() { finish(); }

    // Starts to listen. `rows`: maximum per node. Sets in `environment` what the nodes need to send
    // their rows; if srun cannot listen, sets nothing, and each node prints its own.
    void collect(Environment& environment, std::size_t nodes, std::size_t rows);

    // The step has ended: prints the rows received so far.
    void finish();

  private:
    void receive_all();
    void receive_node(const Socket& connection);

    Socket listener_;
    std::string token_;  // known only to the tasks of the step
    std::size_t nodes_ = 0;
    std::size_t max_rows_per_node_ = 0;
    std::size_t received_nodes_ = 0;
    std::vector<std::string> rows_;
    std::atomic<bool> is_step_over_ = false;
    std::thread thread_;
};

// In the first task of a node, as its user: sends the rows to srun. False if srun did not accept
// them and will not print them.
bool send_rows(const Environment& task, const std::string& rows);

}  // namespace distgpu
