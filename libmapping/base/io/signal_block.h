// Keeps this thread's signals for later.
#pragma once

#include <csignal>

namespace distgpu {

// Blocks all signals of this thread while it lives. What the thread starts meanwhile, another
// thread, a child, or the program that it execs, begins with them blocked, and a child that leaves
// the scope gets those that came in between.
class SignalBlock {
  public:
    SignalBlock() {
        sigset_t all{};
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalBlock() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalBlock(const SignalBlock&) = delete;
    SignalBlock& operator=(const SignalBlock&) = delete;

  private:
    sigset_t before_{};
};

}  // namespace distgpu
