#include "node/discovery/natural_order.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace distgpu::discovery {
namespace {

TEST(NaturalOrder, CountsNumbersAsNumbers) {
    const std::vector<std::string_view> sorted{"",
                                               "2",
                                               "10",
                                               "hsn0",
                                               "mlx",
                                               "mlx5_0",
                                               "mlx5_01",
                                               "mlx5_1",
                                               "mlx5_2a",
                                               "mlx5_2b",
                                               "mlx5_10a",
                                               "mlx5_99999999999999999999",
                                               "mlx5_100000000000000000000",
                                               "mlx5_bond_0"};
    for (std::size_t left = 0; left < sorted.size(); ++left) {
        for (std::size_t right = 0; right < sorted.size(); ++right) {
            EXPECT_EQ(natural_less(sorted[left], sorted[right]), left < right)
                << sorted[left] << " < " << sorted[right];
        }
    }
}

}  // namespace
}  // namespace distgpu::discovery
