// SVG as text: the few shapes that the pictures are made of. Colours are classes, which the style
// sheet gives a light and a dark value each.
#pragma once

#include <string>
#include <string_view>

namespace distgpu::svg {

struct Box {
    double x = 0;
    double y = 0;
    double width = 0;
    double height = 0;
};

// As the content of an element or an attribute; what XML cannot hold becomes '?'.
std::string escaped(std::string_view text);

// At most as wide as `width` at this size, in an ordinary face; what is cut ends with "...".
std::string fitted(std::string_view text, double width, double size);

// `title`: what a pointer over it shows; empty: nothing.
std::string rectangle(const Box& box, double radius, std::string_view classes,
                      std::string_view title = "");

// `x`, `y`: the beginning of its line.
std::string text(double x, double y, std::string_view classes, std::string_view content);

// A drawing by itself, for a file or within a page. `label`: what a screen reader says of it.
std::string document(double width, double height, std::string_view label, std::string_view body);

}  // namespace distgpu::svg
