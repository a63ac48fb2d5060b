#include "picture/svg.h"

#include "base/format.h"

#include <algorithm>

namespace distgpu::svg {
namespace {

// c0 to c7: those of ranks one after the other are told apart also by people who see fewer colours
// (tests/integration/pictures/told_apart.py), and the text is read on each of them.
constexpr std::string_view style = R"(
svg{--ground:#fff;--panel:#f5f6f8;--line:#c9ced6;--ink:#1c2430;--faint:#5a6472;--idle:#fff;
--c0:#6c9ebd;--c1:#edd87d;--c2:#baf6c2;--c3:#da8886;--c4:#a4b0e7;--c5:#cdbe83;--c6:#8dbfb5;--c7:#f5c7fe;
--many:#d4d9e0;font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
@media (prefers-color-scheme:dark){svg{--ground:#14181f;--panel:#1d232d;--line:#47515f;--ink:#e8ecf2;
--faint:#a5afbd;--idle:#14181f;--c0:#195675;--c1:#79640b;--c2:#427057;--c3:#702210;--c4:#4e377b;
--c5:#7e4f29;--c6:#08746d;--c7:#6b363c;--many:#3a4350}}
.ground{fill:var(--ground)}.panel{fill:var(--panel);stroke:var(--line)}
.frame{fill:none;stroke:var(--line)}.idle{fill:var(--idle);stroke:var(--line)}
.out{fill:none;stroke:var(--line);stroke-dasharray:4 3}.many{fill:var(--many);stroke:var(--line)}
.c0{fill:var(--c0)}.c1{fill:var(--c1)}.c2{fill:var(--c2)}.c3{fill:var(--c3)}.c4{fill:var(--c4)}
.c5{fill:var(--c5)}.c6{fill:var(--c6)}.c7{fill:var(--c7)}
text{fill:var(--ink);font-size:12px}.faint{fill:var(--faint)}.head{font-size:17px;font-weight:600}
.strong{font-weight:600}.small{text-anchor:middle}
)";

}  // namespace

std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '&') {
            result += "&amp;";
        } else if (c == '<') {
            result += "&lt;";
        } else if (c == '>') {
            result += "&gt;";
        } else if (c == '"') {
            result += "&quot;";
        } else {
            const bool printable = c >= ' ' && c <= '~';
            result += printable ? c : '?';
        }
    }
    return result;
}

std::string fitted(std::string_view text, double width, double size) {
    constexpr double of_character = 0.58;  // of its size, in the wider of the usual faces
    const auto most = static_cast<std::size_t>(std::max(width / (size * of_character), 4.0));
    if (text.size() <= most) return std::string(text);
    return std::string(text.substr(0, most - 3)) + "...";
}

std::string rectangle(const Box& box, double radius, std::string_view classes,
                      std::string_view title) {
    const std::string shape =
        formatted(R"(<rect x="{:g}" y="{:g}" width="{:g}" height="{:g}" rx="{:g}" class="{}")",
                  box.x, box.y, box.width, box.height, radius, classes);
    if (title.empty()) return shape + "/>\n";
    return formatted("{}><title>{}</title></rect>\n", shape, escaped(title));
}

std::string text(double x, double y, std::string_view classes, std::string_view content) {
    return formatted(R"(<text x="{:g}" y="{:g}" class="{}">{}</text>)", x, y, classes,
                     escaped(content)) +
           "\n";
}

std::string document(double width, double height, std::string_view label, std::string_view body) {
    return formatted(
        R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {:g} {:g}" width="{:g}" height="{:g}" role="img" aria-label="{}">
<style>{}</style>
{}{}</svg>
)",
        width, height, width, height, escaped(label), style,
        rectangle({0, 0, width, height}, 0, "ground"), body);
}

}  // namespace distgpu::svg
