#include "mapping/texts/sent_step.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/take_until.h"
#include "base/values.h"
#include "mapping/rendezvous/host_port.h"
#include "mapping/texts/layout_line.h"
#include "mapping/texts/variables.h"

#include <algorithm>
#include <array>
#include <utility>

namespace distgpu {
namespace {

constexpr std::string_view layout_word = "layout=";

struct Flag {
    std::string_view word;
    bool SentStep::*member;
};
constexpr std::array flags{Flag{"refused", &SentStep::refused},
                           Flag{"cpu_bind", &SentStep::cpu_bind}, Flag{"ntasks", &SentStep::ntasks},
                           Flag{"helper", &SentStep::helper}};

// With the blank behind it.
std::string beginning(std::uint32_t job, std::uint32_t step) {
    return formatted("v2 {}.{} ", job, step);
}

constexpr std::size_t longest_file = 256;

// One that stands in the text as it is.
bool is_plain_path(std::string_view path) {
    return path.starts_with('/') && path.size() <= longest_file &&
           path.find(' ') == std::string_view::npos && printable(path) == path;
}

// What encode() writes at the most: each node's name, twice, and address, and a block for each
// task.
std::size_t longest_text(StepSize size) {
    constexpr std::size_t rest = 256 + HostList::max_name_length + longest_file;
    constexpr std::size_t of_node = 3 * (HostList::max_name_length + 1);
    constexpr std::size_t of_task = sizeof("16777216.16777216.2147483648.2147483648,");
    return rest + size.nodes * of_node + size.tasks * of_task;
}

Error refusal(std::string problem) {
    return {sent_variable, std::move(problem), formatted("run again without {}", sent_variable)};
}

// False: the word is one that encode() writes, with a value that it does not.
bool read_word(SentStep& step, std::string_view word, StepSize size) {
    for (const Flag& flag : flags) {
        if (word == flag.word) return step.*flag.member = true;
    }
    const std::string_view name = take_until(word, '=');
    if (name == "rank0") {
        step.rank0_address = word;
        return is_host(word);
    }
    if (name == "gpus") {
        const auto gpus = whole_number(word);
        step.gpus = gpus.value_or(0);
        return gpus.has_value();
    }
    if (name == "plugin") {
        step.plugin_file = word;
        return is_plain_path(word);
    }
    if (name == "addresses" && size.nodes > 0) {
        auto addresses = HostList::parse(word, size.nodes);
        if (!addresses) return false;
        step.node_addresses = *std::move(addresses);
    }
    return true;
}

Result<SentStep> read_words(std::string_view text, const KnownStep& known) {
    SentStep step;
    step.job = known.job;
    step.step = known.step;
    while (!text.empty() && !text.starts_with(layout_word)) {
        const std::string_view word = take_until(text, ' ');
        if (!read_word(step, word, known.size)) {
            return refusal(formatted("'{}' is malformed", excerpt(word)));
        }
    }
    if (!text.empty() && known.size.nodes > 0) {
        auto layout = read_layout_line(text.substr(layout_word.size()), known.size);
        if (!layout) {
            return refusal(formatted("{}: {}", layout.error().object, layout.error().problem));
        }
        step.layout = *std::move(layout);
    }
    const std::uint64_t addresses = step.node_addresses.size();
    if (addresses > 0 && (!step.layout || step.layout->node_count() != addresses)) {
        return refusal("not an address for each node");
    }
    return step;
}

}  // namespace

std::string encode(const SentStep& step) {
    std::string text = beginning(step.job, step.step);
    text.pop_back();
    for (const Flag& flag : flags) {
        if (step.*flag.member) text += formatted(" {}", flag.word);
    }
    if (step.gpus > 0) text += formatted(" gpus={}", step.gpus);
    if (is_host(step.rank0_address)) text += " rank0=" + step.rank0_address;
    if (is_plain_path(step.plugin_file)) text += " plugin=" + step.plugin_file;
    if (!step.layout) return text;
    const std::string layout = formatted(" {}{}", layout_word, layout_line(*step.layout));
    if (text.size() + layout.size() > max_sent_length) return text;
    if (!step.node_addresses.empty()) {
        const std::string addresses = " addresses=" + step.node_addresses.to_string();
        const std::size_t length = text.size() + addresses.size() + layout.size();
        if (length <= max_sent_length) text += addresses;
    }
    return text + layout;
}

Result<std::optional<SentStep>> decode(std::string_view text, const KnownStep& known) {
    // With a blank, a text without words is one too.
    const std::string own = beginning(known.job, known.step);
    if (!(std::string(text.substr(0, own.size())) + ' ').starts_with(own)) {
        return std::optional<SentStep>{};
    }
    if (text.size() > longest_text(known.size)) {
        return refusal(formatted("{} characters, more than {} on {} need", text.size(),
                                 counted(known.size.tasks, "task"),
                                 counted(known.size.nodes, "node")));
    }
    text.remove_prefix(std::min(own.size(), text.size()));
    return read_words(text, known).transform([](SentStep step) {
        return std::optional(std::move(step));
    });
}

bool settles_layout(std::string_view text, std::uint32_t job, std::uint32_t step) {
    const auto has = [&](std::string_view word) {
        return text.find(formatted(" {}", word)) != std::string_view::npos;
    };
    return text.starts_with(beginning(job, step)) && (has(layout_word) || has("refused"));
}

}  // namespace distgpu
