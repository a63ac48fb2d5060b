// Unix sockets with an abstract name, by which processes of one machine find each other: the name
// is in no file system, is gone with its socket, and the kernel tells whose process listens.
#pragma once

#include "base/io/socket.h"

#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>

namespace distgpu {

struct AbstractName {
    sockaddr_un address{};
    socklen_t length = 0;

    const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// Up to 107 bytes of `name` count.
AbstractName abstract_name(std::string_view name);

// Whether the process at the other end has the effective user of this one.
bool is_own_users(const Socket& socket);

}  // namespace distgpu
