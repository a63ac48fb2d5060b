// elf(5) has the format.
#include "check_config/plugin_release.h"

#include "base/format.h"
#include "base/io/unique_fd.h"

#include <array>
#include <bit>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string_view>
#include <type_traits>
#include <unistd.h>

namespace distgpu {
namespace {

using Header = ElfW(Ehdr);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

class ElfFile {
  public:
    explicit ElfFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        const auto header = at<Header>(0);
        if (header && is_native(*header)) header_ = *header;
    }

    bool is_library() const { return header_.e_type == ET_DYN; }
    bool is_program() const { return is_library() || header_.e_type == ET_EXEC; }

    bool exports(std::string_view name) const { return find(name).has_value(); }

    // Among its first bytes.
    bool contains(std::string_view text) const {
        constexpr off_t most = off_t{512} << 20U;
        std::string piece(std::size_t{1} << 20U, '\0');
        for (off_t at_byte = 0; at_byte < most;) {
            const ssize_t count = pread(file_.fd(), piece.data(), piece.size(), at_byte);
            if (count <= 0) return false;
            const std::string_view got(piece.data(), static_cast<std::size_t>(count));
            if (got.find(text) != std::string_view::npos) return true;
            if (got.size() < text.size()) return false;
            at_byte += static_cast<off_t>(got.size() - text.size() + 1);
        }
        return false;
    }

    // Of an exported object of this name.
    std::optional<std::uint32_t> number(std::string_view name) const {
        const auto symbol = find(name);
        return symbol ? number(*symbol) : std::nullopt;
    }

  private:
    // The first of this name. Up to a number of symbols that no plugin has: sizes in a file are
    // anybody's, and a sparse one has room for any.
    std::optional<Symbol> find(std::string_view name) const {
        constexpr std::uint32_t most = 1U << 18U;
        std::uint32_t seen = 0;
        for (std::uint32_t i = 0; i < header_.e_shnum; ++i) {
            const auto symbols = section(i);
            if (!symbols || symbols->sh_type != SHT_DYNSYM) continue;
            const auto names = section(symbols->sh_link);
            if (!names) return std::nullopt;
            for (std::uint64_t at_byte = 0; at_byte < symbols->sh_size; at_byte += sizeof(Symbol)) {
                if (++seen > most) return std::nullopt;
                const auto symbol = at<Symbol>(symbols->sh_offset + at_byte);
                if (!symbol) return std::nullopt;
                if (reads(names->sh_offset + symbol->st_name, name)) return symbol;
            }
        }
        return std::nullopt;
    }

    static bool is_native(const Header& header) {
        constexpr unsigned char own_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
        constexpr unsigned char own_order =
            std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
        return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
               header.e_ident[EI_CLASS] == own_class && header.e_ident[EI_DATA] == own_order &&
               header.e_shentsize == sizeof(Section);
    }

    // What of the file lies there; nothing beyond its end.
    template <class T>
    std::optional<T> at(std::uint64_t offset) const {
        static_assert(std::is_trivially_copyable_v<T>);
        T value{};
        const ssize_t count = pread(file_.fd(), &value, sizeof value, static_cast<off_t>(offset));
        if (count != static_cast<ssize_t>(sizeof value)) return std::nullopt;
        return value;
    }

    std::optional<Section> section(std::uint32_t index) const {
        if (index >= header_.e_shnum) return std::nullopt;
        return at<Section>(header_.e_shoff + std::uint64_t{index} * sizeof(Section));
    }

    // Whether this text and its NUL stand there.
    bool reads(std::uint64_t offset, std::string_view text) const {
        std::string found(text.size() + 1, '?');
        const ssize_t count =
            pread(file_.fd(), found.data(), found.size(), static_cast<off_t>(offset));
        return count == static_cast<ssize_t>(found.size()) && found.back() == '\0' &&
               found.starts_with(text);
    }

    std::optional<std::uint32_t> number(const Symbol& symbol) const {
        if (symbol.st_shndx == SHN_UNDEF) return std::nullopt;
        const auto place = section(symbol.st_shndx);
        if (!place || place->sh_type == SHT_NOBITS) return std::nullopt;
        return at<std::uint32_t>(place->sh_offset + (symbol.st_value - place->sh_addr));
    }

    UniqueFd file_;
    Header header_{};
};

}  // namespace

std::string text_of(SlurmRelease release) {
    return formatted("{}.{:02}", release.major, release.minor);
}

Result<std::optional<SlurmRelease>> release_of_plugin(const std::string& path) {
    const ElfFile file(path);
    if (!file.is_library()) {
        return Error{path, "not a library for this kind of machine", "name the file of a plugin"};
    }
    const auto version = file.number("plugin_version");
    if (!version) return std::optional<SlurmRelease>();
    // SLURM_VERSION_NUM: a byte each for major, minor and micro.
    return std::optional(SlurmRelease{(*version >> 16U) & 0xffU, (*version >> 8U) & 0xffU});
}

bool is_plugin(const std::string& path) {
    const ElfFile file(path);
    return file.exports("plugin_name") && file.exports("plugin_type");
}

bool is_another_program(const std::string& path) {
    const ElfFile file(path);
    return file.is_program() && !file.contains("distgpu.topo/");
}

}  // namespace distgpu
