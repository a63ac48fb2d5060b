#include "node/step_secret.h"

#include "mapping/texts/variables.h"

#include <sys/random.h>

namespace distgpu {

std::optional<Secret> draw_secret() {
    Secret::Bytes bytes{};
    // So few are never given in part (getrandom(2)).
    if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        return std::nullopt;
    }
    return Secret(bytes);
}

std::optional<Secret> handed_secret(const Environment& environment) {
    return Secret::parse(environment.get(secret_variable).value_or(""));
}

}  // namespace distgpu
