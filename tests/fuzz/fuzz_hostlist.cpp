// Slurm's compressed host lists: read, written and read again.
#include "mapping/layout/hostlist.h"
#include "require.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace distgpu;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto list = HostList::parse(text);
    if (!list) {
        require(!list.error().message().empty(), "a refusal has words");
        return 0;
    }
    require(!list->empty(), "a list that is read names a host");
    require(list->size() <= HostList::max_hosts, "no more hosts than the bound");
    const auto again = HostList::parse(list->to_string());
    require(again && *again == *list, "to_string() is read back to an equal list");
    for (const std::uint64_t at : {std::uint64_t{0}, list->size() / 2, list->size() - 1}) {
        const NodeIndex index{static_cast<std::uint32_t>(at)};
        const auto name = list->name(index);
        require(!name.empty() && name.size() <= HostList::max_name_length, "names are bounded");
        const auto found = list->find(name);
        require(found && *found <= index, "a name of the list is found");
        require(list->name(*found) == name, "what is found has the name");
    }
    return 0;
}
