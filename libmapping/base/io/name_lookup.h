// Looks names up where a name service that does not answer must not cost much time, and where no
// thread may be left waiting for it: in slurmstepd.
#pragma once

#include "base/io/deadline.h"
#include "base/io/resolve.h"

#include <chrono>
#include <string>
#include <vector>

namespace distgpu {

// How long the start of a step waits for a name.
inline constexpr std::chrono::seconds name_patience{1};

struct NameLookup {
    enum class Outcome {
        found,
        unknown,    // there is no such name, or it has no address
        unanswered  // the name service failed, or did not answer by the deadline
    };

    Outcome outcome = Outcome::unanswered;
    std::vector<Address> addresses;  // up to 16 of them, port 0; none unless found
};

// `host`: a name, an IPv4 or a bare IPv6 address. A number is read here; a name is looked up by a
// child process, which is killed at the deadline.
NameLookup look_up_name(const std::string& host, Deadline deadline);

}  // namespace distgpu
