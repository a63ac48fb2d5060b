// A port of this machine on which a socket listens while the object lives.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace distgpu {

class ListeningPort {
  public:
    ListeningPort() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        socklen_t size = sizeof(address);
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(bind(socket_, generic, size), 0);
        EXPECT_EQ(listen(socket_, 1), 0);
        EXPECT_EQ(getsockname(socket_, generic, &size), 0);
        port_ = ntohs(address.sin_port);
    }
    ListeningPort(const ListeningPort&) = delete;
    ListeningPort& operator=(const ListeningPort&) = delete;
    ListeningPort(ListeningPort&&) = delete;
    ListeningPort& operator=(ListeningPort&&) = delete;
    ~ListeningPort() { close(socket_); }

    std::uint16_t port() const { return port_; }

  private:
    int socket_;
    std::uint16_t port_ = 0;
};

}  // namespace distgpu
