// What a user or an administrator asks for: SPEC, the arguments in plugstack.conf, ports, and what
// a task began with.
#include "mapping/rendezvous/rendezvous.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"
#include "mapping/texts/variables.h"
#include "slurm/plugstack_arguments.h"
#include "targets.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace distgpu {

// SPEC, the value of --distgpu, and the plans that it asks for.
void try_spec(std::string_view text) {
    const auto request = parse_spec("--distgpu", text);
    if (!request) {
        require_line(request.error().message());
        require(request.error().message().size() < 2048, "a refusal is short");
        return;
    }
    require(text.size() <= max_spec_length, "the length is bounded");
    require(!request->port || *request->port >= 1024, "a port of users");
    require(!request->nproc || (*request->nproc >= 1 && *request->nproc <= 4096),
            "a possible number of processes");
    require(!request->help || request->framework == nullptr, "help is no framework");
    if (request->framework == nullptr) return;
    NodeFacts facts;
    facts.gpus = 4;
    facts.cpus = 8;
    require_complete_plans(*request, two_nodes_with(1), facts);
    require_complete_plans(*request, two_nodes_with(4), facts);
}

// The plugin's arguments in plugstack.conf, one a line: each counts, or is ignored aloud.
void try_plugstack(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t end =
            std::min(text.find_first_of(std::string_view("\n\0", 2)), text.size());
        words.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    std::vector<const char*> arguments;
    arguments.reserve(words.size());
    for (const std::string& word : words) arguments.push_back(word.c_str());
    const PlugstackArguments read = parse_plugstack_arguments(arguments);
    require(read.ignored_arguments.size() <= words.size(), "one complaint each at most");
    for (const Error& complaint : read.ignored_arguments) {
        require(ignored_argument_message(complaint).find('\n') == std::string::npos, "of one line");
    }
    require(read.topology.empty() || read.topology.front() == '/', "an absolute path");
    require(read.command.empty() || read.command.front() == '/', "an absolute path");
    require(read.ports.first >= 1024 && read.ports.first < read.ports.last, "ports of users");
    auto request = parse_spec("SPEC", "pytorch");
    apply_defaults(*request, read);
    Step step = two_nodes_with(2);
    step.rendezvous.derived_ports = read.ports;
    step.rendezvous.default_master = read.master;
    require_complete_plans(*request, step, {});
}

// Lists and ranges of ports, and the port derived from a range.
void try_reserved_ports(std::string_view text) {
    for (const std::uint32_t needed : {1U, 2U, 9U, 65535U}) {
        const auto port = first_contiguous_port(text, needed);
        require(!port || *port >= 1024, "a port of users");
        require(!port || *port + needed <= 65536U, "as many ports as are needed");
    }
    const auto range = parse_port_range(text);
    if (!range) return;
    require(range->first >= 1024 && range->first < range->last, "ports of users");
    for (const std::uint32_t room : {1U, 16U, 17U, 70000U}) {
        const std::uint16_t port =
            derived_port({static_cast<std::uint32_t>(text.size()), 1, 2}, *range, room);
        require(port >= range->first && port <= range->last, "a derived port lies in the range");
    }
}

// What a task began with, as its environment has it, which its user may have changed.
void try_bound_record(std::string_view text) {
    const BoundRecord record = read_bound_record(text);
    require(record.gpus.size() <= 256, "a node has so many GPUs");
    for (const BoundGpu& gpu : record.gpus) {
        require(gpu.pci.find('/') == std::string::npos && gpu.pci.find("..") == std::string::npos,
                "an address names no other file");
    }
    const auto variables = record.variables.value_or(std::vector<BoundVariable>{});
    require(variables.size() <= bound_variables().size(), "a variable is recorded once");
    const std::string written = bound_record_text(record.cpus, NodeFacts{}, variables);
    require_line(written);
    const BoundRecord again = read_bound_record(written);
    require(again.cpus == record.cpus && again.variables == variables,
            "CPUs and variables are read back");
}

}  // namespace distgpu
