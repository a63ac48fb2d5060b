// See rank_facts.h.
#include "facts/rank_facts.h"

#include "base/json_fields.h"
#include "base/json_text.h"

namespace distgpu::scaling {

std::string text_of(const RankFacts& facts) {
    return JsonText{{"unusual", JsonText::list(facts.unusual)}}.line();
}

RankFacts read_rank_facts(std::string_view text) {
    RankFacts facts;
    const auto problem =
        read_json(text, [&](const JsonFields& fields) { facts.unusual = fields.texts("unusual"); });
    return problem ? RankFacts{} : facts;
}

}  // namespace distgpu::scaling
