// The grammar of SPEC = MODE[,KEY[=VALUE]]..., the value of --distgpu=, of its environment twins,
// and of distgpu's commands. One table of keys serves the parser, the help text and the
// documentation.
#pragma once

#include "base/result.h"
#include "mapping/request/request.h"

#include <span>

namespace distgpu {

// The values of keys, also of plugstack.conf's arguments. An error's object is "<key>=<text>", the
// text shortened.
Result<Master> parse_master(std::string_view text);  // name, addr, suffix:S, a host or address
Result<RankOrder> parse_rank_order(std::string_view text);  // slurm, switch, a path with a /, $NAME
Result<GpuPolicy> parse_gpu_policy(std::string_view text);
Result<BindingChoice> parse_binding_choice(std::string_view name, std::string_view text);
Result<CheckChoice> parse_check_choice(std::string_view text);
Result<Watch> parse_watch(std::string_view text);  // on, off, MINUTES (1 to 1440), MINUTES:end

// Longest SPEC that is read, in bytes. Every word of the grammar fits many times.
inline constexpr std::size_t max_spec_length = 1024;

// Reads a SPEC. `origin` is where it stood ("--distgpu", "SLURM_DISTGPU"; empty: as a word alone):
// the error's object is "<origin>=<spec>", shortened. Refused: an unknown mode or key (with the
// nearest valid word), one given twice, a key that the mode does not take, a value that is missing,
// unexpected or out of range, a SPEC longer than max_spec_length.
Result<Request> parse_spec(std::string_view origin, std::string_view spec);

// One key of SPEC.
struct SpecKey {
    std::string_view name;
    std::string_view placeholder;  // what the help shows after '='; empty: takes no value
    std::string_view help;         // one line
    // Puts the value into the request; `value` is empty for a key that takes none.
    Result<Request> (*apply)(Request, const SpecKey&, std::string_view value);
    // Only the frameworks that list it take it.
    bool special = false;
    std::string_view alone{};  // the value that it has where none is given; empty: it needs one
};
std::span<const SpecKey> spec_keys();

// As the help shows it: "port=N", "dry-run", "check[=warn|off]".
std::string key_usage(const SpecKey& key);

// The text of --distgpu=help: modes, keys, and the environment twins. Ends with a newline.
std::string spec_help();

}  // namespace distgpu
