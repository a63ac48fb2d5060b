// The prototypes and numbers are those of munge.h of MUNGE 0.5, whose ABI is stable.
#include "meet/munge.h"

#include "base/io/shared_library.h"

#include <cstdlib>
#include <memory>
#include <unistd.h>

namespace distgpu {
namespace {

using Status = int;  // 0: success
using Context = void*;

struct Library {
    Library() {
        auto munge = SharedLibrary::load("libmunge.so.2", "");
        if (!munge) return;
        munge->resolve(create, "munge_ctx_create");
        munge->resolve(destroy, "munge_ctx_destroy");
        munge->resolve(set, "munge_ctx_set");
        munge->resolve(encode, "munge_encode");
        munge->resolve(decode, "munge_decode");
        usable = munge->missing().empty();
    }

    Context (*create)() = nullptr;
    void (*destroy)(Context) = nullptr;
    Status (*set)(Context, int option, ...) = nullptr;
    Status (*encode)(char** credential, Context, const void* text, int length) = nullptr;
    Status (*decode)(const char* credential, Context, void** text, int* length, uid_t*,
                     gid_t*) = nullptr;
    bool usable = false;
};

const Library& library() {
    static const Library loaded;
    return loaded;
}

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

std::optional<std::string> munge_encode(std::string_view text) {
    if (!library().usable) return std::nullopt;
    const std::unique_ptr<void, decltype(library().destroy)> context(library().create(),
                                                                     library().destroy);
    constexpr int uid_restriction = 9;
    if (!context || library().set(context.get(), uid_restriction, geteuid()) != 0) {
        return std::nullopt;
    }
    char* credential = nullptr;
    const Status status =
        library().encode(&credential, context.get(), text.data(), static_cast<int>(text.size()));
    const std::unique_ptr<char, Free> memory(credential);
    return status == 0 ? std::optional<std::string>(credential) : std::nullopt;
}

std::optional<std::string> munge_decode(const std::string& credential) {
    if (!library().usable) return std::nullopt;
    void* text = nullptr;
    int length = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    const Status status = library().decode(credential.c_str(), nullptr, &text, &length, &uid, &gid);
    const std::unique_ptr<void, Free> memory(text);
    if (status != 0 || uid != geteuid() || text == nullptr) return std::nullopt;
    return std::string(static_cast<const char*>(text), static_cast<std::size_t>(length));
}

}  // namespace distgpu
