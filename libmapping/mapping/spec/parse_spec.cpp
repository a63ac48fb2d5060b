// SPEC = MODE[,KEY[=VALUE]]...: the grammar, its refusals, and its help text.
#include "mapping/spec/parse_spec.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/spec/misplaced_option.h"

namespace distgpu {
namespace {

constexpr std::string_view off_mode = "off";
constexpr std::string_view help_mode = "help";

bool lists(const Framework& framework, std::string_view key) {
    return std::find(framework.keys.begin(), framework.keys.end(), key) != framework.keys.end();
}

// "torchrun or composer": the frameworks that take a special key.
std::string takers(std::string_view key) {
    std::vector<std::string_view> modes;
    for (const Framework* framework : frameworks()) {
        if (lists(*framework, key)) modes.push_back(framework->mode);
    }
    return join(modes, ", ");
}

// "did you mean 'x'?", or the whole list where nothing is near. `meant`: what the word is known to
// stand for elsewhere.
std::string suggestion(std::string_view word, std::optional<std::string_view> meant,
                       std::string_view kind, std::span<const std::string_view> candidates) {
    const auto near = meant ? meant : nearest_word(in_our_letters(word), candidates);
    return near ? formatted("did you mean '{}'?", *near)
                : formatted("{} are {}", kind, join(candidates, ", "));
}

// Where a word ends that is written before something else than a comma: "pytorch:verbose".
std::size_t end_of_word(std::string_view item) {
    return item.find_first_of(":;+|/ =");
}

// "write pytorch,verbose": with `right` in the place of what stands there.
std::string write_instead(std::string text, std::size_t wrong, char right) {
    text[wrong] = right;
    return formatted("write {}", excerpt(text));
}

const SpecKey* find_key(std::string_view name) {
    const auto keys = spec_keys();
    const auto key = std::ranges::find(keys, name, &SpecKey::name);
    return key == keys.end() ? nullptr : &*key;
}

std::string written(std::string_view origin, std::string_view spec) {
    if (!origin.empty()) return formatted("{}={}", origin, excerpt(spec));
    return spec.empty() ? "''" : excerpt(spec);
}

// A mode where a key belongs.
struct SecondMode {
    std::string name;                      // as the message has it
    const Framework* framework = nullptr;  // null: off or help
};

// Nothing: the word is none, also not by another name.
std::optional<SecondMode> as_mode(std::string_view word) {
    if (const Framework* const framework = find_framework(word)) {
        return SecondMode{std::string(word), framework};
    }
    if (word == off_mode || word == help_mode) return SecondMode{std::string(word)};
    const auto meant = mode_meant_by(word);
    const Framework* const framework = meant ? find_framework(*meant) : nullptr;
    if (framework == nullptr) return std::nullopt;
    return SecondMode{formatted("{} ('{}')", *meant, excerpt(word)), framework};
}

// Which of two modes to write.
std::string choice(const Framework* first, const Framework* second) {
    const bool differ = first != nullptr && second != nullptr && first->service == nullptr &&
                        second->service == nullptr &&
                        first->launcher_per_node != second->launcher_per_node;
    if (!differ) return "write one of the two";
    const auto form = [](const Framework* mode) {
        return mode->launcher_per_node ? "one launcher per node" : "one process per task";
    };
    return formatted("write {} for {}, or {} for {}", first->mode, form(first), second->mode,
                     form(second));
}

// Reads one SPEC; keeps the words that error messages quote.
class Parser {
  public:
    Parser(std::string_view origin, std::string_view spec)
        : origin_(origin), object_(written(origin, spec)), rest_(spec) {}

    Result<Request> parse() {
        mode_word_ = next_item();
        return parse_mode(mode_word_).and_then([this](Request request) {
            mode_ = request.framework;
            return parse_keys(std::move(request));
        });
    }

  private:
    // Takes the text up to the next comma. more_ is false after the last item.
    std::string_view next_item() {
        more_ = rest_.find(',') != std::string_view::npos;
        return take_until(rest_, ',');
    }

    Result<Request> parse_mode(std::string_view mode) const {
        Request request;
        request.help = mode == help_mode;
        if (mode == off_mode || request.help) return request;
        request.framework = find_framework(mode);
        request.mode = mode;
        if (request.framework != nullptr) return request;
        std::vector<std::string_view> words;
        for (const Framework* framework : frameworks()) {
            words.push_back(framework->mode);
            words.insert(words.end(), framework->aliases.begin(), framework->aliases.end());
        }
        words.insert(words.end(), {off_mode, help_mode});
        if (mode.empty()) {
            return refuse("no mode", formatted("modes are {}", join(words, ", ")));
        }
        const std::size_t end = end_of_word(mode);
        if (end != std::string_view::npos && find_framework(mode.substr(0, end)) != nullptr) {
            if (const auto second = as_mode(mode.substr(end + 1))) {
                return two_modes(mode.substr(0, end), *second);
            }
            const std::string_view comma = more_ ? "," : "";
            return refuse("unknown mode",
                          write_instead(formatted("{}{}{}", mode, comma, rest_), end, ','));
        }
        const auto problem = taken_for_mode(mode);
        if (!problem) {
            return refuse("unknown mode", suggestion(mode, mode_meant_by(mode), "modes", words));
        }
        // The option takes the next word for its value, which a variable cannot.
        std::string remedy = "give a mode, such as pytorch";
        if (origin_.starts_with("--")) {
            remedy =
                formatted("write the mode before it, as in {}=pytorch {}", origin_, excerpt(mode));
        } else if (!origin_.empty()) {
            remedy = formatted("give a mode, as in {}=pytorch", origin_);
        }
        return refuse(std::string(*problem), std::move(remedy));
    }

