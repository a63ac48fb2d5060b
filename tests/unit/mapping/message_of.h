// What a refusal says to the user.
#pragma once

#include "base/result.h"

namespace distgpu {

// Empty: it is no refusal.
template <class T>
std::string message_of(const Result<T>& result) {
    return result ? "" : result.error().message();
}

}  // namespace distgpu
