// A set of CPUs (hardware threads, which hwloc calls PUs) by the operating system's numbers.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace distgpu {

class CpuSet {
  public:
    // CPU numbers are below it: the largest NR_CPUS of Linux (arch/x86/Kconfig with MAXSMP, 6.1).
    // A set takes as many bits as its largest CPU number.
    static constexpr std::uint32_t cpu_limit = 8192;

    using Word = std::uint64_t;
    static constexpr std::uint32_t word_bits = 64;

    CpuSet() = default;
    CpuSet(std::initializer_list<std::uint32_t> cpus);

    // CPUs first .. last. Precondition: first <= last < cpu_limit.
    static CpuSet range(std::uint32_t first, std::uint32_t last);

    // Parses the list format of Linux and taskset ("0-3,8"); an empty text is the empty set.
    // Errors: malformed text, a number from cpu_limit on, a range that runs backwards.
    static Result<CpuSet> parse(std::string_view list);

    // CPU n is bit n % word_bits of word n / word_bits, as in the kernel's cpu_set_t.
    static CpuSet from_words(std::span<const Word> words);
    std::span<const Word> words() const { return words_; }  // no zero word at the end

    void add(std::uint32_t cpu);  // precondition: cpu < cpu_limit
    bool contains(std::uint32_t cpu) const;
    bool contains(const CpuSet& other) const { return count_in(other) == other.count(); }
    bool intersects(const CpuSet& other) const { return count_in(other) > 0; }
    bool empty() const { return words_.empty(); }
    std::uint32_t count() const { return count_in(*this); }
    std::uint32_t count_in(const CpuSet& other) const;  // CPUs that are in both sets
    std::vector<std::uint32_t> cpus() const;            // ascending

    CpuSet& operator|=(const CpuSet& other);
    CpuSet& operator&=(const CpuSet& other);
    CpuSet& operator-=(const CpuSet& other);

    // "0-3,8"; "" for the empty set.
    std::string to_string() const;

    bool operator==(const CpuSet&) const = default;

  private:
    void trim();

    std::vector<Word> words_;
};

inline CpuSet operator|(CpuSet left, const CpuSet& right) {
    return left |= right;
}
inline CpuSet operator&(CpuSet left, const CpuSet& right) {
    return left &= right;
}
inline CpuSet operator-(CpuSet left, const CpuSet& right) {
    return left -= right;
}

}  // namespace distgpu
