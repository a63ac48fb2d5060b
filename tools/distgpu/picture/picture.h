// Pictures of nodes as SVG, and the HTML pages around them.
#pragma once

#include "mapping/binding/binding.h"
#include "mapping/topology/topology.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// A task of the node: what it is called in the picture, and what it got.
struct Owner {
    std::string label;  // "rank 5"
    std::string mark;   // "5", where there is no space
    TaskBinding binding;
};

struct NodePicture {
    std::string title;     // "node[01-16]"
    std::string subtitle;  // "pytorch: 128 ranks on 16 nodes"
    const NodeTopology* topology = nullptr;
    std::vector<Owner> owners;               // by local rank; empty: nobody, the machine alone
    std::vector<std::uint32_t> step_gpus{};  // of the step, indices into the topology's
};

// An SVG of its own. A core is a square, divided where it has several hardware threads.
std::string draw(const NodePicture& picture);

// `title` as it is, `style` besides the common one, `body` as HTML.
std::string html_page(std::string_view title, std::string_view style, std::string_view body);

// The few shapes that the pictures are made of. Colours are classes, which the style sheet gives a
// light and a dark value each.
namespace svg {

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

}  // namespace svg

}  // namespace distgpu
