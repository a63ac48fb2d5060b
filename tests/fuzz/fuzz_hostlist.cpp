// Slurm's compressed host lists: read, written and read again.
#include "mapping/layout/hostlist.h"
#include "require.h"
#include "target.h"

#include <cstdint>

namespace distgpu {

void try_text(std::string_view text) {
    const auto list = HostList::parse(text);
    if (!list) return require_line(list.error().message());
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
}

}  // namespace distgpu
