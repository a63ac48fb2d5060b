#include "exec/nodes.h"

#include "base/format.h"

#include <algorithm>

namespace distgpu {

Nodes::Nodes(ControlledStep step, std::uint32_t own, std::vector<std::string> names)
    : step_(std::move(step)), own_(own), names_(std::move(names)) {}

std::optional<Error> Nodes::open() {
    if (step_.nodes == 1) return std::nullopt;
    auto head = Head::listen(step_);
    if (!head) return head.error();
    head_ = *std::move(head);
    return std::nullopt;
}

std::optional<Proof> Nodes::proof() const {
    return head_ ? std::optional(head_->proof()) : std::nullopt;
}

std::optional<Error> Nodes::reach() {
    auto head = reach_head(step_, own_);
    if (!head) return head.error();
    peers_.emplace(0, *std::move(head));
    return std::nullopt;
}

void Nodes::add_to(std::vector<pollfd>& waiting) const {
    if (head_) head_->add_to(waiting);
    for (const auto& [node, peer] : peers_) waiting.push_back({peer.socket().fd(), POLLIN, 0});
}

std::vector<std::uint32_t> Nodes::greet() {
    std::vector<std::uint32_t> joined;
    if (!head_) return joined;
    for (auto& [node, peer] : head_->take()) {
        if (peers_.emplace(node, std::move(peer)).second) joined.push_back(node);
    }
    return joined;
}

std::vector<std::pair<std::uint32_t, Message>> Nodes::hear() {
    std::vector<std::pair<std::uint32_t, Message>> said;
    for (auto& [node, peer] : peers_) {
        if (!peer.is_open()) continue;
        for (Message& message : peer.receive()) said.emplace_back(node, std::move(message));
    }
    return said;
}

void Nodes::tell_all(const Message& message) {
    for (auto& [node, peer] : peers_) peer.send(message);
}

bool Nodes::are_all_connected() const {
    return !head_ || peers_.size() + 1 == step_.nodes;
}

bool Nodes::are_all_up() const {
    return up_.size() + 1 == step_.nodes;
}

std::string Nodes::missing() const {
    return names_without(up_);
}

std::string Nodes::absent() const {
    return names_without(peers_);
}

template <typename Known>
std::string Nodes::names_without(const Known& known) const {
    std::vector<std::string> names;
    for (std::uint32_t node = 1; node < step_.nodes; ++node) {
        if (!known.contains(node)) names.push_back(names_[node]);
    }
    constexpr std::size_t most = 8;
    const std::size_t left_out = names.size() - std::min(names.size(), most);
    names.resize(names.size() - left_out);
    return join(names, ", ") + (left_out == 0 ? "" : formatted(" and {} more", left_out));
}

}  // namespace distgpu
