#include "convert/azure_python.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <utility>

namespace distgpu {
namespace {

using Kind = AzureValue::Kind;

struct Token {
    enum class Kind { name, number, text, sign, end };
    Kind kind = Kind::end;
    std::string text;
    std::size_t line = 0;
    bool literal = true;  // of a text: not one with {...} in it that Python fills in
};

bool is_name_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

class Tokens {
  public:
    explicit Tokens(std::string_view script) : script_(script) {}

    std::vector<Token> read() && {
        while (at_ < script_.size()) take(script_[at_]);
        tokens_.push_back({Token::Kind::end, "", line_});
        return std::move(tokens_);
    }

  private:
    void take(char c) {
        if (c == '\n') {
            ++line_;
            ++at_;
        } else if (c == '#') {
            at_ = std::min(script_.find('\n', at_), script_.size());
        } else if (c == '"' || c == '\'') {
            take_text(c, "");
        } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
            take_while(Token::Kind::number,
                       [](char d) { return is_name_character(d) || d == '.'; });
        } else if (is_name_character(c)) {
            take_name();
        } else {
            if (std::isspace(static_cast<unsigned char>(c)) == 0) {
                tokens_.push_back({Token::Kind::sign, std::string(1, c), line_});
            }
            ++at_;
        }
    }

    template <class Belongs>
    void take_while(Token::Kind kind, Belongs belongs) {
        const std::size_t begin = at_;
        while (at_ < script_.size() && belongs(script_[at_])) ++at_;
        tokens_.push_back({kind, std::string(script_.substr(begin, at_ - begin)), line_});
    }

    // With a text right behind it, a prefix: r"...", f'...'.
    void take_name() {
        take_while(Token::Kind::name, is_name_character);
        const std::string name = tokens_.back().text;
        constexpr std::size_t longest_prefix = 2;
        if (name.size() > longest_prefix || at_ == script_.size() ||
            (script_[at_] != '"' && script_[at_] != '\'')) {
            return;
        }
        tokens_.pop_back();
        take_text(script_[at_], name);
    }

    void take_text(char quote, const std::string& prefix) {
        Token token{Token::Kind::text, "", line_};
        token.literal = prefix.find_first_of("fF") == std::string::npos;
        const bool raw = prefix.find_first_of("rR") != std::string::npos;
        const std::string three(3, quote);
        const std::string end = script_.substr(at_, 3) == three ? three : std::string(1, quote);
        at_ += end.size();
        while (at_ < script_.size() && script_.substr(at_, end.size()) != end) {
            if (script_[at_] == '\n') ++line_;
            if (script_[at_] == '\\' && !raw && at_ + 1 < script_.size()) {
                take_escape(token.text);
            } else {
                token.text += script_[at_++];
            }
        }
        at_ = std::min(at_ + end.size(), script_.size());
        tokens_.push_back(std::move(token));
    }

    void take_escape(std::string& text) {
        const char c = script_[at_ + 1];
        at_ += 2;
        if (c == '\n') {
            ++line_;
        } else if (c == 'n') {
            text += '\n';
        } else if (c == 't') {
            text += '\t';
        } else {
            if (c != '\\' && c != '"' && c != '\'') text += '\\';
            text += c;
        }
    }

    std::string_view script_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    std::vector<Token> tokens_;
};

class Reader {
  public:
    explicit Reader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

    std::vector<AzureValue> read() && {
        while (token().kind != Token::Kind::end) {
            if (token().kind == Token::Kind::name && is_sign(1, "=") && !is_sign(2, "=")) {
                const std::string name = token().text;
                at_ += 2;
                AzureValue given = value(0);
                names_[name] = std::move(given);
            } else if (token().kind == Token::Kind::name && is_sign(1, ".") && is_sign(3, "=") &&
                       !is_sign(4, "=") && names_.contains(token().text)) {
                const std::string name = token().text;
                const std::string field = token(2).text;
                at_ += 4;
                set_field(names_[name], field, value(0));
            } else if (token().kind == Token::Kind::name && is_sign(1, "(")) {
                value(0);
            } else {
                ++at_;
            }
        }
        return std::move(calls_);
    }

  private:
    const Token& token(std::size_t ahead = 0) const {
        return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
    }

    bool is_sign(std::size_t ahead, std::string_view sign) const {
        return token(ahead).kind == Token::Kind::sign && token(ahead).text == sign;
    }

    // One operand and what is done with it: only .split() leaves it a literal.
    AzureValue value(int depth) {
        AzureValue read = operand(depth);
        while (is_sign(0, ".")) {
            const bool splits = token(1).text == "split" && is_sign(2, "(") && is_sign(3, ")");
            at_ += splits ? 4 : 2;
            if (splits) continue;
            const bool is_dotted_call = is_sign(0, "(");
            read = is_dotted_call ? call(token_before(), depth)
                                  : AzureValue{.text = token_before(), .line = read.line};
        }
        const bool ends = token().kind == Token::Kind::end || token().line > line_of_last() ||
                          is_sign(0, ",") || is_sign(0, ")") || is_sign(0, "]") ||
                          is_sign(0, "}") || is_sign(0, ":");
        if (!ends) {
            skip_operators();
            read = {.text = read.text, .line = read.line};
        }
        return read;
    }

