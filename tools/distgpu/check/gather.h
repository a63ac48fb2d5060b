// How the reports of all ranks come to rank 0: over its rendezvous port, which is thereby tried as
// the framework will use it, or past it where that fails.
#pragma once

#include "base/io/tcp/deadline.h"
#include "base/io/tcp/socket.h"
#include "check/report.h"
#include "mapping/rendezvous/rendezvous.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

// Where rank 0 listens.
struct Endpoint {
    std::string host;
    std::uint16_t port = 0;
};

// Takes reports until those of all the other ranks of a world of `world_size` are there, or until
// the deadline. By rank, one each. `name` is what rank 0 says to everybody who connects, so that
// nobody takes another program for it.
std::vector<Report> gather(const std::vector<Socket>& listeners, const std::string& name,
                           std::uint32_t world_size, Deadline deadline);

// Tells rank 0 at the first of the endpoints, or, with the reason in `unreached`, at another of
// them; tries until the deadline. Error: nobody took it; why the first did not.
std::optional<Error> deliver(Report report, const std::vector<Endpoint>& endpoints,
                             const std::string& name, Deadline deadline);

}  // namespace distgpu
