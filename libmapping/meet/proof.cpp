#include "meet/proof.h"

#include "base/io/shared_library.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sodium.h>
#include <tuple>
#include <unistd.h>

namespace distgpu {
// The prototypes and numbers are those of munge.h of MUNGE 0.5, whose ABI is stable.

namespace {

using Status = int;  // 0: success
using Context = void*;

struct MungeLibrary {
    MungeLibrary() {
        auto munge = SharedLibrary::load("libmunge.so.2", "");
        if (!munge) return;
        munge->resolve(create, "munge_ctx_create");
        munge->resolve(destroy, "munge_ctx_destroy");
        munge->resolve(set, "munge_ctx_set");
        munge->resolve(encode, "munge_encode");
        munge->resolve(decode, "munge_decode");
        is_usable = munge->missing().empty();
    }

    Context (*create)() = nullptr;
    void (*destroy)(Context) = nullptr;
    Status (*set)(Context, int option, ...) = nullptr;
    Status (*encode)(char** credential, Context, const void* text, int length) = nullptr;
    Status (*decode)(const char* credential, Context, void** text, int* length, uid_t*,
                     gid_t*) = nullptr;
    bool is_usable = false;
};

const MungeLibrary& munge_library() {
    static const MungeLibrary library;
    return library;
}

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

// The text in a credential; nullopt if it is another user's, was decoded before, or is expired, or
// if munged does not answer.
std::optional<std::string> munge_decode(const std::string& credential) {
    if (!munge_library().is_usable) return std::nullopt;
    void* text = nullptr;
    int length = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    const Status status =
        munge_library().decode(credential.c_str(), nullptr, &text, &length, &uid, &gid);
    const std::unique_ptr<void, Free> memory(text);
    if (status != 0 || uid != geteuid() || text == nullptr) return std::nullopt;
    return std::string(static_cast<const char*>(text), static_cast<std::size_t>(length));
}

using Tag = std::array<std::uint8_t, crypto_auth_BYTES>;
static_assert(std::tuple_size_v<Secret::Bytes> == crypto_auth_KEYBYTES);

// The pointer type of libsodium's functions.
const unsigned char* bytes_of(const std::string& text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

// Must be called before other functions of libsodium; only the first call has an effect. It fails
// if the kernel gives no random numbers, but tags need none.
void init_sodium() {
    [[maybe_unused]] const int status = sodium_init();
}

std::string tag_of(const Secret& secret, const std::string& text) {
    init_sodium();
    Tag tag{};
    crypto_auth(tag.data(), bytes_of(text), text.size(), secret.bytes().data());
    std::string digits(2 * tag.size() + 1, '\0');
    sodium_bin2hex(digits.data(), digits.size(), tag.data(), tag.size());
    digits.pop_back();
    return digits;
}

// Takes the same time for every wrong tag.
bool is_tag_of(const Secret& secret, const std::string& text, std::string_view digits) {
    init_sodium();
    Tag tag{};
    return digits.size() == 2 * tag.size() &&
           sodium_hex2bin(tag.data(), tag.size(), digits.data(), digits.size(), nullptr, nullptr,
                          nullptr) == 0 &&
           crypto_auth_verify(tag.data(), bytes_of(text), text.size(), secret.bytes().data()) == 0;
}

// What is signed. Unambiguous, because a challenge has no newline and a fixed length.
std::string signed_text(std::string_view challenge, std::string_view text) {
    return std::string(challenge) + '\n' + std::string(text);
}

std::optional<std::string> verify_tag(const Secret& secret, std::string_view challenge,
                                      std::string_view line) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    const std::string_view text = line.substr(space + 1);
    if (!is_tag_of(secret, signed_text(challenge, text), line.substr(0, space))) {
        return std::nullopt;
    }
    return std::string(text);
}

std::optional<std::string> verify_credential(std::string_view challenge, std::string_view line) {
    const auto text = munge_decode(std::string(line));
    const std::string beginning = signed_text(challenge, "");
    if (!text || text->compare(0, beginning.size(), beginning) != 0) return std::nullopt;
    return text->substr(beginning.size());
}

}  // namespace

std::optional<std::string> munge_encode(std::string_view text) {
    const MungeLibrary& library = munge_library();
    if (!library.is_usable) return std::nullopt;
    const std::unique_ptr<void, decltype(library.destroy)> context(library.create(),
                                                                   library.destroy);
    constexpr int uid_restriction = 9;
    if (!context || library.set(context.get(), uid_restriction, geteuid()) != 0) {
        return std::nullopt;
    }
    char* credential = nullptr;
    const Status status =
        library.encode(&credential, context.get(), text.data(), static_cast<int>(text.size()));
    const std::unique_ptr<char, Free> memory(credential);
    return status == 0 ? std::optional<std::string>(credential) : std::nullopt;
}

Proof best_proof(const std::optional<Secret>& secret) {
    if (secret) return Proof::secret;
    const auto credential = munge_encode("");
    return credential ? Proof::munge : Proof::none;
}

Result<std::string> sign_line(Proof proof, const std::optional<Secret>& secret,
                              std::string_view challenge, std::string_view text) {
    if (proof == Proof::none) return std::string(text);
    if (proof == Proof::secret) {
        if (secret) return tag_of(*secret, signed_text(challenge, text)) + ' ' + std::string(text);
        return Error{"rank 0", "requires the step's secret, which this rank does not have",
                     "look for a wrapper script that unsets SLURM_DISTGPU_SECRET"};
    }
    if (auto credential = munge_encode(signed_text(challenge, text))) return *std::move(credential);
    return Error{"rank 0", "requires a MUNGE credential, but munged does not answer on this node",
                 "ask the administrator to start munged on this node"};
}

std::optional<std::string> verify_line(Proof proof, const std::optional<Secret>& secret,
                                       std::string_view challenge, std::string_view line) {
    if (proof == Proof::none) return std::string(line);
    if (proof == Proof::munge) return verify_credential(challenge, line);
    return secret ? verify_tag(*secret, challenge, line) : std::nullopt;
}

}  // namespace distgpu
