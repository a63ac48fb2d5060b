// Pictures of nodes as SVG, and HTML pages that contain them.
#pragma once

#include "mapping/binding/binding.h"
#include "mapping/topology/topology.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// A task of the node: its names in the picture, and its binding.
struct Owner {
    std::string label;  // "rank 5"
    std::string mark;   // "5", a short label
    TaskBinding binding;
};

struct NodePicture {
    std::string title;     // "node[01-16]"
    std::string subtitle;  // "pytorch: 128 ranks on 16 nodes"
    const NodeTopology* topology = nullptr;
    std::vector<Owner> owners;               // by local rank; empty: only the machine is drawn
    std::vector<std::uint32_t> step_gpus{};  // indices into the topology's GPUs
};

// A complete SVG. A core is a square, divided into its hardware threads.
std::string draw(const NodePicture& picture);

// A complete page. `title`: plain text; `style`: added to the common style; `body`: HTML.
std::string html_page(std::string_view title, std::string_view style, std::string_view body);

// The shapes in the pictures. Colours are classes, for which the style sheet has light and dark
// values.
namespace svg {

struct Box {
    double x = 0;
    double y = 0;
    double width = 0;
    double height = 0;
};

// Escapes text for an element or an attribute; other than printable ASCII becomes '?'.
std::string escaped(std::string_view text);

// Cuts the text to `width` at this font size; a cut text ends with "...".
std::string fitted(std::string_view text, double width, double size);

// `title`: the tooltip; may be empty.
std::string rectangle(const Box& box, double radius, std::string_view classes,
                      std::string_view title = "");

// `x`, `y`: the beginning of the text's baseline.
std::string text(double x, double y, std::string_view classes, std::string_view content);

// A complete drawing, for a file or within a page. `label`: read by screen readers.
std::string document(double width, double height, std::string_view label, std::string_view body);

}  // namespace svg

}  // namespace distgpu
