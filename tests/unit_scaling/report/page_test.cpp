// The page before its script runs; scaling_page.bats opens it in a browser.
#include "report/formats.h"
#include "synthetic_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace distgpu::scaling {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (auto place = text.find(part); place != std::string_view::npos;
         place = text.find(part, place + part.size())) {
        ++found;
    }
    return found;
}

// The JSON as the browser sees it: up to the first end tag of the element.
std::string json_on(const std::string& page) {
    const std::string begin = "<script type=\"application/json\" id=\"run\">\n";
    const auto place = page.find(begin);
    EXPECT_NE(place, std::string::npos);
    const auto text = place + begin.size();
    return page.substr(text, page.find("</script", text) - text);
}

TEST(HtmlPage, ContainsTheRunUnchanged) {
    const std::string json = to_json(make_report(synthetic_results(4, 8)));
    EXPECT_EQ(nlohmann::json::parse(json_on(to_html(json))), nlohmann::json::parse(json));
}

TEST(HtmlPage, ContainsStyleAndScriptAndLoadsNothing) {
    const std::string page = to_html("{}");
    EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
    EXPECT_THAT(page, HasSubstr("JSON.parse("));
    for (const char* const place : {"@RUN@", "@STYLE@", "@SCRIPT@"}) {
        EXPECT_THAT(page, Not(HasSubstr(place)));
    }
    EXPECT_THAT(page, HasSubstr("default-src 'none'"));
    EXPECT_THAT(page, Not(HasSubstr(" src=")));
    EXPECT_THAT(page, Not(HasSubstr("innerHTML")));
}

// The name of a host, of a file or of a variable may be any text.
TEST(HtmlPage, UserTextIsNeverMarkup) {
    Report input = make_report(synthetic_results(4, 8));
    const std::string markup = "</script><script>alert(1)</script><!--<script>";
    for (Node& node : input.results.nodes) node.name = markup;
    input.verdict = markup;
    const std::string page = to_html(to_json(input));
    EXPECT_EQ(count(page, "<script"), count(to_html("{}"), "<script"));
    EXPECT_EQ(count(page, "<!--"), count(to_html("{}"), "<!--"));
    EXPECT_EQ(nlohmann::json::parse(json_on(page)).at("verdict"), markup);
}

}  // namespace
}  // namespace distgpu::scaling
