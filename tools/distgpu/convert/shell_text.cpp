#include "convert/shell_text.h"

#include "convert/assignments.h"

#include <algorithm>
#include <array>

namespace distgpu {
namespace {

std::string_view raw(std::string_view script, const TextSpan& word) {
    return script.substr(word.begin, word.end - word.begin);
}

// Makes ready for a program, or reads what it prints.
bool prepares(const ShellCommand& command) {
    static constexpr std::array<std::string_view, 20> others{
        "cd",     "source",   ".",     "module",     "ml",   "conda", "mamba",
        "ulimit", "set",      "unset", "umask",      "echo", "sleep", "mkdir",
        "date",   "hostname", "tee",   "nvidia-smi", "pwd",  "export"};
    return !names_set(command.words).empty() ||
           std::find(others.begin(), others.end(), command.words.front()) != others.end();
}

// A " in a text between " is an argument's, and may stand in two words.
bool has_half_quotes(const ShellCommand& command) {
    return std::any_of(command.words.begin(), command.words.end(), [](const std::string& word) {
        return std::count(word.begin(), word.end(), '"') % 2 != 0;
    });
}

// > FILE, 2>&1, &>FILE; the operator alone needs the next word, too.
bool is_redirection(std::string_view word) {
    if (word.starts_with('&')) word.remove_prefix(1);
    word.remove_prefix(std::min(word.find_first_not_of("0123456789"), word.size()));
    return word.starts_with('>') || word.starts_with('<');
}

bool needs_target(std::string_view redirection) {
    return redirection.ends_with('>') || redirection.ends_with('<');
}

// What ends the command, and the rest of its line.
std::string_view behind(std::string_view script, const ShellCommand& command) {
    std::string_view rest = script.substr(command.spans.back().end);
    rest = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r"), rest.size()));
    return rest;
}

// Whether '...' in the text hides from the shell what it would replace between ", too.
bool quotes_more_than_blanks(std::string_view text) {
    bool quoted = false;
    for (const char c : text) {
        if (c == '\'') quoted = !quoted;
        if (quoted && (c == '$' || c == '\\')) return true;
    }
    return quoted;
}

}  // namespace

bool starts_shell(const std::vector<std::string>& words, std::size_t begin) {
    const std::string_view path = words[begin];
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if ((name != "bash" && name != "sh") || begin + 2 >= words.size()) return false;
    const std::string_view option = words[begin + 1];
    return option.starts_with('-') && !option.starts_with("--") && option.ends_with('c');
}

std::optional<ShellText> read_shell_text(std::string_view script, const ShellCommand& command,
                                         std::size_t begin) {
    const std::size_t place = begin + 2;
    if (redirections_at(script, command, place + 1) != place + 1) return std::nullopt;
    const TextSpan span = command.spans[place];
    ShellText text;
    text.quote = script[span.begin];
    const bool is_quoted = (text.quote == '"' || text.quote == '\'') && span.end - span.begin > 1 &&
                           script[span.end - 1] == text.quote;
    if (!is_quoted) return std::nullopt;
    // Read as it stands: what is escaped between double quotes means the same to the shell.
    const std::size_t first = span.begin + 1;
    text.commands = shell_commands(script.substr(first, span.end - 1 - first));
    std::size_t programs = 0;
    for (std::size_t i = 0; i < text.commands.size(); ++i) {
        ShellCommand& each = text.commands[i];
        if (text.quote == '"' && has_half_quotes(each)) return std::nullopt;
        for (TextSpan& word : each.spans) {
            word.begin += first;
            word.end += first;
        }
        for (HereDocument& document : each.here_documents) {
            document.span.begin += first;
            document.span.end += first;
        }
        if (prepares(each)) continue;
        text.main = i;
        ++programs;
    }
    return programs == 1 ? std::optional(std::move(text)) : std::nullopt;
}

std::optional<std::size_t> redirections_at(std::string_view script, const ShellCommand& command,
                                           std::size_t begin) {
    const std::size_t count = command.spans.size();
    std::size_t at = begin;
    while (at < count && !is_redirection(raw(script, command.spans[at]))) ++at;
    for (std::size_t next = at; next < count; ++next) {
        const std::string_view word = raw(script, command.spans[next]);
        if (!is_redirection(word)) return std::nullopt;
        if (needs_target(word)) ++next;
    }
    return std::min(at, count);
}

bool runs_in_background(std::string_view script, const ShellCommand& command) {
    const std::string_view end = behind(script, command);
    return end.starts_with('&') && !end.starts_with("&&");
}

bool joins_next(std::string_view script, const ShellCommand& command) {
    const std::string_view end = behind(script, command);
    return end.find("&&") != std::string_view::npos || end.find('|') != std::string_view::npos;
}

bool means_the_same_in_quotes(std::string_view text) {
    return text.find_first_of("\"`") == std::string_view::npos &&
           text.find("\\$") == std::string_view::npos && !quotes_more_than_blanks(text) &&
           std::count(text.begin(), text.end(), '(') == std::count(text.begin(), text.end(), ')');
}

}  // namespace distgpu
