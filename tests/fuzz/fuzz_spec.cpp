// SPEC, the value of --distgpu.
#include "mapping/spec/request.h"
#include "require.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace distgpu;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto request = parse_spec("--distgpu", text);
    if (!request) {
        const std::string message = request.error().message();
        require(std::all_of(message.begin(), message.end(),
                            [](char c) { return c >= ' ' && c <= '~'; }),
                "a refusal is one printable line");
        require(message.size() < 2048, "a refusal is short");
        return 0;
    }
    require(size <= max_spec_length, "the length is bounded");
    require(!request->port || *request->port >= 1024, "a port of users");
    require(!request->nproc || (*request->nproc >= 1 && *request->nproc <= 4096),
            "a possible number of processes");
    require(!request->help || request->framework == nullptr, "help is no framework");
    return 0;
}
