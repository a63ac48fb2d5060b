// Another program, `sleep 60`, which runs in a folder with these variables.
#pragma once

#include "inspect/process_facts.h"

#include <csignal>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace distgpu {

class Sleeper {
  public:
    explicit Sleeper(std::vector<std::string> variables, const std::string& folder = "/")
        : pid_(fork()) {
        if (pid_ == 0) {
            std::vector<char*> environment;
            for (std::string& variable : variables) environment.push_back(variable.data());
            environment.push_back(nullptr);
            if (chdir(folder.c_str()) != 0) _exit(1);
            std::string name = "sleep";
            std::string time = "60";
            std::vector<char*> words{name.data(), time.data(), nullptr};
            execve("/bin/sleep", words.data(), environment.data());
            _exit(1);
        }
        constexpr useconds_t pause = 1000;
        while (read_command(pid_) != "sleep 60") usleep(pause);
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    ~Sleeper() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }

    pid_t pid() const { return pid_; }

  private:
    pid_t pid_;
};

}  // namespace distgpu
