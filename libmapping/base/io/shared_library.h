// A library that is looked for when the program runs.
#pragma once

#include "base/result.h"

#include <string>

namespace distgpu {

// Stays loaded until the process ends.
class SharedLibrary {
  public:
    // Errors (object: the file): not found, or not loadable.
    static Result<SharedLibrary> load(const char* file, const char* remedy);

    // Sets `function` to the symbol. Where it is missing, remembers the first such name.
    template <class Function>
    void resolve(Function*& function, const char* symbol) {
        function = reinterpret_cast<Function*>(address_of(symbol));
    }

    // The same of a symbol that older versions lack: null there.
    template <class Function>
    void resolve_optional(Function*& function, const char* symbol) const {
        function = reinterpret_cast<Function*>(find(symbol));
    }

    // The first name that was missing; empty: none.
    const std::string& missing() const { return missing_; }

    // Of the file that was loaded.
    std::string path() const;

  private:
    explicit SharedLibrary(void* handle) : handle_(handle) {}
    void* find(const char* symbol) const;
    void* address_of(const char* symbol);

    void* handle_;
    std::string missing_;
};

}  // namespace distgpu
