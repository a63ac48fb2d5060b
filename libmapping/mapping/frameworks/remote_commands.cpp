#include "mapping/frameworks/remote_commands.h"

#include "base/file_name.h"
#include "base/format.h"
#include "base/word_list.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace distgpu {
namespace {

// A program that joins its last words to a command line for the shell of another node.
struct RemoteShell {
    std::string_view names;      // between blanks
    std::string_view letters;    // of short options with a value
    std::string_view options{};  // long ones with a value, between blanks
    bool names_host = false;     // a word of its own names the host, and options may follow it
};

// From the manuals of OpenSSH 9.6, rsh-client 0.17, pdsh 2.34, ClusterShell 1.9 and pssh 2.3.
constexpr std::array remote_shells{
    RemoteShell{.names = "ssh", .letters = "BbcDEeFIiJLlmOoPpQRSWw", .names_host = true},
    RemoteShell{.names = "rsh", .letters = "l", .names_host = true},
    RemoteShell{.names = "pdsh", .letters = "wxtuflRMgXPjFC"},
    RemoteShell{.names = "clush",
                .letters = "wxgXlftumoROEs",
                .options = "--hostfile --group --exgroup --fanout --user --mode --worker --option "
                           "--engine --groupsource --topology --outdir --errdir --pick"},
    RemoteShell{.names = "pssh parallel-ssh",
                .letters = "HhlpoetOxX",
                .options = "--host --hosts --user --par --outdir --errdir --timeout --option"},
};

bool is_option(std::string_view word) {
    return word.size() > 1 && word.front() == '-';
}

// Whether the value of the option stands in the next word.
bool takes_next_word(const RemoteShell& shell, std::string_view option) {
    if (option.starts_with("--")) return has_word(shell.options, option);
    const std::size_t letter = option.find_first_of(shell.letters, 1);
    return letter != std::string_view::npos && letter + 1 == option.size();
}

// The place of the first word of the command.
std::size_t command_at(const RemoteShell& shell, std::span<const std::string> line) {
    bool wants_host = shell.names_host;
    std::size_t at = 1;
    for (; at < line.size(); ++at) {
        const std::string_view word = line[at];
        if (word == "--") {
            at += wants_host ? 2 : 1;
            break;
        }
        if (is_option(word)) {
            if (takes_next_word(shell, word)) ++at;
        } else if (wants_host) {
            wants_host = false;
        } else {
            break;
        }
    }
    return std::min(at, line.size());
}

}  // namespace

std::optional<RemoteCommands> remote_commands(std::span<const std::string> line) {
    if (line.empty()) return std::nullopt;
    const std::string_view name = file_name(line.front());
    const auto shell =
        std::find_if(remote_shells.begin(), remote_shells.end(),
                     [name](const RemoteShell& each) { return has_word(each.names, name); });
    if (shell == remote_shells.end()) return std::nullopt;
    const auto command = static_cast<std::ptrdiff_t>(command_at(*shell, line));
    RemoteCommands remote;
    remote.sends_variables =
        std::any_of(line.begin(), line.begin() + command, [](const std::string& word) {
            return word.find("SendEnv") != std::string::npos ||
                   word.find("SetEnv") != std::string::npos;
        });
    const std::vector<std::string> words(line.begin() + command, line.end());
    if (words.empty()) return remote;
    const std::array<std::string, 3> as_shell{"sh", "-c", join(words, " ")};
    remote.commands = started_commands(as_shell);
    return remote;
}

}  // namespace distgpu
