#include "base/shell_words.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace distgpu {
namespace {

// The end of a quote that begins with ", with ' or with $', which is '$' here.
char closing_quote(char quote) {
    return quote == '$' ? '\'' : quote;
}

// The offset after the closing ) or ` of the $(...), NAME=(...) or `...` that begins at `at`; a )
// inside quotes or comments does not close it. Returns script.size() + 1 if it is not closed, or
// nested deeper than any real script.
std::size_t end_of_substitution(std::string_view script, std::size_t at, int depth = 0) {
    constexpr int max_depth = 50;
    const std::size_t not_closed = script.size() + 1;
    if (depth > max_depth) return not_closed;
    if (script[at] == '`') return std::min(script.find('`', at + 1), script.size()) + 1;
    int open = 0;
    char quote = '\0';
    for (; at < script.size(); ++at) {
        const char c = script[at];
        if (c == '\\' && quote != '\'') {
            ++at;
        } else if (quote != '\0') {
            if (c == closing_quote(quote)) quote = '\0';
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
    return not_closed;
}

class Reader {
  public:
    Reader(std::string_view script, Redirections redirections)
        : script_(script), keeps_redirections_(redirections == Redirections::words) {}

    ShellText read() && {
        for (; at_ < script_.size(); ++at_) {
            read_char(script_[at_]);
        }
        end_command("");
        text_.is_simple = text_.is_simple && quote_ == '\0';
        return std::move(text_);
    }

  private:
    void read_char(char c) {
        if (c == '\\' && quote_ != '\'') {
            read_escaped();
        } else if (quote_ != '\0') {
            read_quoted(c);
        } else {
            read_plain(c);
        }
    }

    // A backslash at the end of a line joins it with the next; inside double quotes and $'...' a
    // backslash stays unless the next character is special there.
    void read_escaped() {
        const std::string_view next = script_.substr(at_ + 1, 1);
        if (next == "\n") {
            ++line_;
        } else {
            begin_word();
            if (quote_ != '\0' && !is_special(next)) word_ += '\\';
            word_ += next;
        }
        at_ += next.size();
    }

    bool is_special(std::string_view next) const {
        const std::string_view special = quote_ == '"' ? "$`\"\\" : "'\"\\";
        return special.find(next) != std::string_view::npos;
    }

    void read_quoted(char c) {
        if (c == closing_quote(quote_)) {
            quote_ = '\0';
            return;
        }
        if (quote_ == '"' && begins_substitution()) {
            append_until(end_of_substitution(script_, at_));
            return;
        }
        if (c == '\n') ++line_;
        append(c);
    }

    bool begins_substitution() const {
        return script_[at_] == '`' || script_.substr(at_, 2) == "$(" ||
               (script_[at_] == '(' && previous() == '=' && in_word_);
    }

    void append_until(std::size_t end) {
        begin_word();
        if (end > script_.size()) text_.is_simple = false;
        end = std::min(end, script_.size());
        const std::string_view text = script_.substr(at_, end - at_);
        word_ += text;
        line_ += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
        at_ = end - 1;
    }

    void read_plain(char c) {
        if (c == '"' || c == '\'') {
            quote_ = c;
            begin_word();
        } else if (c == '$' && script_.substr(at_ + 1, 1) == "'") {
            begin_word();
            quote_ = c;
            ++at_;
        } else if (begins_substitution()) {
            if (c == '(') text_.is_simple = false;
            append_until(end_of_substitution(script_, at_));
        } else if (c == ' ' || c == '\t' || c == '\r') {
            end_word();
        } else if (c == '#' && !in_word_) {
            at_ = std::min(script_.find('\n', at_), script_.size()) - 1;
        } else {
            read_operator(c);
        }
    }

    void read_operator(char c) {
        if (c == '\n') {
            end_command("\n");
            ++line_;
            skip_here_document();
        } else if (c == '<' && !in_arithmetic_ && script_.substr(at_, 2) == "<<") {
            read_here_operator();
        } else if (!keeps_redirections_ &&
                   (c == '<' || c == '>' || (c == '&' && is_in_redirection()))) {
            drop_redirection();
        } else if (c == ';' || c == '|' || (c == '&' && !is_in_redirection())) {
            const bool is_double = script_.substr(at_ + 1, 1) == script_.substr(at_, 1);
            end_command(script_.substr(at_, is_double ? 2 : 1));
            if (is_double) ++at_;
        } else {
            if (c == '(' || c == ')') text_.is_simple = false;
            if (c == '(' && previous() == '(') in_arithmetic_ = true;
            if (c == ')' && previous() == ')') in_arithmetic_ = false;
            append(c);
        }
    }

    char previous() const { return at_ > 0 ? script_[at_ - 1] : '\0'; }

    // << and <<- begin a here-document, <<< does not.
    void read_here_operator() {
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

    // Drops the number before it too: "2>&1", "> log". The next word is its file.
    void drop_redirection() {
        if (word_.find_first_not_of("0123456789") == std::string::npos) in_word_ = false;
        end_word();
        word_.clear();
        at_ = std::min(script_.find_first_not_of("<>&|", at_), script_.size()) - 1;
        next_ = Next::file;
    }

    // Whether the & at at_ is part of 2>&1 or &>.
    bool is_in_redirection() const {
        return previous() == '>' || previous() == '<' || script_.substr(at_ + 1, 1) == ">";
    }

    // Called at the end of the line that has <<WORD: skips to the line that is only WORD.
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

    void append(char c) {
        begin_word();
        word_ += c;
    }

    void end_word() {
        if (!in_word_) return;
        in_word_ = false;
        std::string word = std::exchange(word_, {});
        const Next role = std::exchange(next_, Next::word);
        if (role == Next::word) {
            words_.push_back(std::move(word));
        } else if (role == Next::here_document) {
            here_document_ = std::move(word);
        }
    }

    void end_command(std::string_view end) {
        end_word();
        next_ = Next::word;
        if (words_.empty()) return;
        text_.commands.push_back({first_line_, std::exchange(words_, {}), std::string(end)});
    }

    // The role of the next word: a word of the command, the end mark of a here-document, or the
    // file of a redirection.
    enum class Next { word, here_document, file };

    std::string_view script_;
    bool keeps_redirections_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    std::size_t first_line_ = 1;  // of the command that is being read
    char quote_ = '\0';           // see closing_quote(); '\0' outside quotes
    bool in_word_ = false;
    bool in_arithmetic_ = false;  // between (( and )), where << is a shift
    Next next_ = Next::word;
    std::string word_;
    std::vector<std::string> words_;
    std::optional<std::string> here_document_;  // the end mark of the one that this line begins
    bool is_indented_ = false;                  // <<-: tabs before the end mark are ignored
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
