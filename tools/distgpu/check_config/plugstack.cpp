// Reads plugstack.conf as Slurm does (_spank_stack_load() of plugstack.c, 22.05 to 26.05): line by
// line, with the lines of an included file in place of the include.
#include "check_config/plugstack.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <glob.h>
#include <link.h>
#include <memory>
#include <system_error>
#include <utility>

namespace distgpu {
namespace {

constexpr std::array<std::string_view, 3> kinds = {"required", "optional", "include"};

// The files of an include, sorted by name as glob(3) does.
std::vector<std::string> expand_glob(const std::string& pattern) {
    glob_t found{};
    const std::unique_ptr<glob_t, decltype(&globfree)> freed(&found, globfree);
    if (glob(pattern.c_str(), 0, nullptr, &found) != 0) return {};
    return {found.gl_pathv, found.gl_pathv + found.gl_pathc};
}

struct Reader {
    std::vector<ConfigLine> lines{};
    std::vector<std::string> open{};  // the file being read, after those that include it
    std::size_t files = 0;            // the number of included files

    Result<Done> read(const std::string& path) {
        const auto text = read_regular_file(path);
        if (!text) return text.error();
        open.push_back(path);
        std::string_view rest = *text;
        for (std::size_t number = 1; !rest.empty(); ++number) {
            read_line({path, number}, cut_until(rest, '\n'));
        }
        open.pop_back();
        return Done{};
    }

    void ignore(ConfigLine line, std::string_view object, std::string problem, std::string remedy) {
        line.ignored = Error{std::string(object), std::move(problem), std::move(remedy)};
        lines.push_back(std::move(line));
    }

    void read_line(ConfigLine line, std::string_view text) {
        const auto words = words_in(text.substr(0, text.find('#')), " \t\n");
        if (words.empty()) return;
        const std::string_view kind = words.front();
        if (text.ends_with('\r')) {
            return ignore(line, kind,
                          "the line ends in a carriage return, which Slurm reads as part of the "
                          "last word",
                          "save the file with Unix line ends, as dos2unix does");
        }
        if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
            return ignore(line, kind, "unknown keyword, so Slurm ignores the line",
                          formatted("write {}", nearest_word(kind, kinds).value_or("required")));
        }
        if (words.size() == 1) {
            return ignore(line, kind, "Slurm ignores a line without a path",
                          formatted("write {} /PATH/OF/THE/FILE", kind));
        }
        if (words[1].starts_with('"') || words[1].starts_with('\'')) {
            return ignore(line, words[1], "Slurm treats the quotes as part of the name",
                          "write it without quotes; a name with a blank cannot be written");
        }
        if (kind == "include") return include(line, words[1]);
        line.required = kind == "required";
        line.plugin = words[1];
        line.arguments.assign(words.begin() + 2, words.end());
        lines.push_back(std::move(line));
    }

    void include(const ConfigLine& line, std::string_view written) {
        constexpr std::size_t max_files = 1000;
        constexpr std::size_t max_lines = 10'000;
        const auto found = expand_glob(std::filesystem::path(line.file).parent_path() / written);
        if (found.empty() && written.find_first_of("*?[") == std::string::npos) {
            ignore(line, written, "no such file, which Slurm silently ignores",
                   "name an existing file");
        }
        for (const std::string& file : found) {
            std::error_code ignored;
            if (std::filesystem::is_directory(file, ignored)) {
                ignore(line, written, "is a folder, which Slurm does not read",
                       formatted("write include {}/*.conf", file));
            } else if (std::ranges::any_of(open, [&](const std::string& each) {
                           return std::filesystem::equivalent(each, file, ignored);
                       })) {
                ignore(line, written, formatted("includes {} recursively, without end", file),
                       "remove the line");
            } else if (++files > max_files || lines.size() > max_lines) {
                ignore(line, written,
                       "not read, because there are too many included files or lines",
                       "include each file once");
            } else if (const auto done = read(file); !done) {
                const Error& error = done.error();
                ignore(line, error.object, error.problem, error.remedy);
            }
        }
    }
};

}  // namespace

Result<std::vector<ConfigLine>> read_plugstack(const std::string& path) {
    Reader reader;
    return reader.read(path).transform([&](Done) { return std::move(reader.lines); });
}

