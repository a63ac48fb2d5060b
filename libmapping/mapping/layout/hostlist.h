// The names of a step's nodes in Slurm's compressed notation, n[1-4,7], kept
// compressed: a list of a million numbered hosts is one range in memory.
#pragma once

#include "base/result.h"
#include "mapping/layout/ids.h"

#include <optional>
#include <span>
#include <vector>

namespace distgpu {

// An ordered list of host names. A name may occur several times: a heterogeneous step names a node
// once per component. Immutable. Two lists are equal exactly when they expand to the same names in
// the same order: the compressed form is canonical.
class HostList {
  public:
    // The most hosts that parse() accepts. Slurm limits each range to 65,536 numbers (MAX_RANGE)
    // but not the sum; no cluster comes near 2^24.
    static constexpr std::uint64_t max_hosts = std::uint64_t{1} << 24U;

    // The longest expanded name (POSIX: host names have at most 255 characters).
    static constexpr std::size_t max_name_length = 255;

    HostList() = default;  // the empty list

    // Parses the notation of SLURM_STEP_NODELIST and srun -w, as `scontrol show hostnames` does:
    // names separated by commas, blanks or tabs, each with any number of brackets of numbers and
    // ranges, which do not nest.
    //  - the first number of a range sets the zero padding: n[8-010] is n8,n9,n10;
    //  - the last bracket of a name varies fastest, then the first, then the second, and so on:
    //    a[1-2]b[3-4]c[5-6] starts a1b3c5, a1b3c6, a2b3c5;
    //  - duplicates are kept, empty names between separators are skipped;
    //  - text after a name's last bracket, n[1-2]-ib, is parsed as in Slurm 23.11 and newer.
    // Slurm 22.05 turns n[1, n[1-], n[+1] and numbers above 2^64 into hosts that no one wrote: they
    // are refused, as are numbers of more than 18 digits in brackets.
    // Errors: a list that names no host, malformed text, more than `limit` hosts, a name longer
    // than max_name_length, a byte that no host name has, more than 32,768 ranges from brackets
    // that do not end their names. The object is the list, shortened to 60 characters around the
    // error, with its 1-based position.
    // Memory is proportional to the ranges written; as in Slurm, each value of a bracket that does
    // not end its name becomes a separate range. Ranges are counted before they are expanded.
    static Result<HostList> parse(std::string_view text, std::uint64_t limit = max_hosts);

    // Compresses names in the order given. Consecutive numbers (n8,n9,n10 or n08,n09,n10) become a
    // range; n9,n010 do not. Precondition: each name is a host name as `scontrol show hostnames`
    // prints it: not empty, without brackets, commas and blanks.
    static HostList from_names(std::span<const std::string> names);

    // Concatenates the lists, for the nodes of a heterogeneous step. The total is not limited.
    static HostList concatenate(std::span<const HostList> lists);

    std::uint64_t size() const;  // duplicates counted each time
    bool empty() const { return ranges_.empty(); }

    // The name at a position. Precondition: index < size(). Cost: logarithmic in ranges.
    std::string name(NodeIndex index) const;

    // The first position of a name; nullopt if it is absent. Numbers are compared as written: n1 is
    // not found in n[01-04]. Cost: linear in ranges, not in hosts.
    std::optional<NodeIndex> find(std::string_view name) const;

    // Slurm's compressed notation, one bracket per name, with ranges split at Slurm's limit of
    // 65,536 numbers. parse() returns an equal list. Empty for the empty list.
    std::string to_string() const;

    bool operator==(const HostList&) const = default;

  private:
    // `prefix` followed by `count` consecutive numbers, each padded with zeros to `width` digits.
    // Width 0 is a name without a number (count 1).
    struct Range {
        std::string prefix;
        std::uint64_t first_number = 0;
        std::uint64_t first_index = 0;
        std::uint32_t count = 0;
        std::uint32_t width = 0;

        std::string name(std::uint64_t offset) const;
        bool operator==(const Range&) const = default;
    };

    class Parser;

    // Appends `name` and the count - 1 names that follow it, which must have as many digits.
    void append(std::string_view name, std::uint32_t count = 1);
    void append_numbers(std::string_view prefix, std::uint64_t first, std::uint64_t count,
                        std::uint32_t width);

    std::vector<Range> ranges_;
};

}  // namespace distgpu
