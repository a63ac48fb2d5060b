#include "base/io/abstract_socket.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <unistd.h>

namespace distgpu {

// It begins with a zero byte and ends where its length says.
AbstractName abstract_name(std::string_view name) {
    AbstractName result;
    result.address.sun_family = AF_UNIX;
    const std::size_t size = std::min(name.size(), sizeof result.address.sun_path - 1);
    std::memcpy(&result.address.sun_path[1], name.data(), size);
    result.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
    return result;
}

bool is_own_users(const Socket& socket) {
    ucred peer{};
    socklen_t length = sizeof peer;
    return getsockopt(socket.fd(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           peer.uid == geteuid();
}

}  // namespace distgpu
