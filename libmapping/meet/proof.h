// What shows rank 0 that a report comes from its own step: a tag by the secret that srun drew for
// the step; where no plugin prepared it, a MUNGE credential of the same user; where neither is at
// hand, nothing. The secret itself is never sent. Each report answers a challenge of rank 0, so
// that one that was overheard is of no use again.
#pragma once

#include "base/result.h"
#include "base/secret.h"
#include "base/values.h"

namespace distgpu {

// A credential of MUNGE, the service by which most clusters of Slurm know who sent what, with this
// text in it, which no other user can decode. Nothing: no MUNGE answers.
std::optional<std::string> munge_encode(std::string_view text);

enum class Proof { secret, munge, none };
inline constexpr EnumWords<Proof> proof_names{{"secret", "munge", "none"}};

// The best one that a process with this secret, if any, can give and judge. Asks MUNGE.
Proof best_proof(const std::optional<Secret>& secret);

// Of a text that is proven, in bytes; and of its line, in the largest proof, MUNGE's, with space to
// spare.
inline constexpr std::size_t longest_text = std::size_t{64} * 1024;
inline constexpr std::size_t longest_proven_line = 2 * longest_text;

// The text as one line, with the proof. Error: this process cannot give it.
Result<std::string> prove(Proof proof, const std::optional<Secret>& secret,
                          std::string_view challenge, std::string_view text);

// The text of a line. Nothing: it is not proven.
std::optional<std::string> proven(Proof proof, const std::optional<Secret>& secret,
                                  std::string_view challenge, std::string_view line);

}  // namespace distgpu
