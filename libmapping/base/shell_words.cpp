#include "base/shell_words.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace distgpu {
namespace {

// What ends a quote that begins with " or ' or, written $ here, with $'.
char closing(char quote) {
    return quote == '$' ? '\'' : quote;
}

// Behind the closing ) or ` of the $(...), NAME=(...) or `...` at the place; quotes and comments
// within hide what would close it. Beyond the end of the script: nothing closes it, or it is nested
// deeper than anybody writes.
std::size_t end_of_substitution(std::string_view script, std::size_t at, int depth = 0) {
    constexpr int deepest = 50;
    const std::size_t nowhere = script.size() + 1;
    if (depth > deepest) return nowhere;
    if (script[at] == '`') return std::min(script.find('`', at + 1), script.size()) + 1;
    int open = 0;
    char quote = '\0';
    for (; at < script.size(); ++at) {
        const char c = script[at];
        if (c == '\\' && quote != '\'') {
            ++at;
        } else if (quote != '\0') {
            if (c == closing(quote)) quote = '\0';
            if (quote == '"' && script.substr(at, 2) == "$(") {
                at = end_of_substitution(script, at, depth + 1) - 1;
            }
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (script.substr(at, 2) == "$'") {
            quote = c;
            ++at;
        } else if (c == '#' &&
                   std::string_view(" \t\n").find(script[at - 1]) != std::string_view::npos) {
            at = std::min(script.find('\n', at), script.size()) - 1;
        } else if (c == '(') {
            ++open;
        } else if (c == ')' && --open == 0) {
            return at + 1;
        }
    }
    return nowhere;
}

class Reader {
  public:
    Reader(std::string_view script, Redirections redirections)
        : script_(script), keeps_redirections_(redirections == Redirections::words) {}

    ShellText read() && {
        for (; at_ < script_.size(); ++at_) {
            take(script_[at_]);
        }
        end_command("");
        text_.is_simple = text_.is_simple && quote_ == '\0';
        return std::move(text_);
    }

  private:
    void take(char c) {
        if (c == '\\' && quote_ != '\'') {
            take_escaped();
        } else if (quote_ != '\0') {
            take_quoted(c);
        } else {
            take_plain(c);
        }
    }

    // A backslash at the end of a line joins it with the next; between double quotes and in $'...'
    // it stays before what it need not protect.
    void take_escaped() {
        const std::string_view next = script_.substr(at_ + 1, 1);
        if (next == "\n") {
            ++line_;
        } else {
            begin_word();
            if (quote_ != '\0' && !is_protected(next)) word_ += '\\';
            word_ += next;
        }
        at_ += next.size();
    }

    bool is_protected(std::string_view next) const {
        const std::string_view by_backslash = quote_ == '"' ? "$`\"\\" : "'\"\\";
        return by_backslash.find(next) != std::string_view::npos;
    }

    void take_quoted(char c) {
        if (c == closing(quote_)) {
            quote_ = '\0';
            return;
        }
        if (quote_ == '"' && begins_substitution()) {
            take_until(end_of_substitution(script_, at_));
            return;
        }
        if (c == '\n') ++line_;
        add(c);
    }

    bool begins_substitution() const {
        return script_[at_] == '`' || script_.substr(at_, 2) == "$(" ||
               (script_[at_] == '(' && before() == '=' && in_word_);
    }

    void take_until(std::size_t end) {
        begin_word();
        if (end > script_.size()) text_.is_simple = false;
        end = std::min(end, script_.size());
        const std::string_view text = script_.substr(at_, end - at_);
        word_ += text;
        line_ += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
        at_ = end - 1;
    }

    void take_plain(char c) {
        if (c == '"' || c == '\'') {
            quote_ = c;
            begin_word();
        } else if (c == '$' && script_.substr(at_ + 1, 1) == "'") {
            begin_word();
            quote_ = c;
            ++at_;
        } else if (begins_substitution()) {
            if (c == '(') text_.is_simple = false;
            take_until(end_of_substitution(script_, at_));
        } else if (c == ' ' || c == '\t' || c == '\r') {
            end_word();
        } else if (c == '#' && !in_word_) {
            at_ = std::min(script_.find('\n', at_), script_.size()) - 1;
        } else {
            take_operator(c);
        }
    }

    void take_operator(char c) {
        if (c == '\n') {
            end_command("\n");
            ++line_;
            skip_here_document();
        } else if (c == '<' && !in_arithmetic_ && script_.substr(at_, 2) == "<<") {
            take_here_operator();
        } else if (!keeps_redirections_ && (c == '<' || c == '>' || (c == '&' && redirects()))) {
            drop_redirection();
        } else if (c == ';' || c == '|' || (c == '&' && !redirects())) {
            const bool is_double = script_.substr(at_ + 1, 1) == script_.substr(at_, 1);
            end_command(script_.substr(at_, is_double ? 2 : 1));
            if (is_double) ++at_;
        } else {
            if (c == '(' || c == ')') text_.is_simple = false;
            if (c == '(' && before() == '(') in_arithmetic_ = true;
            if (c == ')' && before() == ')') in_arithmetic_ = false;
            add(c);
        }
    }

    char before() const { return at_ > 0 ? script_[at_ - 1] : '\0'; }

    // << and <<- begin a here-document, <<< does not.
    void take_here_operator() {
        text_.is_simple = false;
        if (script_.substr(at_, 3) == "<<<") {
            begin_word();
            word_ += "<<<";
            at_ += 2;
            return;
        }
        end_word();
        is_indented_ = script_.substr(at_, 3) == "<<-";
        at_ += is_indented_ ? 2U : 1U;
        next_ = Next::here_document;
    }

    // With the number before it: "2>&1", "> log". The next word is its file.
    void drop_redirection() {
        if (word_.find_first_not_of("0123456789") == std::string::npos) in_word_ = false;
        end_word();
        word_.clear();
        at_ = std::min(script_.find_first_not_of("<>&|", at_), script_.size()) - 1;
        next_ = Next::file;
    }

    // Whether this & belongs to 2>&1 or &>.
    bool redirects() const {
        return before() == '>' || before() == '<' || script_.substr(at_ + 1, 1) == ">";
    }

    // At the end of the line that has <<WORD: goes to the line that is WORD alone.
    void skip_here_document() {
        if (!here_document_) return;
        const std::string end = *std::exchange(here_document_, std::nullopt);
        for (std::size_t begin = at_ + 1; begin < script_.size();) {
            const std::size_t newline = std::min(script_.find('\n', begin), script_.size());
            std::string_view line = script_.substr(begin, newline - begin);
            if (is_indented_) {
                line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
            }
            begin = newline + 1;
            at_ = newline;
            ++line_;
            if (line == end) break;
        }
    }

    void begin_word() {
        if (in_word_) return;
        in_word_ = true;
        if (words_.empty()) first_line_ = line_;
    }

    void add(char c) {
        begin_word();
        word_ += c;
    }

    void end_word() {
        if (!in_word_) return;
        in_word_ = false;
        std::string word = std::exchange(word_, {});
        const Next meant = std::exchange(next_, Next::word);
        if (meant == Next::word) {
            words_.push_back(std::move(word));
        } else if (meant == Next::here_document) {
            here_document_ = std::move(word);
        }
    }

    void end_command(std::string_view end) {
        end_word();
        next_ = Next::word;
        if (words_.empty()) return;
        text_.commands.push_back({first_line_, std::exchange(words_, {}), std::string(end)});
    }

    // What the next word is: one of the command, the end of a here-document, or where the input or
    // output goes.
    enum class Next { word, here_document, file };

    std::string_view script_;
    bool keeps_redirections_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    std::size_t first_line_ = 1;  // of the command that is being read
    char quote_ = '\0';           // as closing() takes it
    bool in_word_ = false;
    bool in_arithmetic_ = false;  // between (( and )), where << is a shift
    Next next_ = Next::word;
    std::string word_;
    std::vector<std::string> words_;
    std::optional<std::string> here_document_;  // how the one that this line begins ends
    bool is_indented_ = false;                  // <<-: with tabs before it
    ShellText text_;
};

}  // namespace

ShellText read_shell_text(std::string_view text, Redirections redirections) {
    return Reader(text, redirections).read();
}

std::string shell_quoted(std::string_view text) {
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + '\'';
}

}  // namespace distgpu
