// A page by itself: what all pages have in common. It asks for nothing and runs nothing, whatever
// its text says.
#pragma once

#include <string>
#include <string_view>

namespace distgpu {

// `title` as it is, `style` besides the common one, `body` as HTML.
std::string html_page(std::string_view title, std::string_view style, std::string_view body);

}  // namespace distgpu
