// The names of a step's nodes in Slurm's compressed notation, n[1-4,7], kept
// compressed: a list of a million numbered hosts is one range in memory.
#pragma once

#include "base/result.h"
#include "mapping/layout/ids.h"

#include <optional>
#include <span>
#include <vector>

namespace distgpu {

// An ordered list of host names; a name may stand in it several times, as a heterogeneous step
// names a node once per component. Immutable. Two lists are equal exactly when they expand to the
// same names in the same order: the compressed form is canonical.
class HostList {
  public:
    // Most hosts that parse() accepts. Slurm bounds each range by 65,536
    // numbers (MAX_RANGE) but not the sum; no cluster comes near 2^24.
    static constexpr std::uint64_t max_hosts = std::uint64_t{1} << 24U;

    // Most characters of one expanded name (POSIX: host names end at 255).
    static constexpr std::size_t max_name_length = 255;

    HostList() = default;  // the empty list

    // Reads what Slurm writes into SLURM_STEP_NODELIST and users into -w, as `scontrol show
    // hostnames` does: names separated by commas, blanks or tabs, each with any number of brackets
    // of numbers and ranges, which do not nest.
    //  - the first number of a range sets the zero padding: n[8-010] is n8,n9,n10;
    //  - the last bracket of a name turns fastest, then the first, then the second, and so on:
    //    a[1-2]b[3-4]c[5-6] starts a1b3c5, a1b3c6, a2b3c5;
    //  - duplicates stay, empty names between separators are skipped;
    //  - text after a name's last bracket, n[1-2]-ib, is taken as from Slurm 23.11 on.
    // Slurm 22.05 makes a host that nobody meant of n[1, n[1-], n[+1] and a number past 2^64: they
    // are refused, and so are numbers of more than 18 digits in brackets.
    // Errors: a list that names no host, malformed text, more than `most` hosts, a name longer than
    // max_name_length, a byte that no host name has, brackets that do not end their names and make
    // more than 32,768 ranges in all. The object is the list, shortened to 60 characters around the
    // place, with the place's 1-based position.
    // Memory is proportional to the ranges written; as in Slurm, each value of a bracket that does
    // not end its name makes a range of its own. Nothing is expanded before it is counted.
    static Result<HostList> parse(std::string_view text, std::uint64_t most = max_hosts);

    // Compresses names in the order given. Numbered neighbours (n8,n9,n10 or n08,n09,n10) become a
    // range; n9,n010 stay apart. Precondition: each name is a host name as `scontrol show
    // hostnames` prints it: not empty, without brackets, commas and blanks.
    static HostList from_names(std::span<const std::string> names);

    // The lists one after the other: the nodes of a heterogeneous step. Their sum is not bounded.
    static HostList concatenate(std::span<const HostList> lists);

    std::uint64_t size() const;  // duplicates counted each time
    bool empty() const { return ranges_.empty(); }

    // The name at a position. Precondition: index < size(). Cost: logarithmic in ranges.
    std::string name(NodeIndex index) const;

    // The first position of a name, or none. A number is compared as written:
    // n1 is not found in n[01-04]. Cost: linear in ranges, not in hosts.
    std::optional<NodeIndex> find(std::string_view name) const;

    // Compressed in Slurm's notation, one bracket a name, with ranges cut at Slurm's bound of
    // 65,536. parse() reads it back to an equal list. Empty list: empty text.
    std::string to_string() const;

    bool operator==(const HostList&) const = default;

  private:
    // prefix followed by count consecutive numbers, each padded with zeros to width digits; width
    // 0 is a name without a number (count 1).
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

    // A name and those after it whose last number has as many digits.
    void append(std::string_view name, std::uint32_t count = 1);
    void append_numbers(std::string_view prefix, std::uint64_t first, std::uint64_t count,
                        std::uint32_t width);

    std::vector<Range> ranges_;
};

}  // namespace distgpu
