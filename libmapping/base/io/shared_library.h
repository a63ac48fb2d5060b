// A library that is looked for when the program runs.
#pragma once

#include "base/result.h"

#include <dlfcn.h>
#include <link.h>

namespace distgpu {

// Stays loaded until the process ends.
class SharedLibrary {
  public:
    // Errors (object: the file): not found, or not loadable.
    static Result<SharedLibrary> load(const char* file, const char* remedy) {
        // Global: Open MPI's own plugins look for the symbols of libmpi.
        void* const handle = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
        if (handle != nullptr) return SharedLibrary(handle);
        // It begins with the file's name where that was not found.
        std::string why = dlerror();
        if (const std::string name = std::string(file) + ": "; why.starts_with(name)) {
            why.erase(0, name.size());
        }
        return Error{file, std::move(why), remedy};
    }

    // Sets `function` to the symbol. Where it is missing, remembers the first such name.
    template <class Function>
    void resolve(Function*& function, const char* symbol) {
        resolve_optional(function, symbol);
        if (function == nullptr && missing_.empty()) missing_ = symbol;
    }

    // The same of a symbol that older versions lack: null there.
    template <class Function>
    void resolve_optional(Function*& function, const char* symbol) const {
        function = reinterpret_cast<Function*>(dlsym(handle_, symbol));
    }

    // The first name that was missing; empty: none.
    const std::string& missing() const { return missing_; }

    // Of the file that was loaded.
    std::string path() const {
        link_map* map = nullptr;
        return dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
    }

  private:
    explicit SharedLibrary(void* handle) : handle_(handle) {}

    void* handle_;
    std::string missing_;
};

}  // namespace distgpu
