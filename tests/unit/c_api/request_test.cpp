// The request of mapping.h, and its version.
#include "c_api_testing.h"

namespace distgpu::c_api_testing {
namespace {

Refused refused_request(const char* spec) {
    return refused<distgpu_request>(
        [&](auto** object, auto* error) { return distgpu_request_create(spec, object, error); });
}

TEST(CApiRequest, TellsModeAndWhatTheCallerHasToObey) {
    const auto plain = request("pytorch");
    EXPECT_STREQ(distgpu_request_mode(plain.get()), "pytorch");
    EXPECT_FALSE(distgpu_request_dry_run(plain.get()));
    EXPECT_FALSE(distgpu_request_verbose(plain.get()));
    const auto dry = request("tf,dry-run");
    EXPECT_STREQ(distgpu_request_mode(dry.get()), "tensorflow");
    EXPECT_TRUE(distgpu_request_dry_run(dry.get()));
    EXPECT_FALSE(distgpu_request_verbose(dry.get()));
    EXPECT_TRUE(distgpu_request_verbose(request("torchrun,verbose").get()));
}

TEST(CApiRequest, RefusesWhatIsNoModeOfAFramework) {
    EXPECT_EQ(
        refused_request("pytroch"),
        (Refused{DISTGPU_EINVAL, "distgpu: SPEC=pytroch: unknown mode; did you mean 'pytorch'?"}));
    for (const std::string spec : {"off", "help"}) {
        EXPECT_EQ(refused_request(spec.c_str()),
                  (Refused{DISTGPU_EINVAL, "distgpu: SPEC=" + spec +
                                               ": plans nothing; give the mode of a framework"}));
    }
    EXPECT_EQ(refused_request(nullptr),
              (Refused{DISTGPU_EINVAL, "distgpu: spec: is NULL; see distgpu/mapping.h"}));
}

TEST(CApiRequest, RefusesToMakeOneForNobody) {
    distgpu_error error{};
    EXPECT_EQ(distgpu_request_create("pytorch", nullptr, &error), DISTGPU_EINVAL);
    EXPECT_STREQ(error.text, "distgpu: request: is NULL; see distgpu/mapping.h");
}

TEST(CApiRequest, NullIsNoRequest) {
    EXPECT_EQ(distgpu_request_mode(nullptr), nullptr);
    EXPECT_FALSE(distgpu_request_dry_run(nullptr));
    EXPECT_FALSE(distgpu_request_verbose(nullptr));
    distgpu_request_destroy(nullptr);
}

TEST(CApiVersion, IsThatOfTheHeader) {
    EXPECT_EQ(distgpu_api_version(), DISTGPU_API_VERSION);
}

// Programs compare these numbers, which they were compiled with.
TEST(CApiVersion, StatusNumbersStay) {
    EXPECT_EQ(DISTGPU_OK, 0);
    EXPECT_EQ(DISTGPU_EINVAL, 1);
    EXPECT_EQ(DISTGPU_ERANGE, 2);
    EXPECT_EQ(DISTGPU_EREFUSED, 3);
    EXPECT_EQ(DISTGPU_ENOMEM, 4);
    EXPECT_EQ(DISTGPU_EDEFECT, 5);
}

}  // namespace
}  // namespace distgpu::c_api_testing
