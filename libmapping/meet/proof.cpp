#include "meet/proof.h"

#include "meet/munge.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <sodium.h>
#include <tuple>
#include <utility>

namespace distgpu {
namespace {

constexpr std::array<std::pair<Proof, std::string_view>, 3> names{
    {{Proof::secret, "secret"}, {Proof::munge, "munge"}, {Proof::none, "none"}}};

using Tag = std::array<std::uint8_t, crypto_auth_BYTES>;
static_assert(std::tuple_size_v<Secret::Bytes> == crypto_auth_KEYBYTES);

// As libsodium takes texts.
const unsigned char* bytes_of(const std::string& text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

// libsodium wants it before its other functions, and does it once. It fails where the kernel gives
// no random numbers, of which a tag takes none.
void start_sodium() {
    [[maybe_unused]] const int started = sodium_init();
}

std::string tag_of(const Secret& secret, const std::string& text) {
    start_sodium();
    Tag tag{};
    crypto_auth(tag.data(), bytes_of(text), text.size(), secret.bytes().data());
    std::string digits(2 * tag.size() + 1, '\0');
    sodium_bin2hex(digits.data(), digits.size(), tag.data(), tag.size());
    digits.pop_back();
    return digits;
}

// Takes as long for a wrong tag, whatever is wrong with it.
bool is_tag_of(const Secret& secret, const std::string& text, std::string_view digits) {
    start_sodium();
    Tag tag{};
    return digits.size() == 2 * tag.size() &&
           sodium_hex2bin(tag.data(), tag.size(), digits.data(), digits.size(), nullptr, nullptr,
                          nullptr) == 0 &&
           crypto_auth_verify(tag.data(), bytes_of(text), text.size(), secret.bytes().data()) == 0;
}

// Both parts of what is proven; a challenge has no newline and no variable length.
std::string bound(std::string_view challenge, std::string_view text) {
    return std::string(challenge) + '\n' + std::string(text);
}

std::optional<std::string> untagged(const Secret& secret, std::string_view challenge,
                                    std::string_view line) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    const std::string_view text = line.substr(space + 1);
    if (!is_tag_of(secret, bound(challenge, text), line.substr(0, space))) return std::nullopt;
    return std::string(text);
}

std::optional<std::string> decoded(std::string_view challenge, std::string_view line) {
    const auto text = munge_decode(std::string(line));
    const std::string beginning = bound(challenge, "");
    if (!text || text->compare(0, beginning.size(), beginning) != 0) return std::nullopt;
    return text->substr(beginning.size());
}

}  // namespace

std::string_view name_of(Proof proof) {
    return std::find_if(names.begin(), names.end(),
                        [proof](const auto& each) { return each.first == proof; })
        ->second;
}

std::optional<Proof> proof_named(std::string_view name) {
    const auto at = std::find_if(names.begin(), names.end(),
                                 [name](const auto& each) { return each.second == name; });
    return at == names.end() ? std::nullopt : std::optional(at->first);
}

Proof best_proof(const std::optional<Secret>& secret) {
    if (secret) return Proof::secret;
    const auto credential = munge_encode("");
    return credential ? Proof::munge : Proof::none;
}

Result<std::string> prove(Proof proof, const std::optional<Secret>& secret,
                          std::string_view challenge, std::string_view text) {
    if (proof == Proof::none) return std::string(text);
    if (proof == Proof::secret) {
        if (secret) return tag_of(*secret, bound(challenge, text)) + ' ' + std::string(text);
        return Error{"rank 0", "asks for the secret of the step, which this rank has not",
                     "look for a wrapper script that unsets SLURM_DISTGPU_SECRET"};
    }
    if (auto credential = munge_encode(bound(challenge, text))) return *std::move(credential);
    return Error{"rank 0", "asks for a MUNGE credential, but MUNGE does not answer here",
                 "ask the administrator to start munged on this node"};
}

std::optional<std::string> proven(Proof proof, const std::optional<Secret>& secret,
                                  std::string_view challenge, std::string_view line) {
    if (proof == Proof::none) return std::string(line);
    if (proof == Proof::munge) return decoded(challenge, line);
    return secret ? untagged(*secret, challenge, line) : std::nullopt;
}

}  // namespace distgpu