    Result<Request> parse_keys(Request request) {
        std::vector<std::string_view> seen;
        while (more_) {
            auto next = parse_key(std::move(request), next_item(), seen);
            if (!next) return next;
            request = *std::move(next);
        }
        if (request.framework == nullptr) return request;
        const Framework& mode = *request.framework;
        if (request.nproc && !mode.launcher_per_node) {
            // A number of processes that nobody starts.
            std::string remedy = "leave it out";
            for (const Variant& variant : mode.variants) {
                if (!variant.framework->launcher_per_node) continue;
                remedy = formatted(
                    "write {0},nproc={1} with --ntasks-per-node=1, or leave nproc out and use "
                    "--ntasks-per-node={1}",
                    variant.framework->mode, *request.nproc);
            }
            return refuse(formatted("nproc is for a launcher, but {} has a task for each process",
                                    request.mode),
                          std::move(remedy));
        }
        if (reorders(request) && !mode.own_ranks.empty()) {
            return refuse(formatted("{}, which 'order' does not change", mode.own_ranks),
                          std::string(mode.instead_of_order));
        }
        return request;
    }

    Error two_modes(std::string_view first, const SecondMode& second) const {
        const Framework* const framework = find_framework(first);
        if (framework != nullptr && framework == second.framework) {
            return refuse(formatted("{} names the mode a second time", second.name),
                          "give it once");
        }
        return refuse(formatted("{} and {} are both modes, and a step has one", first, second.name),
                      choice(framework, second.framework));
    }

    Result<Request> parse_key(Request request, std::string_view item,
                              std::vector<std::string_view>& seen) const {
        const std::size_t equals = item.find('=');
        const std::string_view name = item.substr(0, equals);
        const bool has_value = equals != std::string_view::npos;
        if (item.empty()) {
            return refuse("no key after a comma",
                          "leave the comma out, or write the key after it without a space");
        }
        const SpecKey* const key = find_key(name);
        if (key == nullptr) {
            const auto second = as_mode(name);
            if (second && !has_value) return two_modes(mode_word_, *second);
            return refuse(formatted("unknown key '{}'", excerpt(name)), instead_of(item, name));
        }
        if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
            return refuse(formatted("key '{}' given twice", name), "give it once");
        }
        seen.push_back(name);
        if (key->special && mode_ != nullptr && !lists(*mode_, name)) {
            return refuse(formatted("key '{}' is not for {}", name, mode_->mode),
                          formatted("it is for {}", takers(name)));
        }
        if (has_value && key->placeholder.empty()) {
            return refuse(formatted("key '{}' takes no value", name),
                          formatted("write '{}' alone", name));
        }
        if (!has_value && !key->placeholder.empty() && key->alone.empty()) {
            return refuse(formatted("key '{}' needs a value", name),
                          formatted("write {}={}", name, key->placeholder));
        }
        const std::string_view value = has_value ? item.substr(equals + 1) : std::string_view{};
        auto applied = key->apply(std::move(request), *key, value.empty() ? key->alone : value);
        if (applied) return applied;
        const Error& error = applied.error();
        return refuse(formatted("{}: {}", excerpt(error.object), error.problem), error.remedy);
    }

    // What to write for an item whose name is no key's.
    static std::string instead_of(std::string_view item, std::string_view name) {
        const std::size_t end = end_of_word(name);
        const SpecKey* const known =
            end == std::string_view::npos ? nullptr : find_key(name.substr(0, end));
        if (known != nullptr) {
            return write_instead(std::string(item), end, known->placeholder.empty() ? ',' : '=');
        }
        std::vector<std::string_view> words;
        for (const SpecKey& key : spec_keys()) words.push_back(key.name);
        return suggestion(name, key_meant_by(name), "keys", words);
    }

    Error refuse(std::string problem, std::string remedy) const {
        return {object_, std::move(problem), std::move(remedy)};
    }

    std::string_view origin_;
    std::string object_;
    std::string_view mode_word_;
    const Framework* mode_ = nullptr;  // as written, before a key takes a variant of it
    std::string_view rest_;
    bool more_ = false;
};

}  // namespace

Result<Request> parse_spec(std::string_view origin, std::string_view spec) {
    if (spec.size() > max_spec_length) {
        return Error{written(origin, spec), formatted("{} bytes long", spec.size()),
                     formatted("give at most {} bytes", max_spec_length)};
    }
    return Parser(origin, spec).parse();
}

std::string spec_help() {
    std::string text =
        "usage: --distgpu=MODE[,KEY[=VALUE]]...\n"
        "Gives every task of a step the variables that its framework needs.\n"
        "\nModes:\n";
    for (const Framework* framework : frameworks()) {
        text += formatted("  {:<12} {}", framework->mode, framework->summary);
        if (!framework->aliases.empty()) {
            text += formatted(" (also: {})", join(framework->aliases, ", "));
        }
        text += '\n';
    }
    text +=
        formatted("  {:<12} {}\n", off_mode, "nothing, even if the allocation asked for a mode");
    text += formatted("  {:<12} {}\n", help_mode, "this text");
    text += "\nKeys:\n";
    for (const SpecKey& key : spec_keys()) {
        const std::string only = key.special ? formatted(" ({})", takers(key.name)) : "";
        text += formatted("  {:<31} {}{}\n", key_usage(key), key.help, only);
    }
    text +=
        "\nEnvironment: SLURM_DISTGPU (srun), SBATCH_DISTGPU, SALLOC_DISTGPU can hold a SPEC too.\n"
        "Order: srun's command line, SLURM_DISTGPU, the allocation's --distgpu.\n";
    return text;
}

}  // namespace distgpu
