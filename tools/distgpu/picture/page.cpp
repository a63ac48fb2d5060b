#include "picture/page.h"

#include "base/format.h"
#include "picture/svg.h"

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
