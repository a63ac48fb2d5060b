#include "base/io/shared_library.h"

#include <dlfcn.h>
#include <link.h>

namespace distgpu {

namespace {

// dlerror()'s text, which begins with the file's name where that was not found.
std::string why(const std::string& file) {
    const std::string text = dlerror();
    const std::string beginning = file + ": ";
    return text.rfind(beginning, 0) == 0 ? text.substr(beginning.size()) : text;
}

}  // namespace

// Global: Open MPI's own plugins look for the symbols of libmpi.
Result<SharedLibrary> SharedLibrary::load(const char* file, const char* remedy) {
    void* const handle = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) return Error{file, why(file), remedy};
    return SharedLibrary(handle);
}

std::string SharedLibrary::path() const {
    link_map* map = nullptr;
    return dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
}

void* SharedLibrary::find(const char* symbol) const {
    return dlsym(handle_, symbol);
}

void* SharedLibrary::address_of(const char* symbol) {
    void* const address = find(symbol);
    if (address == nullptr && missing_.empty()) missing_ = symbol;
    return address;
}

}  // namespace distgpu
