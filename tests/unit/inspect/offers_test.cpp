// What a rank's own variables offer.
#include "inspect/offers.h"

#include "base/io/socket.h"
#include "made_up_folder.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace distgpu {
namespace {

// A process with such variables, in a folder.
class Rank {
  public:
    Rank(const std::string& folder, std::vector<std::string> variables) : pid_(fork()) {
        if (pid_ != 0) {
            wait_for_program();
            return;
        }
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
    Rank(const Rank&) = delete;
    Rank& operator=(const Rank&) = delete;
    ~Rank() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }

    pid_t pid() const { return pid_; }

  private:
    void wait_for_program() const {
        constexpr useconds_t pause = 1000;
        while (read_command(pid_) != "sleep 60") usleep(pause);
    }

    pid_t pid_;
};

TEST(Offers, TorchsRecordsAreFoundWhereTheProgramRuns) {
    const MadeUpFolder folder;
    const Rank rank(folder.path(), {"TORCH_FR_DUMP_TEMP_FILE=distgpu-5.0-rank_"});
    const Rank older(folder.path(),
                     {"TORCH_NCCL_DEBUG_INFO_TEMP_FILE=" + folder.path("trace/rank_")});
    Offers offers;
    offers.take(StartEnvironment(rank.pid()), 2, rank.pid());
    offers.take(StartEnvironment(rank.pid()), 3, rank.pid());
    offers.take(StartEnvironment(older.pid()), 4, older.pid());
    EXPECT_EQ(offers.records(), std::vector<std::string>{});
    folder.write("distgpu-5.0-rank_2", "pickle");
    folder.write("trace/rank_4", "pickle");
    EXPECT_EQ(offers.records(), (std::vector<std::string>{folder.path("distgpu-5.0-rank_2"),
                                                          folder.path("trace/rank_4")}));
}

TEST(Offers, OnlyRank0SaysWhereNcclAnswers) {
    const Socket listener = *listen_on(0);
    const Rank rank("/", {"NCCL_RAS_ADDR=localhost:" + std::to_string(port_of(listener))});
    Offers offers;
    offers.take(StartEnvironment(rank.pid()), 1, rank.pid());
    offers.ask();
    EXPECT_EQ(offers.status(), "");
    EXPECT_FALSE(accept_from(listener));
    offers.take(StartEnvironment(rank.pid()), 0, rank.pid());
    offers.ask();
    for (;;) {
        const auto client = accept_from(listener);
        if (!client) continue;
        static_cast<void>(receive_line(*client, 100, Clock::now() + std::chrono::seconds(5)));
        static_cast<void>(send_all(*client, "220 ESMTP\n", Clock::now() + std::chrono::seconds(5)));
        break;
    }
    EXPECT_EQ(offers.status(),
              "distgpu: NCCL's RAS at localhost:" + std::to_string(port_of(listener)) +
                  ": another program listens there");
}

}  // namespace
}  // namespace distgpu
