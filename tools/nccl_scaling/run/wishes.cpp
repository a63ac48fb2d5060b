#include "run/wishes.h"

#include "analysis/bus_bandwidth.h"
#include "base/format.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace distgpu::scaling {
namespace {

// Of one size.
std::vector<Subject> wished(const Wishes& wishes, const Offers& offers) {
    std::vector<Subject> subjects;
    for (const Collective collective : wishes.collectives) {
        for (const DataType type : wishes.types) {
            for (const Op op : is_reduction(collective) ? wishes.ops : std::vector{Op::sum}) {
                for (const bool in_place : {false, true}) {
                    const Subject subject{collective, type, in_place, 0, op};
                    if (!offers(subject)) continue;
                    subjects.push_back(subject);
                    if (wishes.quick) break;  // the other place is as fast
                }
            }
        }
    }
    return subjects;
}

std::string remedy(DataType type) {
    const std::string_view needs = row_of(type).needs;
    return needs.empty() ? "leave it out" : formatted("leave it out; it needs {}", needs);
}
std::string remedy(Op /*any*/) {
    return "leave it out, or name other collectives";
}

// Where no subject has a value that was asked for.
template <class Value>
std::optional<Error> refuse(std::string_view option, const std::vector<Value>& asked,
                            Value Subject::*part, const std::vector<Subject>& subjects) {
    for (const Value value : asked) {
        const bool is_offered =
            std::any_of(subjects.begin(), subjects.end(),
                        [&](const Subject& subject) { return subject.*part == value; });
        if (is_offered) continue;
        return Error{formatted("{} {}", option, row_of(value).name),
                     "the back end has it for none of the collectives asked for", remedy(value)};
    }
    return std::nullopt;
}

}  // namespace

std::optional<Error> refusal_of(const Wishes& wishes, const Offers& offers) {
    const auto subjects = wished(wishes, offers);
    if (auto error = refuse("--type", wishes.types, &Subject::type, subjects)) return error;
    return refuse("--op", wishes.ops, &Subject::op, subjects);
}

std::vector<Subject> operations_of(const Wishes& wishes, const Offers& offers) {
    std::vector<Subject> all;
    for (Subject subject : wished(wishes, offers)) {
        for (const std::uint64_t bytes : wishes.sizes) {
            subject.bytes = bytes;
            all.push_back(subject);
        }
    }
    return all;
}

Subject comparison_of(const std::vector<Subject>& operations) {
    const auto end =
        std::find_if(operations.begin(), operations.end(), [&](const Subject& operation) {
            return !differ_only_in_size(operation, operations.front());
        });
    return *std::prev(end);
}

}  // namespace distgpu::scaling
