#include "mapping/topology/topology.h"

#include "mapping/topology/json_words.h"

namespace distgpu {

std::string_view word(Distance distance) {
    return json_words::word_of(json_words::distances, distance).value_or("SYS");
}

}  // namespace distgpu
