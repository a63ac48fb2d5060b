// The page: JSON put into the text of page/page.html, where a script draws it.
#include "report/formats.h"
#include "report/page/page_text.h"

namespace distgpu::scaling {
namespace {

// '<' stands only within JSON's strings, where it may be written so: no text of the run can end the
// element that the JSON is in.
std::string without_markup(std::string_view json) {
    std::string text;
    text.reserve(json.size());
    for (const char c : json) {
        if (c == '<') {
            text += "\\u003c";
        } else {
            text += c;
        }
    }
    return text;
}

}  // namespace

std::string to_html(std::string_view json) {
    constexpr std::string_view place = "@RUN@";
    std::string page(page_text);
    return page.replace(page.find(place), place.size(), without_markup(json));
}

}  // namespace distgpu::scaling
