// MUNGE, the service by which most clusters of Slurm know who sent what: credentials of this
// process's user. libmunge is loaded where it is installed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace distgpu {

// A credential with this text in it, which no other user can decode. Nothing: no MUNGE answers.
std::optional<std::string> munge_encode(std::string_view text);

// The text in a credential. Nothing: not one of this user, decoded before, expired, or no MUNGE
// answers.
std::optional<std::string> munge_decode(const std::string& credential);

}  // namespace distgpu
