// The rows of the `verbose` table, which the nodes know and send to srun: only srun can sort the
// rows of all nodes, and no node writes to its standard error.
#pragma once

#include "node/srun_messages.h"

namespace distgpu {

inline constexpr const char* rows_message = "rows";

// In srun: collects the rows, to be printed as soon as all nodes have sent theirs. A node that is
// 5 s behind the others prints its own.
class VerboseRows {
  public:
    // `rows`: maximum per node.
    VerboseRows(std::size_t nodes, std::size_t rows) : nodes_(nodes), max_rows_(rows + 1) {}

    // Returns whether they are taken, and will be printed.
    bool add(std::vector<std::string> rows, Clock::time_point now);

    // When to print the rows that were received so far.
    Deadline due() const { return due_; }

    // Returns the rows, sorted by rank, in one text; empty if there are none. Takes no more.
    std::string finish();

  private:
    std::size_t nodes_;     // that have not sent theirs
    std::size_t max_rows_;  // with the line about the rendezvous
    std::vector<std::string> rows_;
    Deadline due_ = Deadline::max();
};

// In the first task of a node: the message with its rows.
NodeMessage message_of_rows(std::string_view rows);

}  // namespace distgpu
