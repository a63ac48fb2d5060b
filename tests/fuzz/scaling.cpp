// nccl-scaling: the lines of its control channel, to whose port anybody may send anything, and its
// results.
#include "bootstrap/channel.h"
#include "bootstrap/messages.h"
#include "report/formats.h"
#include "report/names.h"
#include "targets.h"

#include <string>

namespace distgpu {
using namespace scaling;
namespace {

const Membership own{2, 4, 1, "node02", "node01", 25000, "17.0", "s1.s4"};

void try_hello(std::string_view text) {
    const auto hello = read_hello(text, own);
    if (!hello) return;
    require(hello->rank < own.world_size, "a rank of the run");
    if (!hello->peer.host.empty()) require_line(hello->peer.host);
    if (!hello->peer.switches.empty()) require_line(hello->peer.switches);
    Membership theirs = own;
    theirs.rank = hello->rank;
    theirs.host = hello->peer.host;
    theirs.local_rank = hello->peer.local_rank;
    theirs.switches = hello->peer.switches;
    require(read_hello(hello_text(theirs), own) == hello, "it is read back as it was written");
}

void try_peers(std::string_view text) {
    const auto peers = read_peers(text, own.world_size);
    if (!peers) return;
    require(peers->size() == own.world_size, "every rank has a peer");
    const std::string line = message_line(MessageKind::data, peers_text(*peers));
    require(line.find('\n') + 1 == line.size(), "peers are one line");
    require(read_peers(line, own.world_size) == peers, "they are read back as they were written");
}

void try_switches_above(std::string_view text) {
    const std::string switches = switches_above(text);
    require(switches.size() < text.size() || switches.empty(), "the node is left out");
    if (!switches.empty()) require_line(switches);
}

void try_answer(std::string_view text) {
    const std::vector<Peer> peers(own.world_size, Peer{"node01", 0});
    const auto error = read_answer(peers, 3, text, [](const JsonFields& fields) {
        for (const auto index : fields.indices("indices", 4)) require(index < 4, "an index");
        fields.numbers("numbers");
    });
    if (error) require_line(error->problem);
}

void try_failed(std::string_view text) {
    const RankFailure failed = read_rank_failure(text);
    require(failed.code != ExitCode::done, "who failed has not ended well");
    if (!failed.problem.empty()) require_line(failed.problem);
    const std::string line = failure_line(failed.code, failed.problem);
    require(line.front() == static_cast<char>(MessageKind::failed) && line.back() == '\n',
            "a line");
    require(read_rank_failure(std::string_view(line).substr(1, line.size() - 2)) == failed,
            "it is read back as it was written");
}

}  // namespace

// The lines of nccl-scaling's control channel, to whose port anybody may send anything.
// Of what is sent, a line at a time is read.
void try_bootstrap(std::string_view text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    try_hello(line);
    try_peers(line);
    try_switches_above(text);
    try_failed(line);
    try_answer(line);
}

namespace {

void require_whole(const Results& results) {
    for (const Group& group : results.groups) {
        for (const std::uint32_t node : group.nodes) {
            require(node < results.nodes.size(), "a group's nodes are of the run");
        }
        static_cast<void>(group_label(results, group));
    }
    for (const Measurement& measurement : results.measurements) {
        require(measurement.group < results.groups.size(), "a measurement's group is of the run");
    }
}

}  // namespace

// nccl-scaling's JSON of an earlier run, as --baseline reads it: back to JSON, analysed, reported
// and compared with itself.
void try_scaling_results(std::string_view text) {
    const auto results = results_from_json(text, "FILE");
    if (!results) return require_line(results.error().message());
    require_whole(*results);
    const Report report = make_report(*results);
    const auto again = results_from_json(to_json(report), "FILE");
    require(again && *again == *results, "what is written is read back");
    const Comparison comparison = compare_runs(*results, {"", *results, 0});
    require(comparison.differences.empty(), "a run does not differ from itself");
    require(comparison.unmeasured.empty(), "a run has all that it has");
    require(comparison.changes.size() <= results->measurements.size(), "each is compared once");
}

}  // namespace distgpu
