// The order of device names that people expect: numbers count as numbers, mlx5_2 before mlx5_10.
#pragma once

#include <string_view>

namespace distgpu::discovery {

bool natural_less(std::string_view left, std::string_view right);

}  // namespace distgpu::discovery
