// The rows of the table that `verbose` asks for, on their way from the nodes, which know them, to
// srun, which alone can put those of all nodes in order and has a stream that no other node writes.
#pragma once

#include "base/environment.h"
#include "base/io/socket.h"

#include <atomic>
#include <thread>

namespace distgpu {

// In srun: prints the rows on its standard error, sorted by rank and in one write, as soon as all
// nodes have sent theirs. A node that is 5 s behind the others prints its own.
class VerboseRows {
  public:
    ~VerboseRows() { finish(); }

    // Starts to listen. `rows`: of a node at the most. What the nodes need to send theirs goes into
    // `environment`; where nothing can be had to listen on, nothing, and each node prints its own.
    void collect(Environment& environment, std::size_t nodes, std::size_t rows);

    // The step has ended: prints what has come.
    void finish();

  private:
    void take_all();
    void take(const Socket& connection);

    Socket listener_;
    std::string token_;  // what only the tasks of the step know
    std::size_t nodes_ = 0;
    std::size_t longest_ = 0;  // rows of a node
    std::size_t heard_ = 0;    // nodes
    std::vector<std::string> rows_;
    std::atomic<bool> ends_ = false;
    std::thread thread_;
};

// In the first task of a node, as its user: whether srun took the rows, which it then prints.
bool send_rows(const Environment& task, const std::string& rows);

}  // namespace distgpu