bool has_port(std::string_view list, std::uint32_t port) {
    constexpr std::size_t ports = 65'536;
    return std::ranges::any_of(comma_items(list), [port](std::string_view item) {
        const auto range = number_range_below(item, ports);
        return range && range->first <= port && port <= range->last;
    });
}

namespace {

using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

// The file of a plugin or a program, in the format of elf(5). Its content is not trusted.
struct Elf {
    explicit Elf(std::string file) : bytes(std::move(file)) {
        constexpr bool is_little = std::endian::native == std::endian::little;
        constexpr std::array<unsigned char, 6> native{ELFMAG0,
                                                      ELFMAG1,
                                                      ELFMAG2,
                                                      ELFMAG3,
                                                      sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32,
                                                      is_little ? ELFDATA2LSB : ELFDATA2MSB};
        const auto header = at<ElfW(Ehdr)>(0).value_or(ElfW(Ehdr){});
        if (header.e_shentsize != sizeof(Section) ||
            !std::equal(native.begin(), native.end(), header.e_ident)) {
            return;
        }
        type = header.e_type;
        for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
            sections.push_back(
                at<Section>(header.e_shoff + i * sizeof(Section)).value_or(Section{}));
        }
    }

    // nullopt if it ends beyond the end of the file.
    template <class T>
    std::optional<T> at(std::uint64_t offset) const {
        T value{};
        if (offset > bytes.size() || bytes.size() - offset < sizeof value) return std::nullopt;
        std::memcpy(&value, bytes.data() + offset, sizeof value);
        return value;
    }

    // The offset in the file of the value of the symbol that the library defines by this name.
    std::optional<std::uint64_t> offset_of_value(std::string_view name) const {
        const std::string terminated = std::string(name) + '\0';
        const auto symbols = std::ranges::find(sections, SHT_DYNSYM, &Section::sh_type);
        if (symbols == sections.end() || symbols->sh_link >= sections.size()) return std::nullopt;
        for (std::uint64_t offset = 0; offset < symbols->sh_size; offset += sizeof(Symbol)) {
            const auto symbol = at<Symbol>(symbols->sh_offset + offset);
            if (!symbol) break;
            const std::uint64_t name_offset =
                sections[symbols->sh_link].sh_offset + symbol->st_name;
            if (bytes.compare(std::min(name_offset, bytes.size()), terminated.size(), terminated) !=
                0) {
                continue;
            }
            const std::size_t index = symbol->st_shndx;
            if (index == SHN_UNDEF || index >= sections.size()) break;
            const Section& section = sections[index];
            if (section.sh_type == SHT_NOBITS) break;
            return section.sh_offset + (symbol->st_value - section.sh_addr);
        }
        return std::nullopt;
    }

    std::string bytes;
    unsigned type = ET_NONE;  // ET_DYN, ET_EXEC...; ET_NONE if not for this architecture
    std::vector<Section> sections;
};

constexpr std::size_t max_file_size = std::size_t{512} << 20U;

}  // namespace

Result<std::string> plugin_release(const std::string& path) {
    const auto bytes = read_regular_file(path, max_file_size);
    const Elf file(bytes ? *bytes : "");
    std::error_code failed;
    const bool is_large = std::filesystem::file_size(path, failed) > max_file_size && !failed;
    if (file.type != ET_DYN && !is_large) {
        return Error{path, "not a shared library for this architecture",
                     "name the file of a plugin"};
    }
    // Without these Slurm does not load it.
    if (!file.offset_of_value("plugin_name") || !file.offset_of_value("plugin_type")) {
        return Error{path, "not a Slurm plugin: it has no plugin_name and plugin_type", ""};
    }
    const auto offset = file.offset_of_value("plugin_version");
    const auto version = offset ? file.at<std::uint32_t>(*offset) : std::nullopt;
    // SLURM_VERSION_NUM: a byte each for major, minor and micro.
    return version ? formatted("{}.{:02}", (*version >> 16U) & 0xffU, (*version >> 8U) & 0xffU)
                   : "";
}

bool is_another_program(const std::string& path) {
    const auto bytes = read_regular_file(path, max_file_size);
    if (!bytes) return true;  // larger than any release
    const Elf file(*bytes);
    return (file.type == ET_DYN || file.type == ET_EXEC) &&
           bytes->find("distgpu.topo/") == std::string::npos;
}

}  // namespace distgpu
