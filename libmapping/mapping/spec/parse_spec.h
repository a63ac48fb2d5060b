// Parses SPEC = MODE[,KEY[=VALUE]]..., the value of --distgpu=, of its environment variables and of
// distgpu's commands. The parser, the help text and the documentation share one table of keys.
#pragma once

#include "base/result.h"
#include "base/text.h"
#include "mapping/request/request.h"

#include <span>

namespace distgpu {

// Parse the values of keys, also for plugstack.conf's arguments. An error's object is
// "<key>=<text>", with the text shortened.

// name, addr, suffix:S, a host or address
Result<MasterAddress> parse_master(std::string_view text);
Result<RankOrder> parse_rank_order(std::string_view text);  // slurm, switch, a path with a /, $NAME
Result<GpuPolicy> parse_gpu_policy(std::string_view text);
Result<BindingChoice> parse_binding_choice(std::string_view name, std::string_view text);
Result<CheckChoice> parse_check_choice(std::string_view text);
Result<FailChoice> parse_fail_choice(std::string_view text);
Result<SignalChoice> parse_signal_choice(std::string_view text);  // USR2@300, on, ...
Result<ReportChoice> parse_report_choice(std::string_view text);  // on, off, PATH
Result<Watch> parse_watch(std::string_view text);  // on, off, MINUTES (1 to 1440), MINUTES:end

// The longest SPEC that is accepted, in bytes. All keys of the grammar fit many times.
inline constexpr std::size_t max_spec_length = 1024;

// Parses a SPEC. `origin` is the option or variable that held it ("--distgpu", "SLURM_DISTGPU";
// empty for a positional argument): the error's object is "<origin>=<spec>", shortened. Refuses an
// unknown mode or key (and suggests the nearest valid one), one given twice, a key that the mode
// does not support, a value that is missing, unexpected or out of range, and a SPEC longer than
// max_spec_length.
Result<Request> parse_spec(std::string_view origin, std::string_view spec);

// One key of SPEC.
struct SpecKey {
    Text name;
    Text placeholder;  // of the value, for the help; empty if the key takes no value
    Text help;         // one line
    // Puts the value into the request; `value` is empty for a key that takes none.
    Result<Request> (*apply)(Request, const SpecKey&, std::string_view value);
    bool special = false;  // only the frameworks that list the key support it
    Text bare_value{};     // of the key without '='; empty if it needs a value
};
std::span<const SpecKey> spec_keys();

// The key as the help shows it: "port=N", "dry-run", "check[=warn|off]".
std::string key_usage(const SpecKey& key);

// The text of --distgpu=help: modes, keys and environment variables. Ends with a newline.
std::string spec_help();

}  // namespace distgpu
