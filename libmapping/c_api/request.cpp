// The request, and the version, of mapping.h.
#include "c_api/objects.h"
#include "c_api/status.h"
#include "mapping/frameworks/framework.h"
#include "mapping/spec/parse_spec.h"

using namespace distgpu;

std::uint32_t distgpu_api_version() {
    return DISTGPU_API_VERSION;
}

distgpu_status distgpu_request_create(const char* spec, distgpu_request** request,
                                      distgpu_error* error) {
    return c_api::create("request", request, error, [&]() -> c_api::Made<distgpu_request> {
        if (spec == nullptr) return tl::unexpected(c_api::missing("spec"));
        const auto parsed = parse_spec("SPEC", spec);
        if (!parsed) return c_api::fail(DISTGPU_EINVAL, parsed.error());
        if (parsed->framework == nullptr) {
            return c_api::fail(DISTGPU_EINVAL, {std::string("SPEC=") + spec, "plans nothing",
                                                "give the mode of a framework"});
        }
        return std::make_unique<distgpu_request>(
            distgpu_request{*parsed, std::string(parsed->framework->mode)});
    });
}

void distgpu_request_destroy(distgpu_request* request) {
    delete request;
}

const char* distgpu_request_mode(const distgpu_request* request) {
    return request == nullptr ? nullptr : request->mode.c_str();
}

bool distgpu_request_dry_run(const distgpu_request* request) {
    return request != nullptr && request->value.dry_run;
}

bool distgpu_request_verbose(const distgpu_request* request) {
    return request != nullptr && request->value.verbose;
}
