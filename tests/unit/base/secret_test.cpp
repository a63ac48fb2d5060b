// A secret as the text of a variable.
#include "base/secret.h"

#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

const std::string digits = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff";

TEST(Secret, IsReadAsWritten) {
    const auto secret = Secret::parse(digits);
    ASSERT_TRUE(secret);
    EXPECT_EQ(secret->to_string(), digits);
    EXPECT_EQ(secret->bytes()[1], 1);
    EXPECT_EQ(secret->bytes()[31], 255);
}

TEST(Secret, IsEqualInAllItsBytes) {
    EXPECT_EQ(*Secret::parse(digits), *Secret::parse(digits));
    EXPECT_FALSE(*Secret::parse(digits) == *Secret::parse(digits.substr(0, 62) + "fe"));
}

TEST(Secret, IsSixtyFourDigits) {
    for (const std::string& text :
         {std::string(), digits.substr(1), digits + "0", std::string(64, 'F'), std::string(64, 'g'),
          " " + digits.substr(1), std::string(64, '\0')}) {
        EXPECT_EQ(Secret::parse(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace distgpu