    // NAME.FIELD = VALUE behind NAME = CALL(...).
    void set_field(AzureValue& named, const std::string& field, const AzureValue& given) {
        const auto set = [&](AzureValue& call) {
            auto& fields = call.fields;
            const auto at = std::find_if(fields.begin(), fields.end(),
                                         [&](const auto& each) { return each.first == field; });
            if (at == fields.end()) {
                fields.emplace_back(field, given);
            } else {
                at->second = given;
            }
        };
        if (named.callee.empty()) return;
        set(named);
        const auto call = std::find_if(calls_.rbegin(), calls_.rend(), [&](const AzureValue& each) {
            return each.callee == named.callee;
        });
        if (call != calls_.rend()) set(*call);
    }

    std::string token_before() const { return tokens_[at_ - 1].text; }
    std::size_t line_of_last() const { return tokens_[at_ - 1].line; }

    AzureValue operand(int depth) {
        const Token first = token();
        constexpr int deepest = 50;
        AzureValue read{.text = first.text, .line = first.line};
        if (first.kind == Token::Kind::end) return read;
        if (depth > deepest) {
            ++at_;
            return read;
        }
        if (first.kind == Token::Kind::text) return text();
        if (is_sign(0, "[") || is_sign(0, "(")) return list(depth);
        if (is_sign(0, "{")) return map(depth);
        ++at_;
        if (first.kind == Token::Kind::number) read.kind = Kind::text;
        if (first.text == "-" && token().kind == Token::Kind::number) {
            return {.kind = Kind::text, .text = "-" + tokens_[at_++].text, .line = first.line};
        }
        if (first.kind != Token::Kind::name) return read;
        if (is_sign(0, "(")) return call(first.text, depth);
        const auto named = names_.find(first.text);
        if (named == names_.end() || is_sign(0, ".")) return read;
        // Names in lists of names would double it each time.
        constexpr std::size_t most_named = 10000;
        named_ += size_of(named->second);
        return named_ > most_named ? read : named->second;
    }

    static std::size_t size_of(const AzureValue& value) {
        std::size_t size = 1;
        for (const AzureValue& item : value.items) size += size_of(item);
        for (const auto& [name, each] : value.fields) size += size_of(each);
        return size;
    }

    // Texts beside each other are one.
    AzureValue text() {
        AzureValue read{.kind = Kind::text, .line = token().line};
        for (; token().kind == Token::Kind::text; ++at_) {
            read.text += token().text;
            if (!token().literal) read.kind = Kind::unknown;
        }
        return read;
    }

    AzureValue list(int depth) {
        AzureValue read{.kind = Kind::list, .line = token().line};
        ++at_;
        while (!closes()) {
            read.items.push_back(value(depth + 1));
            skip_comma();
        }
        ++at_;
        return read;
    }

    AzureValue map(int depth) {
        AzureValue read{.kind = Kind::map, .line = token().line};
        ++at_;
        while (!closes()) {
            AzureValue key = value(depth + 1);
            if (is_sign(0, ":")) ++at_;
            read.fields.emplace_back(key.text, value(depth + 1));
            skip_comma();
        }
        ++at_;
        return read;
    }

    AzureValue call(const std::string& callee, int depth) {
        AzureValue read{.kind = Kind::map, .callee = callee, .line = token().line};
        ++at_;
        while (!closes()) {
            if (token().kind == Token::Kind::name && is_sign(1, "=") && !is_sign(2, "=")) {
                const std::string name = token().text;
                at_ += 2;
                read.fields.emplace_back(name, value(depth + 1));
            } else {
                read.items.push_back(value(depth + 1));
            }
            skip_comma();
        }
        ++at_;
        calls_.push_back(read);
        return read;
    }

    bool closes() const {
        return token().kind == Token::Kind::end || is_sign(0, ")") || is_sign(0, "]") ||
               is_sign(0, "}");
    }

    void skip_comma() {
        if (!closes() && !is_sign(0, ",")) skip_operators();
        if (is_sign(0, ",")) ++at_;
    }

    // To the end of the expression; brackets within are closed again.
    void skip_operators() {
        int open = 0;
        const std::size_t begin = at_;
        for (; token().kind != Token::Kind::end; ++at_) {
            if (open == 0 && (closes() || is_sign(0, ","))) break;
            if (is_sign(0, "(") || is_sign(0, "[") || is_sign(0, "{")) ++open;
            if (closes()) --open;
        }
        if (at_ == begin && token().kind != Token::Kind::end && !closes()) ++at_;
    }

    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    std::map<std::string, AzureValue> names_;
    std::size_t named_ = 0;  // values that stand for names, in all
    std::vector<AzureValue> calls_;
};

}  // namespace

std::vector<AzureValue> read_python_calls(std::string_view script) {
    return Reader(Tokens(script).read()).read();
}

}  // namespace distgpu
