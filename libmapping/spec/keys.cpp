// The keys of SPEC: their names, help and effect on the request, in one table.
#include "text/excerpt.h"

#include <distgpu/request.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace distgpu {
namespace {

// A decimal number of digits alone, or nothing.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return number;
}

Result<Request> apply_port(Request request, std::string_view value) {
    return parse_port("port", value).transform([&](std::uint16_t port) {
        request.port = port;
        return std::move(request);
    });
}

Result<Request> apply_master(Request request, std::string_view value) {
    return parse_master(value).transform([&](Master master) {
        request.master = std::move(master);
        return std::move(request);
    });
}

// More processes than this on one node is a typing error: the largest nodes have
// some hundred cores.
constexpr std::uint32_t max_processes_per_node = 4096;

Result<Request> apply_nproc(Request request, std::string_view value) {
    const auto nproc = parse_number<std::uint32_t>(value);
    if (!nproc || *nproc == 0 || *nproc > max_processes_per_node) {
        return Error{fmt::format("nproc={}", value), "not a number of processes",
                     fmt::format("give a number from 1 to {}", max_processes_per_node)};
    }
    request.nproc = *nproc;
    return request;
}

Result<Request> apply_dry_run(Request request, std::string_view /*value*/) {
    request.dry_run = true;
    return request;
}

Result<Request> apply_verbose(Request request, std::string_view /*value*/) {
    request.verbose = true;
    return request;
}

bool is_host_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_' || c == ':';
}

}  // namespace

std::span<const SpecKey> spec_keys() {
    static constexpr std::array keys{
        SpecKey{"port", "N", "MASTER_PORT, instead of one derived from job and step", apply_port},
        SpecKey{"master", "addr|name|suffix:S|HOST",
                "MASTER_ADDR: rank 0's NodeAddr (default), NodeName, NodeName+S, or HOST",
                apply_master},
        SpecKey{"nproc", "N", "processes that a per-node launcher starts on each node",
                apply_nproc},
        SpecKey{"dry-run", "", "print each task's variables and run no program", apply_dry_run},
        SpecKey{"verbose", "", "print the step's and each task's plan on standard error",
                apply_verbose},
    };
    return keys;
}

bool is_host(std::string_view text) {
    constexpr std::size_t longest = 253;  // RFC 1035
    return !text.empty() && text.size() <= longest &&
           std::count(text.begin(), text.end(), ':') != 1 &&
           std::all_of(text.begin(), text.end(), is_host_character);
}

Result<Master> parse_master(std::string_view text) {
    constexpr std::string_view suffix = "suffix:";
    const bool is_suffix = text.substr(0, suffix.size()) == suffix;
    const std::string_view host = is_suffix ? text.substr(suffix.size()) : text;
    if (!is_host(host)) {
        return Error{fmt::format("master={}", excerpt(text)), "not a host name or address",
                     "give addr, name, suffix:S, or a host (its port is port=N)"};
    }
    if (is_suffix) return Master{Master::Form::suffix, std::string(host)};
    if (text == "addr") return Master{Master::Form::address, {}};
    if (text == "name") return Master{Master::Form::name, {}};
    return Master{Master::Form::host, std::string(host)};
}

Result<std::uint16_t> parse_port(std::string_view what, std::string_view text) {
    const auto port = parse_number<std::uint32_t>(text);
    constexpr std::uint32_t last = std::numeric_limits<std::uint16_t>::max();
    if (!port || *port < 1024 || *port > last) {
        return Error{fmt::format("{}={}", what, excerpt(text)),
                     "not a port that a user may listen on",
                     fmt::format("give a number from 1024 to {}", last)};
    }
    return static_cast<std::uint16_t>(*port);
}

}  // namespace distgpu
