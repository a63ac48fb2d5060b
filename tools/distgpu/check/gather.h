// How the reports of all ranks come to rank 0: over its rendezvous port, which is thereby tried as
// the framework will use it, or past it where that fails.
#pragma once

#include "base/io/deadline.h"
#include "base/io/socket.h"
#include "check/report.h"
#include "mapping/rendezvous/rendezvous.h"
#include "meet/meeting.h"
#include "meet/node_link.h"
#include "meet/proof.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

// Where rank 0 listens.
struct Endpoint {
    std::string host;
    std::uint16_t port = 0;
};

struct Gathered {
    std::vector<Report> reports;  // by rank, one each
    Proof proof = Proof::none;    // that each of them had to bring
    std::uint32_t ignored = 0;    // connections that sent something else than a proven report
    // By rank, of those that stay on the connection.
    std::map<std::uint32_t, NodeLink> links{};
};

// Takes reports until those of all the other ranks of a world of `world_size` are there, or until
// the deadline.
Gathered gather(const std::vector<Socket>& listeners, const Meeting& meeting,
                std::uint32_t world_size, Deadline deadline);

// What is to be said of how they came. `rendezvous`: rank 0's address and port.
Findings findings_of(const Gathered& gathered, const std::string& rendezvous);

// Tells rank 0 at the first of the endpoints, or, with the reason in `unreached`, at another of
// them; tries until the deadline. Returns the connection, for what follows the report.
// Error: nobody took it; why the first did not.
Result<NodeLink> deliver(Report report, const std::vector<Endpoint>& endpoints,
                         const Meeting& meeting, Deadline deadline);

}  // namespace distgpu
