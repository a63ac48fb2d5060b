#include "mapping/frameworks/launcher_options.h"

#include "base/word_list.h"

#include <algorithm>

namespace distgpu {
namespace {

bool is_for_a_shell(std::string_view word) {
    return word.find_first_of("$`") != std::string_view::npos;
}

bool is_script(std::string_view word) {
    return word.ends_with(".py") || word.ends_with(".sh");
}

// "--nproc-per-node" of "--nproc_per_node=4"
std::string name_of(std::string_view word) {
    std::string name(word.substr(0, word.find('=')));
    if (name.starts_with("--")) std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

class Reader {
  public:
    Reader(const LauncherOptions& launcher, std::span<const std::string> words)
        : launcher_(launcher), words_(words) {}

    GivenOptions read() && {
        for (; at_ < words_.size(); ++at_) {
            const std::string_view word = words_[at_];
            if (word.size() > 1 && word.front() == '-') {
                take(word);
            } else if (is_for_a_shell(word)) {
                // Options, or the script.
                given_.complete = is_script(word);
                break;
            } else if (!launcher_.behind_the_script) {
                break;
            }
        }
        if (launcher_.settle != nullptr) launcher_.settle(given_);
        return std::move(given_);
    }

  private:
    void take(std::string_view word) {
        const std::string name = name_of(word);
        const LauncherOption* const option = find(name);
        const bool is_switch = option != nullptr && option->meaning == OptionMeaning::one_node;
        if (is_switch || has_word(launcher_.flags, name)) {
            if (option != nullptr) given_.options.push_back({option, std::string(word), ""});
            return;
        }
        std::string text(word);
        std::string value;
        if (const std::size_t equals = word.find('='); equals != std::string_view::npos) {
            value = word.substr(equals + 1);
        } else if (option != nullptr && is_letter_with_value(*option, word)) {
            value = word.substr(option->letter.size());
        } else if (at_ + 1 < words_.size() && !is_script(words_[at_ + 1])) {
            value = words_[++at_];
            text += ' ' + value;
        }
        if (option == nullptr) return;
        given_.options.push_back(
            {option, std::move(text), is_for_a_shell(value) ? std::nullopt : std::optional(value)});
    }

    // "-n4"
    static bool is_letter_with_value(const LauncherOption& option, std::string_view word) {
        return !option.letter.empty() && !word.starts_with("--") &&
               word.size() > option.letter.size();
    }

    const LauncherOption* find(std::string_view name) const {
        const LauncherOption* found = nullptr;
        if (has_word(launcher_.flags, name)) {
            // Whether it is there, may count.
            for (const LauncherOption& option : launcher_.options) {
                if (option.name == name) found = &option;
            }
            return found;
        }
        for (const LauncherOption& option : launcher_.options) {
            const bool by_letter = !option.letter.empty() && !name.starts_with("--") &&
                                   name.starts_with(option.letter);
            if (option.name == name || by_letter) return &option;
            constexpr std::size_t shortest = 4;  // "--nn"
            if (!launcher_.abbreviated || name.size() < shortest) continue;
            if (!option.name.starts_with(name)) continue;
            if (found != nullptr) return nullptr;  // it may be either
            found = &option;
        }
        return found;
    }

    const LauncherOptions& launcher_;
    std::span<const std::string> words_;
    std::size_t at_ = 0;
    GivenOptions given_;
};

}  // namespace

const GivenOption* GivenOptions::find(std::string_view name) const {
    const auto last =
        std::find_if(options.rbegin(), options.rend(),
                     [name](const GivenOption& given) { return given.option->name == name; });
    return last == options.rend() ? nullptr : &*last;
}

GivenOptions read_options(const LauncherOptions& launcher, std::span<const std::string> words) {
    return Reader(launcher, words).read();
}

}  // namespace distgpu
