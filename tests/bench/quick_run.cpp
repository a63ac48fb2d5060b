// How long `nccl-scaling --quick` takes on many nodes, of which one is slow.
//
//     quick_run NODES [SECONDS_OF_SPLIT]
//
// Every rank, one on each node, is a thread that goes through the real run over real connections;
// only the back end is made up: its collectives take as long as 50 GB/s would, on node 1 as 35
// GB/s, and a new communicator takes SECONDS_OF_SPLIT (0.5), whose real figure is not known here.
#include "base/io/open_files.h"
#include "run/options.h"
#include "run/run.h"

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace distgpu::scaling {
namespace {

using Seconds = std::chrono::duration<double>;

struct Meeting {
    explicit Meeting(std::ptrdiff_t ranks) : together(ranks) {}
    std::barrier<> together;
    bool has_slow_node = false;
};

// What the ranks share.
struct Cluster {
    Cluster(std::uint32_t ranks, double split) : all(ranks), split_seconds(split) {}
    std::barrier<> all;
    double split_seconds;
    std::mutex mutex;
    std::map<std::uint32_t, std::shared_ptr<Meeting>>
        meetings;  // of the split under way, by colour
};

class MadeUpCommunicator final : public Communicator {
  public:
    MadeUpCommunicator(std::shared_ptr<Meeting> meeting, std::uint32_t rank)
        : meeting_(std::move(meeting)), random_(rank) {}

    std::optional<Error> run(const Call& call) override {
        std::this_thread::sleep_for(Seconds(seconds_of(call)));
        return std::nullopt;
    }
    std::optional<Error> synchronize() override { return std::nullopt; }
    Result<std::vector<double>> time(const Call& call, std::uint32_t iterations,
                                     const std::function<void()>& made_progress) override {
        std::vector<double> ends;
        double sum = 0;
        for (std::uint32_t i = 0; i < iterations; ++i) ends.push_back(sum += seconds_of(call));
        std::this_thread::sleep_for(Seconds(sum));
        made_progress();
        return ends;
    }
    std::optional<Error> barrier() override {
        meeting_->together.arrive_and_wait();
        return std::nullopt;
    }
    std::optional<Error> close() override { return std::nullopt; }

  private:
    double seconds_of(const Call& call) {
        std::normal_distribution<double> noise(1, 0.03);
        const double rate = meeting_->has_slow_node ? 35e9 : 50e9;
        return static_cast<double>(call.count * sizeof(float)) / rate * noise(random_);
    }

    std::shared_ptr<Meeting> meeting_;
    std::mt19937_64 random_;
};

class MadeUpBackend final : public Backend {
  public:
    explicit MadeUpBackend(Cluster& cluster) : cluster_(cluster) {}

    Result<Description> start(const Member& member) override {
        rank_ = member.rank;
        return Description{{{"library", "made up"}}, "", ""};
    }
    std::optional<Error> connect(const Broadcast& /*unused*/) override { return std::nullopt; }
    Result<std::unique_ptr<Communicator>> split(std::optional<std::uint32_t> colour,
                                                Seat seat) override {
        std::shared_ptr<Meeting> meeting;
        if (colour) {
            const std::lock_guard lock(cluster_.mutex);
            auto& known = cluster_.meetings[*colour];
            if (!known) known = std::make_shared<Meeting>(seat.ranks);
            meeting = known;
            meeting->has_slow_node |= rank_ == 1;
        }
        cluster_.all.arrive_and_wait();
        if (rank_ == 0) cluster_.meetings.clear();
        std::this_thread::sleep_for(Seconds(cluster_.split_seconds));
        cluster_.all.arrive_and_wait();
        if (!meeting) return std::unique_ptr<Communicator>();
        return std::unique_ptr<Communicator>(std::make_unique<MadeUpCommunicator>(meeting, rank_));
    }
    std::optional<Error> barrier() override {
        cluster_.all.arrive_and_wait();
        return std::nullopt;
    }
    bool offers(const Subject& /*any*/) const override { return true; }
    Result<std::byte*> allocate(std::size_t /*unused*/) override { return memory_.data(); }
    std::optional<Error> fill(std::byte* /*unused*/, std::size_t /*unused*/,
                              const Repeated& /*unused*/) override {
        return std::nullopt;
    }
    Result<std::optional<std::size_t>> first_difference(const std::byte* /*unused*/,
                                                        std::size_t /*unused*/,
                                                        const Repeated& /*unused*/) override {
        return std::optional<std::size_t>();
    }
    std::optional<Error> upload(std::byte* /*unused*/,
                                std::span<const std::byte> /*unused*/) override {
        return std::nullopt;
    }
    std::optional<Error> download(std::span<std::byte> /*unused*/,
                                  const std::byte* /*unused*/) override {
        return std::nullopt;
    }
    Result<Rates> copy_rates(std::span<std::byte> /*unused*/,
                             const std::byte* /*unused*/) override {
        return Rates{};
    }
    std::optional<Error> finish() override { return std::nullopt; }

  private:
    Cluster& cluster_;
    std::uint32_t rank_ = 0;
    std::array<std::byte, 1> memory_{};
};

void be_rank(const Options& options, const Membership& membership, Cluster& cluster) {
    const auto end = [&](const Ending& ending) {
        std::printf("rank %u: %s\n", membership.rank, ending.failure.problem.c_str());
        std::fflush(stdout);
        _exit(1);
    };
    const auto names = [](std::uint32_t rank) { return std::to_string(rank); };
    const auto channel = open_channel(membership, {options.timeout, names, end});
    if (!channel) return end(channel.error());
    Recorder recorder(options, stdout);
    MadeUpBackend backend(cluster);
    if (const auto fault = run({options, membership, {}, **channel, backend, recorder})) {
        std::printf("rank %u: %s\n", membership.rank, fault->problem.c_str());
    }
}

}  // namespace
}  // namespace distgpu::scaling

int main(int argc, char** argv) {
    using namespace distgpu::scaling;
    if (argc < 2) return 2;
    const auto nodes = static_cast<std::uint32_t>(std::atoi(argv[1]));
    const std::array words{"nccl-scaling", "--quick", "--check", "0"};
    const auto options = std::get<Options>(*parse_options(words.size(), words.data()));
    distgpu::raise_open_files();
    Cluster cluster(nodes, argc > 2 ? std::atof(argv[2]) : 0.5);
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> ranks;
    for (std::uint32_t rank = 0; rank < nodes; ++rank) {
        ranks.emplace_back([&, rank] {
            be_rank(options,
                    {rank, nodes, 0, "node" + std::to_string(rank), "127.0.0.1", 29515, "17.0"},
                    cluster);
        });
    }
    for (std::thread& rank : ranks) rank.join();
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("%u nodes: %.1f s, of which %ld s of CPU; %ld MiB\n", nodes,
                Seconds(std::chrono::steady_clock::now() - begin).count(),
                usage.ru_utime.tv_sec + usage.ru_stime.tv_sec, usage.ru_maxrss / 1024);
    return 0;
}
