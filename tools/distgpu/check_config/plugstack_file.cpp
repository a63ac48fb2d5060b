#include "check_config/plugstack_file.h"

#include "base/format.h"
#include "base/io/file_text.h"
#include "base/io/write.h"
#include "base/nearest_word.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <glob.h>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

namespace distgpu {
namespace {

constexpr std::array<std::string_view, 3> kinds = {"required", "optional", "include"};

std::vector<std::string> words_of(std::string_view line) {
    constexpr std::string_view separators = " \t\n";
    line = line.substr(0, line.find('#'));
    std::vector<std::string> words;
    while (true) {
        line.remove_prefix(std::min(line.find_first_not_of(separators), line.size()));
        if (line.empty()) return words;
        words.emplace_back(line.substr(0, line.find_first_of(separators)));
        line.remove_prefix(words.back().size());
    }
}

bool is_quoted(std::string_view word) {
    return word.starts_with('"') || word.starts_with('\'');
}

// The files of an include, sorted by name as glob(3) does.
std::vector<std::string> matching(const std::string& pattern) {
    glob_t found{};
    const std::unique_ptr<glob_t, decltype(&globfree)> freed(&found, globfree);
    if (glob(pattern.c_str(), 0, nullptr, &found) != 0) return {};
    return {found.gl_pathv, found.gl_pathv + found.gl_pathc};
}

class Reader {
  public:
    Result<Done> read(const std::string& path) {
        auto text = read_regular_file(path);
        if (!text) return text.error();
        open_.push_back(canonical(path));
        std::string_view rest = *text;
        for (std::size_t number = 1; !rest.empty(); ++number) {
            const std::string_view line = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(line.size() + 1, rest.size()));
            take(ConfigLine{path, number}, line);
        }
        open_.pop_back();
        return Done{};
    }

    std::vector<ConfigLine> lines() && { return std::move(lines_); }

  private:
    void take(ConfigLine line, std::string_view text) {
        std::vector<std::string> words = words_of(text);
        if (words.empty()) return;
        if (text.ends_with('\r')) {
            return ignore(std::move(line),
                          {words.front(),
                           "ends in a carriage return, which Slurm takes for a part "
                           "of the last word",
                           "save the file with Unix line ends, as dos2unix does"});
        }
        if (std::find(kinds.begin(), kinds.end(), words.front()) == kinds.end()) {
            const auto nearest = nearest_word(words.front(), kinds);
            return ignore(std::move(line), {words.front(), "Slurm ignores a line that begins so",
                                            formatted("write {}", nearest.value_or("required"))});
        }
        if (words.size() == 1) {
            return ignore(std::move(line),
                          {words.front(), "Slurm ignores a line without a path",
                           formatted("write {} /PATH/OF/THE/FILE", words.front())});
        }
        if (is_quoted(words[1])) {
            return ignore(std::move(line),
                          {words[1], "Slurm takes the quotes for a part of the name",
                           "write it without quotes; a name with a blank cannot be written"});
        }
        if (words.front() == "include") return include(std::move(line), words[1]);
        line.required = words.front() == "required";
        line.plugin = words[1];
        line.arguments.assign(words.begin() + 2, words.end());
        lines_.push_back(std::move(line));
    }

    void ignore(ConfigLine line, Error why) {
        line.ignored = std::move(why);
        lines_.push_back(std::move(line));
    }

    void include(ConfigLine line, const std::string& written) {
        const std::string pattern =
            written.front() == '/'
                ? written
                : (std::filesystem::path(line.file).parent_path() / written).string();
        const std::vector<std::string> files = matching(pattern);
        if (files.empty() && written.find_first_of("*?[") == std::string::npos) {
            return ignore(std::move(line),
                          {written, "there is no such file, of which Slurm says nothing",
                           "name a file that is there"});
        }
        for (const std::string& file : files) {
            if (auto error = include_file(written, file)) ignore(line, *std::move(error));
        }
    }

    std::optional<Error> include_file(const std::string& written, const std::string& file) {
        std::error_code none;
        if (std::filesystem::is_directory(file, none)) {
            return Error{written, "is a folder, from which Slurm reads nothing",
                         formatted("write include {}/*.conf", file)};
        }
        if (std::find(open_.begin(), open_.end(), canonical(file)) != open_.end()) {
            return Error{written, formatted("includes {} within itself, without end", file),
                         "take the line out"};
        }
        constexpr std::size_t most_files = 1000;
        if (++files_ > most_files || lines_.size() > most_lines) {
            return Error{written, "not read: the files include more than anybody could have meant",
                         "include each file once"};
        }
        const auto done = read(file);
        return done ? std::nullopt : std::optional(done.error());
    }

    static std::string canonical(const std::string& path) {
        std::error_code none;
        return std::filesystem::weakly_canonical(path, none).string();
    }

    static constexpr std::size_t most_lines = 10'000;
    std::size_t files_ = 0;  // that were included
    std::vector<ConfigLine> lines_;
    std::vector<std::string> open_;  // a file, those that include it before it
};

}  // namespace

Result<std::vector<ConfigLine>> read_plugstack(const std::string& path) {
    Reader reader;
    return reader.read(path).transform([&](Done) { return std::move(reader).lines(); });
}

}  // namespace distgpu
