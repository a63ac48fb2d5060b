#include "facts/rank_facts.h"

#include "results/results_json.h"

namespace distgpu::scaling {

std::string text_of(const RankFacts& facts) {
    return JsonText{{"gpu", facts.gpu},
                    {"port", facts.port},
                    {"unusual", JsonText::list(facts.unusual)},
                    {"rates", rates_json(facts.rates)}}
        .line();
}

RankFacts read_rank_facts(std::string_view text) {
    RankFacts facts;
    const auto problem = read_json(text, [&](const JsonFields& fields) {
        facts = {fields.text("gpu"), fields.text("port"), fields.texts("unusual"),
                 fields.optional_object("rates", read_rates).value_or(Rates{})};
    });
    return problem ? RankFacts{} : facts;
}

}  // namespace distgpu::scaling
