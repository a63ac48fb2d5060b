// See markup.h.
#include "report/html/markup.h"

#include "base/format.h"

namespace distgpu::scaling::html {

std::string escaped(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (const char c : text) {
        switch (c) {
            case '&':
                result += "&amp;";
                break;
            case '<':
                result += "&lt;";
                break;
            case '>':
                result += "&gt;";
                break;
            case '"':
                result += "&quot;";
                break;
            case '\'':
                result += "&#39;";
                break;
            default:
                result += c;
        }
    }
    return result;
}

std::string to_html(const Table& table) {
    std::string text =
        formatted("<div class=\"wide\" tabindex=\"0\"><table{}><caption>{}</caption>\n<thead><tr>",
                  table.wraps ? " class=\"prose\"" : "", escaped(table.caption));
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        text += formatted("<th scope=\"col\"{}>{}</th>", i < table.words ? " class=\"word\"" : "",
                          escaped(table.columns[i]));
    }
    text += "</tr></thead>\n<tbody>\n";
    for (const auto& row : table.rows) {
        text += "<tr>";
        for (std::size_t i = 0; i < row.size(); ++i) {
            text += formatted("<td{}>{}</td>", i < table.words ? " class=\"word\"" : "",
                              escaped(row[i]));
        }
        text += "</tr>\n";
    }
    return text + "</tbody></table></div>\n";
}

std::string section(std::string_view heading, const std::string& content) {
    if (content.empty()) return "";
    return formatted("<section>\n<h2>{}</h2>\n{}</section>\n", escaped(heading), content);
}

std::string folded(std::string_view summary, const std::string& content) {
    return formatted("<details><summary>{}</summary>\n{}</details>\n", escaped(summary), content);
}

}  // namespace distgpu::scaling::html
