// The parser of SPEC = MODE[,KEY[=VALUE]]..., its refusals and its help text.
#include "mapping/spec/parse_spec.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/spec/misplaced_option.h"

namespace distgpu {
namespace {

constexpr std::string_view off_mode = "off";
constexpr std::string_view help_mode = "help";

bool supports(const Framework& framework, std::string_view key) {
    return std::find(framework.keys.begin(), framework.keys.end(), key) != framework.keys.end();
}

// The modes that support a special key: "torchrun, composer".
std::string modes_with(std::string_view key) {
    std::vector<std::string_view> modes;
    for (const Framework* framework : frameworks()) {
        if (supports(*framework, key)) modes.push_back(framework->mode);
    }
    return join(modes, ", ");
}

// "did you mean 'x'?", or all candidates if none is similar. `synonym_of`: the candidate for which
// the word is a known synonym.
std::string suggestion(std::string_view word, std::optional<std::string_view> synonym_of,
                       std::string_view kind, std::span<const std::string_view> candidates) {
    const auto suggested =
        synonym_of ? synonym_of : nearest_word(normalized_word(word), candidates);
    return suggested ? formatted("did you mean '{}'?", *suggested)
                     : formatted("{} are {}", kind, join(candidates, ", "));
}

// The position of a wrong separator: ':' in "pytorch:verbose".
std::size_t find_separator(std::string_view item) {
    return item.find_first_of(":;+|/ =");
}

// "write pytorch,verbose": `text` with `right` at position `wrong`.
std::string separator_remedy(std::string text, std::size_t wrong, char right) {
    text[wrong] = right;
    return formatted("write {}", excerpt(text));
}

const SpecKey* find_key(std::string_view name) {
    const auto keys = spec_keys();
    const auto key = std::ranges::find(keys, name, &SpecKey::name);
    return key == keys.end() ? nullptr : &*key;
}

std::string spec_object(std::string_view origin, std::string_view spec) {
    if (!origin.empty()) return formatted("{}={}", origin, excerpt(spec));
    return spec.empty() ? "''" : excerpt(spec);
}

// A mode in the place of a key.
struct SecondMode {
    std::string name;                      // for messages
    const Framework* framework = nullptr;  // null for off and help
};

// nullopt if the word is not a mode, an alias or a known synonym of one.
std::optional<SecondMode> find_second_mode(std::string_view word) {
    if (const Framework* const framework = find_framework(word)) {
        return SecondMode{std::string(word), framework};
    }
    if (word == off_mode || word == help_mode) return SecondMode{std::string(word)};
    const auto mode = suggested_mode(word);
    const Framework* const framework = mode ? find_framework(*mode) : nullptr;
    if (framework == nullptr) return std::nullopt;
    return SecondMode{formatted("{} ('{}')", *mode, excerpt(word)), framework};
}

// The remedy for two modes: when to write which.
std::string two_modes_remedy(const Framework* first, const Framework* second) {
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

// Parses one SPEC; keeps the parts of it that error messages quote.
class Parser {
  public:
    Parser(std::string_view origin, std::string_view spec)
        : origin_(origin), object_(spec_object(origin, spec)), rest_(spec) {}

    Result<Request> parse() {
        mode_text_ = next_item();
        return parse_mode(mode_text_).and_then([this](Request request) {
            mode_ = request.framework;
            return parse_keys(std::move(request));
        });
    }

  private:
    // Removes and returns the text up to the next comma. has_more_ is false after the last item.
    std::string_view next_item() {
        has_more_ = rest_.find(',') != std::string_view::npos;
        return cut_until(rest_, ',');
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
        const std::size_t separator = find_separator(mode);
        if (separator != std::string_view::npos &&
            find_framework(mode.substr(0, separator)) != nullptr) {
            if (const auto second = find_second_mode(mode.substr(separator + 1))) {
                return refuse_two_modes(mode.substr(0, separator), *second);
            }
            const std::string_view comma = has_more_ ? "," : "";
            return refuse("unknown mode", separator_remedy(formatted("{}{}{}", mode, comma, rest_),
                                                           separator, ','));
        }
        const auto problem = why_not_a_mode(mode);
        if (!problem) {
            return refuse("unknown mode", suggestion(mode, suggested_mode(mode), "modes", words));
        }
        // Only an option uses the next word as its value, a variable cannot.
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
        while (has_more_) {
            auto next = parse_key(std::move(request), next_item(), seen);
            if (!next) return next;
            request = *std::move(next);
        }
        if (request.framework == nullptr) return request;
        const Framework& mode = *request.framework;
        if (request.nproc && !mode.launcher_per_node) {
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
        if (reorders_nodes(request) && !mode.fixed_ranks_reason.empty()) {
            return refuse(formatted("{}, which 'order' does not change", mode.fixed_ranks_reason),
                          std::string(mode.order_remedy));
        }
        return request;
    }

    Error refuse_two_modes(std::string_view first, const SecondMode& second) const {
        const Framework* const framework = find_framework(first);
        if (framework != nullptr && framework == second.framework) {
            return refuse(formatted("{} names the mode a second time", second.name),
                          "give it once");
        }
        return refuse(formatted("{} and {} are both modes, and a step has one", first, second.name),
                      two_modes_remedy(framework, second.framework));
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
            const auto second = find_second_mode(name);
            if (second && !has_value) return refuse_two_modes(mode_text_, *second);
            return refuse(formatted("unknown key '{}'", excerpt(name)),
                          unknown_key_remedy(item, name));
        }
        if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
            return refuse(formatted("key '{}' given twice", name), "give it once");
        }
        seen.push_back(name);
        if (key->special && mode_ != nullptr && !supports(*mode_, name)) {
            return refuse(formatted("key '{}' is not for {}", name, mode_->mode),
                          formatted("it is for {}", modes_with(name)));
        }
        if (has_value && key->placeholder.empty()) {
            return refuse(formatted("key '{}' takes no value", name),
                          formatted("write '{}' alone", name));
        }
        if (!has_value && !key->placeholder.empty() && key->bare_value.empty()) {
            return refuse(formatted("key '{}' needs a value", name),
                          formatted("write {}={}", name, key->placeholder));
        }
        const std::string_view value = has_value ? item.substr(equals + 1) : std::string_view{};
        auto applied =
            key->apply(std::move(request), *key, value.empty() ? key->bare_value : value);
        if (applied) return applied;
        const Error& error = applied.error();
        return refuse(formatted("{}: {}", excerpt(error.object), error.problem), error.remedy);
    }

    static std::string unknown_key_remedy(std::string_view item, std::string_view name) {
        const std::size_t separator = find_separator(name);
        const SpecKey* const key =
            separator == std::string_view::npos ? nullptr : find_key(name.substr(0, separator));
        if (key != nullptr) {
            return separator_remedy(std::string(item), separator,
                                    key->placeholder.empty() ? ',' : '=');
        }
        std::vector<std::string_view> words;
        for (const SpecKey& each : spec_keys()) words.push_back(each.name);
        return suggestion(name, suggested_key(name), "keys", words);
    }

    Error refuse(std::string problem, std::string remedy) const {
        return {object_, std::move(problem), std::move(remedy)};
    }

    std::string_view origin_;
    std::string object_;
    std::string_view mode_text_;
    const Framework* mode_ = nullptr;  // as written, before a key chooses a variant of it
    std::string_view rest_;
    bool has_more_ = false;
};

}  // namespace

Result<Request> parse_spec(std::string_view origin, std::string_view spec) {
    if (spec.size() > max_spec_length) {
        return Error{spec_object(origin, spec), formatted("{} bytes long", spec.size()),
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
        text += formatted("  {:<12} {}", framework->mode.view(), framework->summary);
        if (!framework->aliases.empty()) {
            text += formatted(" (also: {})", join(framework->aliases, ", "));
        }
        text += '\n';
    }
    text += formatted("  {:<12} {}\n", off_mode, "run without distgpu, even if the job set a mode");
    text += formatted("  {:<12} {}\n", help_mode, "this text");
    text += "\nKeys:\n";
    for (const SpecKey& key : spec_keys()) {
        const std::string modes = key.special ? formatted(" ({})", modes_with(key.name)) : "";
        text += formatted("  {:<31} {}{}\n", key_usage(key), key.help, modes);
    }
    text +=
        "\nEnvironment: SLURM_DISTGPU (srun), SBATCH_DISTGPU, SALLOC_DISTGPU can hold a SPEC too.\n"
        "Order: srun's command line, SLURM_DISTGPU, the allocation's --distgpu.\n";
    return text;
}

}  // namespace distgpu
