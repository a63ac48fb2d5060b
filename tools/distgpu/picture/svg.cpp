#include "base/format.h"
#include "base/values.h"
#include "picture/picture.h"

#include <algorithm>
#include <array>
#include <utility>

namespace distgpu::svg {
namespace {

// The light theme: attributes of each class, which programs without style sheets draw correctly,
// too. c0 to c7: consecutive ranks can be distinguished by colour-blind people, and text is
// readable on each of the colours.
constexpr std::array<std::pair<std::string_view, std::string_view>, 18> class_attributes{{
    {"ground", R"(fill="#ffffff")"},
    {"panel", R"(fill="#f5f6f8" stroke="#c9ced6")"},
    {"frame", R"(fill="none" stroke="#c9ced6")"},
    {"idle", R"(fill="#ffffff" stroke="#c9ced6")"},
    {"out", R"(fill="none" stroke="#c9ced6" stroke-dasharray="4 3")"},
    {"many", R"(fill="#cfd4da" stroke="#c9ced6")"},
    {"c0", R"(fill="#739cb9")"},
    {"c1", R"(fill="#e1cc6b")"},
    {"c2", R"(fill="#bff6c2")"},
    {"c3", R"(fill="#c7776e")"},
    {"c4", R"(fill="#7fa5e9")"},
    {"c5", R"(fill="#d0bd82")"},
    {"c6", R"(fill="#7db2a3")"},
    {"c7", R"(fill="#e3c5ff")"},
    {"faint", R"(fill="#5a6472")"},
    {"head", R"(font-size="17" font-weight="600")"},
    {"strong", R"(font-weight="600")"},
    {"small", R"(text-anchor="middle")"},
}};

constexpr std::string_view dark_style = R"(
@media (prefers-color-scheme:dark){
.ground,.idle{fill:#14181f}.panel{fill:#1d232d}.many{fill:#39424e}
.panel,.frame,.idle,.out,.many{stroke:#47515f}
.c0{fill:#0b5374}.c1{fill:#776003}.c2{fill:#3d6d55}.c3{fill:#651d0b}.c4{fill:#413d8a}.c5{fill:#81522e}.c6{fill:#097577}.c7{fill:#5c2b2b}
text{fill:#e8ecf2}.faint{fill:#a5afbd}
}
)";

// The class attribute, followed by the attributes of each class.
std::string attributes_of(std::string_view classes) {
    std::string text = formatted(R"(class="{}")", classes);
    while (!classes.empty()) {
        const std::string_view each = cut_until(classes, ' ');
        for (const auto& [name, attributes] : class_attributes) {
            if (name == each) text += formatted(" {}", attributes);
        }
    }
    return text;
}

}  // namespace

std::string escaped(std::string_view text) {
    std::string result;
    constexpr std::array<std::pair<char, std::string_view>, 4> escapes{
        {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}}};
    for (const char c : text) {
        const auto escape = std::find_if(escapes.begin(), escapes.end(),
                                         [c](const auto& each) { return each.first == c; });
        if (escape == escapes.end()) {
            result += c >= ' ' && c <= '~' ? c : '?';
        } else {
            result += escape->second;
        }
    }
    return result;
}

std::string fitted(std::string_view text, double width, double size) {
    constexpr double relative_width = 0.58;  // of a character, in the wider of the usual fonts
    const auto max_length =
        static_cast<std::size_t>(std::max(width / (size * relative_width), 4.0));
    if (text.size() <= max_length) return std::string(text);
    return std::string(text.substr(0, max_length - 3)) + "...";
}

std::string rectangle(const Box& box, double radius, std::string_view classes,
                      std::string_view title) {
    const std::string shape =
        formatted(R"(<rect x="{:g}" y="{:g}" width="{:g}" height="{:g}" rx="{:g}" {})", box.x,
                  box.y, box.width, box.height, radius, attributes_of(classes));
    if (title.empty()) return shape + "/>\n";
    return formatted("{}><title>{}</title></rect>\n", shape, escaped(title));
}

std::string text(double x, double y, std::string_view classes, std::string_view content) {
    return formatted(R"(<text x="{:g}" y="{:g}" {}>{}</text>)", x, y, attributes_of(classes),
                     escaped(content)) +
           "\n";
}

std::string document(double width, double height, std::string_view label, std::string_view body) {
    return formatted(
        R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {:g} {:g}" width="{:g}" height="{:g}" role="img" font-family="system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif" font-size="12" fill="#1c2430" aria-label="{}">
<style>{}</style>
{}{}</svg>
)",
        width, height, width, height, escaped(label), dark_style,
        rectangle({0, 0, width, height}, 0, "ground"), body);
}

}  // namespace distgpu::svg

namespace distgpu {
namespace {

constexpr std::string_view common_style =
    "body{font-family:system-ui,sans-serif;margin:2rem auto;max-width:100rem;padding:0 1rem;"
    "color:#1c2430;background:#fff}"
    "td,th{text-align:left;padding:.1rem 1rem .1rem 0}summary{cursor:pointer}"
    "@media (prefers-color-scheme:dark){body{color:#e8ecf2;background:#14181f}}";

}  // namespace

std::string html_page(std::string_view title, std::string_view style, std::string_view body) {
    return formatted(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src 'unsafe-inline'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<title>{}</title>\n<style>{}{}</style></head>\n<body>\n<h1>{}</h1>\n{}</body></html>\n",
        svg::escaped(title), common_style, style, svg::escaped(title), body);
}

}  // namespace distgpu
