// What users of other launchers and libraries write for our modes and keys, for "did you mean".
// None of these words is accepted: a mode has one name in scripts and in questions about them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace distgpu {

// The mode that another word means, such as "pytorch" for "DDP". Nothing: none that is known.
std::optional<std::string_view> mode_meant_by(std::string_view word);

// The same for a key: "port" for "master_port".
std::optional<std::string_view> key_meant_by(std::string_view word);

// In small letters and with '-' for '_', as all words of the grammar are.
std::string in_our_letters(std::string_view word);

}  // namespace distgpu
