// Signs lines between the processes of a step, so that rank 0 knows that a report comes from its
// own step: with a tag computed from the step's secret; without the plugin, with a MUNGE credential
// of the same user; without either, not at all. The secret itself is never sent. Each report
// answers a challenge of rank 0, so that an overheard one cannot be replayed.
#pragma once

#include "base/result.h"
#include "base/secret.h"
#include "base/values.h"

namespace distgpu {

// A credential of MUNGE, the service with which most Slurm clusters authenticate users. It contains
// the text, and no other user can decode it. nullopt if munged does not answer.
std::optional<std::string> munge_encode(std::string_view text);

enum class Proof { secret, munge, none };
inline constexpr EnumNames<Proof> proof_names{{"secret", "munge", "none"}};

// The strongest proof that a process can give and verify. Without a secret asks MUNGE.
Proof best_proof(const std::optional<Secret>& secret);

// In bytes: a text, and the line with its proof, which is longest for MUNGE, with space to spare.
inline constexpr std::size_t max_signed_text = std::size_t{64} * 1024;
inline constexpr std::size_t max_signed_line = 2 * max_signed_text;

// The text with its proof, as one line. Error: this process cannot give that proof.
Result<std::string> sign_line(Proof proof, const std::optional<Secret>& secret,
                              std::string_view challenge, std::string_view text);

// The text of a signed line; nullopt if the proof is wrong.
std::optional<std::string> verify_line(Proof proof, const std::optional<Secret>& secret,
                                       std::string_view challenge, std::string_view line);

}  // namespace distgpu
