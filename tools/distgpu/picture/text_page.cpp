#include "picture/text_page.h"

#include "base/format.h"
#include "picture/picture.h"

namespace distgpu {
namespace {

using svg::escaped;

constexpr std::string_view common_style =
    "body{max-width:70rem;line-height:1.5;--faint:#5a6472;--line:#c9ced6;--mark:#b3261e;"
    "--good:#1a7f37}"
    "h2{font-size:1.1rem;margin:2rem 0 .5rem}p,li,td,code,summary{overflow-wrap:anywhere}"
    ".finding{border-left:.25rem solid var(--mark);padding-left:.75rem;font-weight:600}"
    ".good{border-color:var(--good)}"
    ".faint,th{color:var(--faint)}"
    "table{border-collapse:collapse;width:100%}tr{border-bottom:1px solid var(--line)}"
    "td,th{vertical-align:top;font-size:.95rem}"
    "@media (max-width:45rem){thead{display:none}tr,td{display:block}tr{padding:.5rem 0}"
    "td::before{content:attr(data-of) \" \";color:var(--faint)}}"
    "@media (prefers-color-scheme:dark){body{--faint:#a5afbd;--line:#47515f;--mark:#f2b8b5;"
    "--good:#7ee2a8}}";

// Lets a list of nodes or ranks wrap after a comma.
std::string breakable(std::string_view text) {
    std::string html;
    for (const char c : escaped(text)) {
        html += c;
        if (c == ',') html += "<wbr>";
    }
    return html;
}

}  // namespace

std::string text_page(std::string_view title, std::string_view style, std::string_view body) {
    return html_page(title, std::string(common_style) + std::string(style), body);
}

std::string paragraph(std::string_view text, std::string_view attributes) {
    return formatted("<p{}>{}</p>\n", attributes, escaped(text));
}

std::string html_table(const std::vector<std::vector<std::string>>& rows) {
    std::string html = "<table>\n<thead><tr>";
    for (const std::string& name : rows.front()) html += formatted("<th>{}</th>", escaped(name));
    html += "</tr></thead>\n<tbody>\n";
    for (std::size_t row = 1; row < rows.size(); ++row) {
        html += "<tr>";
        for (std::size_t i = 0; i < rows[row].size(); ++i) {
            html += formatted("<td data-of=\"{}\">{}</td>", escaped(rows.front()[i]),
                              breakable(rows[row][i]));
        }
        html += "</tr>\n";
    }
    return html + "</tbody>\n</table>\n";
}

std::string section(std::string_view heading, const std::string& html) {
    return html.empty() ? "" : formatted("<section>\n<h2>{}</h2>\n{}</section>\n", heading, html);
}

}  // namespace distgpu
