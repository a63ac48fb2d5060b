// A forked child that waits, as Slurm's tasks do before they are released.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {

class ChildProcess {
  public:
    // After its release the child ends with status 0 where `succeeds` says true.
    explicit ChildProcess(const std::function<bool()>& succeeds) {
        EXPECT_EQ(pipe(gate_.data()), 0);
        pid_ = fork();
        if (pid_ != 0) return;
        close(gate_[1]);
        char byte = 0;
        const bool released = read(gate_[0], &byte, 1) == 1;
        _exit(released && succeeds() ? 0 : 1);
    }
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;
    ChildProcess(ChildProcess&&) = delete;
    ChildProcess& operator=(ChildProcess&&) = delete;
    ~ChildProcess() {
        close(gate_[0]);
        close(gate_[1]);
        if (pid_ > 0) waitpid(pid_, nullptr, 0);
    }

    pid_t pid() const { return pid_; }

    // Whether it succeeded.
    bool release() {
        int status = -1;
        const bool ended = write(gate_[1], "", 1) == 1 && waitpid(pid_, &status, 0) == pid_;
        pid_ = -1;
        return ended && status == 0;
    }

  private:
    std::array<int, 2> gate_{-1, -1};
    pid_t pid_ = -1;
};

}  // namespace distgpu
