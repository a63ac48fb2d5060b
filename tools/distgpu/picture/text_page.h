// Pages of sentences and tables, which can be read in a narrow window, light and dark.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// A complete page in the style of the parts below: paragraphs of the classes "finding", also
// "finding good", and "faint", which may use the colours --faint, --line, --mark and --good.
// `style`: added to this style; `body`: HTML.
std::string text_page(std::string_view title, std::string_view style, std::string_view body);

// `text`: plain. `attributes`: " class=\"x\"" or empty.
std::string paragraph(std::string_view text, std::string_view attributes = "");

// The first row is the heading. In a narrow window each cell has its own line, after its column's
// name.
std::string html_table(const std::vector<std::vector<std::string>>& rows);

// Empty if `html` is empty.
std::string section(std::string_view heading, const std::string& html);

}  // namespace distgpu
