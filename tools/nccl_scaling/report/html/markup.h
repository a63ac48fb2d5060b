// Text and tables as HTML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace distgpu::scaling::html {

// For an element's content and for a quoted attribute. Names and values come from users.
std::string escaped(std::string_view text);

struct Table {
    std::string_view caption;
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;  // plain text, as many as columns
    std::size_t words = 1;  // so many columns from the left hold words; the rest are numbers
    bool wraps = false;     // the words may take several lines
};

std::string to_html(const Table& table);

// A heading and what it is of; nothing where the content is empty.
std::string section(std::string_view heading, const std::string& content);

// `content` folded away under a line.
std::string folded(std::string_view summary, const std::string& content);

}  // namespace distgpu::scaling::html
