#include "analysis/own_figures.h"

#include "analysis/match_fit.h"
#include "analysis/peers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace distgpu::scaling {
namespace {

using Kind = Limiter::Kind;

bool is_of(const Finding& finding, std::uint32_t node) {
    return is_of_a_node(finding.limiter) && finding.limiter.node == node;
}

// Nodes that the matches accuse and that are well on their own.
std::vector<Finding> open_nodes(const Blame& blame, const std::vector<SlowPeer>& inside) {
    std::vector<Finding> open;
    for (const auto& finding : blame.findings) {
        const bool explained = std::any_of(inside.begin(), inside.end(), [&](const SlowPeer& one) {
            return is_of(finding, one.number);
        });
        if (finding.limiter.kind == Kind::node && !explained) open.push_back(finding);
    }
    return open;
}

// The one that is as slow as the rail.
std::optional<std::uint32_t> owner_of(const SlowPeer& rail, const std::vector<Finding>& open) {
    std::optional<std::uint32_t> owner;
    for (const auto& finding : open) {
        if (std::abs(finding.relative - rail.relative) >= least_effect) continue;
        if (owner) return std::nullopt;
        owner = finding.limiter.node;
    }
    return owner;
}

// In place of the node, or beside another port of it.
void name_port(std::vector<Finding>& findings, std::uint32_t node, std::uint32_t rail) {
    const auto place = std::find_if(findings.begin(), findings.end(),
                                    [&](const Finding& finding) { return is_of(finding, node); });
    Finding port = *place;
    port.limiter.local_rank = rail;
    if (place->limiter.kind == Kind::node) {
        port.limiter.kind = Kind::node_rail;
        *place = port;
    } else {
        findings.push_back(port);
    }
}

// What the open nodes showed rail by rail says which of their ports it is.
void name_measured_ports(Blame& blame, std::vector<Finding>& open, const Evidence& evidence,
                         double noise) {
    const auto has_slow_port = [&](const Finding& finding) {
        const auto node = finding.limiter.node;
        const auto ports = slow_ports(evidence.pair_rails, node, noise);
        for (const auto& port : ports) name_port(blame.findings, node, port.number);
        return !ports.empty();
    };
    open.erase(std::remove_if(open.begin(), open.end(), has_slow_port), open.end());
}

// A port that is as slow as the rail.
bool is_explained(const SlowPeer& rail, const std::vector<Finding>& findings) {
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
        return finding.limiter.kind == Kind::node_rail &&
               finding.limiter.local_rank == rail.number &&
               finding.relative < rail.relative + least_effect;
    });
}

}  // namespace

void add_own_figures(Blame& blame, const Evidence& evidence, double noise) {
    const auto inside = slow_alone(evidence.alone, noise);
    auto open = open_nodes(blame, inside);
    name_measured_ports(blame, open, evidence, noise);
    for (const auto& one : inside) {
        const bool known =
            std::any_of(blame.findings.begin(), blame.findings.end(),
                        [&](const auto& finding) { return is_of(finding, one.number); });
        if (!known) blame.findings.push_back({{.node = one.number}, one.relative, one.deviations});
    }
    for (const auto& rail : slow_rails(evidence.rails, noise)) {
        if (is_explained(rail, blame.findings)) continue;
        if (open.empty() && blame.doubt.kind == Doubt::Kind::none) {
            blame.findings.push_back(
                {{.kind = Kind::rail, .local_rank = rail.number}, rail.relative, rail.deviations});
        } else if (const auto owner = owner_of(rail, open)) {
            name_port(blame.findings, *owner, rail.number);
        }
    }
}

}  // namespace distgpu::scaling
