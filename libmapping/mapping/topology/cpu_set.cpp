#include "mapping/topology/cpu_set.h"

#include "base/format.h"
#include "base/values.h"

#include <bit>

namespace distgpu {
CpuSet::CpuSet(std::initializer_list<std::uint32_t> cpus) {
    for (const std::uint32_t cpu : cpus) add(cpu);
}

CpuSet CpuSet::range(std::uint32_t first, std::uint32_t last) {
    CpuSet set;
    for (std::uint32_t cpu = first; cpu <= last; ++cpu) set.add(cpu);
    return set;
}

Result<CpuSet> CpuSet::parse(std::string_view list) {
    CpuSet set;
    if (list.empty()) return set;
    for (const std::string_view item : comma_items(list)) {
        const auto ends = number_range_below(item, cpu_limit);
        if (!ends) {
            return Error{formatted("CPU list {}", excerpt(list)), "not a list of CPUs",
                         "write it like 0-3,8"};
        }
        for (std::uint32_t cpu = ends->first; cpu <= ends->last; ++cpu) set.add(cpu);
    }
    return set;
}

CpuSet CpuSet::from_words(std::span<const Word> words) {
    CpuSet set;
    set.words_.assign(words.begin(), words.end());
    set.trim();
    return set;
}

void CpuSet::trim() {
    while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

void CpuSet::add(std::uint32_t cpu) {
    const std::size_t word = cpu / word_bits;
    if (word >= words_.size()) words_.resize(word + 1);
    words_[word] |= Word{1} << (cpu % word_bits);
}

bool CpuSet::contains(std::uint32_t cpu) const {
    const std::size_t word = cpu / word_bits;
    return word < words_.size() && (words_[word] >> (cpu % word_bits) & 1U) != 0;
}

std::uint32_t CpuSet::count_in(const CpuSet& other) const {
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i) {
        count += static_cast<std::uint32_t>(std::popcount(words_[i] & other.words_[i]));
    }
    return count;
}

std::vector<std::uint32_t> CpuSet::cpus() const {
    std::vector<std::uint32_t> cpus;
    for (std::uint32_t i = 0; i < words_.size(); ++i) {
        for (Word rest = words_[i]; rest != 0; rest &= rest - 1) {
            cpus.push_back(i * word_bits + static_cast<std::uint32_t>(std::countr_zero(rest)));
        }
    }
    return cpus;
}

CpuSet& CpuSet::operator|=(const CpuSet& other) {
    if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
    for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
}

CpuSet& CpuSet::operator&=(const CpuSet& other) {
    if (words_.size() > other.words_.size()) words_.resize(other.words_.size());
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
    trim();
    return *this;
}

CpuSet& CpuSet::operator-=(const CpuSet& other) {
    for (std::size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i) {
        words_[i] &= ~other.words_[i];
    }
    trim();
    return *this;
}

std::string CpuSet::to_string() const {
    return number_ranges(cpus());
}

}  // namespace distgpu
