// What the user and the administrator asked for: SPEC = MODE[,KEY[=VALUE]]...,
// the value of --distgpu=, of its environment twins, and of distgpu's commands.
// One table of keys serves the parser, the help text and the documentation.
#pragma once

#include "base/result.h"
#include "mapping/binding/binding.h"
#include "mapping/frameworks/framework.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace distgpu {

// How MASTER_ADDR names the node of rank 0.
struct Master {
    enum class Form {
        address,  // Slurm's NodeAddr
        name,     // Slurm's NodeName
        suffix,   // NodeName + text
        host,     // text as it stands
    };
    Form form = Form::address;
    std::string text;

    bool operator==(const Master&) const = default;
};

// Whether `text` can be a host name, an IPv4 or a bare IPv6 address: 1 to 253
// letters, digits, '.', '-', '_' and ':', but not one colon alone (HOST:PORT).
bool is_host(std::string_view text);

// Reads `name`, `addr`, `suffix:S` or a host name or address. The error's object is
// "master=<text>", the text shortened.
Result<Master> parse_master(std::string_view text);

// A TCP port that an ordinary user may listen on: 1024 .. 65535. The error's
// object is "<what>=<text>", the text shortened.
Result<std::uint16_t> parse_port(std::string_view what, std::string_view text);

// In which order the nodes of the step get the ranks.
struct RankOrder {
    enum class Source : std::uint8_t {
        slurm,     // as Slurm numbers the tasks
        switches,  // nodes of one switch follow each other
        file,      // of `text`, a list of the nodes
        variable,  // the same in a variable of srun's environment
    };
    Source source = Source::slurm;
    std::string text{};  // the file's path, or the variable's name

    bool operator==(const RankOrder&) const = default;
};

// Reads `slurm`, `switch`, a path with a slash or `$NAME`. The error's object is "order=<text>",
// the text shortened.
Result<RankOrder> parse_rank_order(std::string_view text);

// The same, as it was written.
std::string to_string(const RankOrder& order);

// Where CPUs or network devices are to be.
enum class BindingChoice : std::uint8_t { near, keep };

// The values of the keys gpus=, cpus= and hcas=, also of plugstack.conf's arguments. The errors'
// object is "<name>=<text>", the text shortened.
Result<const GpuPolicy*> parse_gpu_policy(std::string_view text);
Result<BindingChoice> parse_binding_choice(std::string_view name, std::string_view text);

// What becomes of a step in which `distgpu check` finds something wrong before its program starts.
enum class CheckChoice : std::uint8_t {
    off,   // nobody looks
    warn,  // it is told, and the step goes on
    stop,  // it is told, and the step ends
};

// The values of the key check=, also of plugstack.conf's argument. The error's object is
// "check=<text>", the text shortened.
Result<CheckChoice> parse_check_choice(std::string_view text);

// Whether a step is watched for ranks that hang.
struct Watch {
    bool on = false;  // the tasks are prepared, so that `distgpu why` sees what it can
    std::uint32_t minutes =
        0;              // without any movement, after which it looks by itself; 0: it does not
    bool ends = false;  // and then ends the step

    bool operator==(const Watch&) const = default;
};

// The values of the key watch=, also of plugstack.conf's argument: `on`, `off`, MINUTES (1 to
// 1440), MINUTES:end. The error's object is "watch=<text>", the text shortened.
Result<Watch> parse_watch(std::string_view text);

// The same, as it is written.
std::string to_string(const Watch& watch);

struct Request {
    const Framework* framework = nullptr;  // null: off
    // The mode as the user wrote it, with the key that chose a variant: "tf", "pytorch,per-node".
    std::string mode{};
    bool help = false;  // the mode was `help`
    std::optional<std::uint16_t> port;
    std::optional<Master> master;
    std::optional<std::uint32_t> nproc;
    std::optional<RankOrder> order{};  // nothing: the administrator's, else Slurm's
    bool keep_omp = false;             // omp=keep: OMP_NUM_THREADS is left alone
    // Nothing, or null: the administrator's default, else near.
    const GpuPolicy* gpus = nullptr;
    std::optional<BindingChoice> cpus;
    std::optional<BindingChoice> hcas;
    bool keep_all = false;             // bind=none: those of the three that are not given are kept
    bool gpu_uuids = false;            // gpu-ids=uuid
    std::optional<CheckChoice> check;  // nothing: the administrator's default, else off
    std::optional<Watch> watch;        // nothing: the administrator's default, else off
    // tensorflow: tasks with this role, in rank order before and after the workers.
    std::uint32_t chief = 0;      // 0 or 1
    std::uint32_t ps = 0;         // parameter servers
    std::uint32_t evaluator = 0;  // 0 or 1
    // ray: the first and the last port of its workers; nothing: the kernel chooses.
    std::optional<std::pair<std::uint16_t, std::uint16_t>> worker_ports;
    bool dashboard = true;
    bool dry_run = false;
    bool verbose = false;

    bool operator==(const Request&) const = default;
};

// How a message names the mode, which is not off: "--distgpu=tf".
std::string option_of(const Request& request);

// Whether the ranks shall be dealt to the nodes in another order than Slurm's.
bool reorders(const Request& request);

// What the key watch= asks for, which is nothing where nobody gave it.
Watch watch_of(const Request& request);

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
    // Puts the value into the request; `value` is empty for a key without one.
    Result<Request> (*apply)(Request, std::string_view value);
    // Only the frameworks that list it take it.
    bool special = false;
    bool stands_alone = false;  // it means something without its value too
};
std::span<const SpecKey> spec_keys();

// As the help shows it: "port=N", "dry-run", "check[=warn|off]".
std::string key_usage(const SpecKey& key);

// The text of --distgpu=help: modes, keys, and the environment twins. Ends with a newline.
std::string spec_help();

}  // namespace distgpu
