// A limit of this process, lowered while an object of this lives.
#pragma once

#include <gtest/gtest.h>

#include <sys/resource.h>

namespace distgpu {

class ResourceLimit {
  public:
    using Resource = decltype(RLIMIT_NOFILE);

    ResourceLimit(Resource resource, rlim_t limit) : resource_(resource) {
        EXPECT_EQ(getrlimit(resource_, &before_), 0);
        const rlimit lower{limit, before_.rlim_max};
        EXPECT_EQ(setrlimit(resource_, &lower), 0);
    }
    ~ResourceLimit() { setrlimit(resource_, &before_); }
    ResourceLimit(const ResourceLimit&) = delete;
    ResourceLimit& operator=(const ResourceLimit&) = delete;
    ResourceLimit(ResourceLimit&&) = delete;
    ResourceLimit& operator=(ResourceLimit&&) = delete;

  private:
    Resource resource_;
    rlimit before_{};
};

}  // namespace distgpu
