#include "why/diagnosis_page.h"

#include "base/format.h"
#include "picture/page.h"
#include "picture/svg.h"
#include "ranks_text.h"
#include "why/diagnosis_output.h"
#include "why/stack_tree.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using svg::escaped;

// In a narrow window each cell of the table stands on a line of its own, behind its column's name.
constexpr std::string_view page_style =
    "body{max-width:70rem;line-height:1.5;--faint:#5a6472;--line:#c9ced6;--mark:#b3261e}"
    "h2{font-size:1.1rem;margin:2rem 0 .5rem}p,li,td,code,summary{overflow-wrap:anywhere}"
    ".finding{border-left:.25rem solid var(--mark);padding-left:.75rem;font-weight:600}"
    ".faint,th{color:var(--faint)}code{font-size:.9rem}"
    "table{border-collapse:collapse;width:100%}tr{border-bottom:1px solid var(--line)}"
    "td,th{vertical-align:top;font-size:.95rem}"
    "details{margin:.2rem 0 .2rem .6rem;padding-left:.6rem;border-left:1px solid var(--line)}"
    "ol{list-style:none;margin:0;padding:0}"
    "@media (max-width:45rem){thead{display:none}tr,td{display:block}tr{padding:.5rem 0}"
    "td::before{content:attr(data-of) \" \";color:var(--faint)}}"
    "@media (prefers-color-scheme:dark){body{--faint:#a5afbd;--line:#47515f;--mark:#f2b8b5}}";

std::string findings(const Diagnosis& diagnosis) {
    if (diagnosis.findings.empty()) return "<p class=\"finding\">no rank was seen</p>\n";
    std::string html;
    for (const std::string& finding : diagnosis.findings) {
        html += formatted("<p class=\"finding\">{}</p>\n", escaped(finding));
    }
    return html;
}

// A list of nodes or ranks goes on in the next line behind a comma.
std::string breakable(std::string_view text) {
    std::string html;
    for (const char c : escaped(text)) {
        html += c;
        if (c == ',') html += "<wbr>";
    }
    return html;
}

std::string table_of(const std::vector<RankGroup>& groups) {
    const auto rows = group_rows(groups);
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

// The first line stands when the rest is closed.
std::string closable(std::string_view text, bool is_open) {
    std::string html = formatted("<details{}><summary>", is_open ? " open" : "");
    std::string_view end = "</summary>\n<ol>\n";
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        html += end.empty() ? formatted("<li>{}</li>\n", escaped(line)) : escaped(line);
        html += std::exchange(end, "");
    }
    return html + "</ol></details>\n";
}

std::string odd_ranks(const Diagnosis& diagnosis) {
    std::string html;
    for (const EndedProcess& ended : diagnosis.ended) {
        html += formatted("<p>on {} process {} {} {}</p>\n", escaped(ended.node), ended.pid,
                          escaped(ended.name), escaped(ended.how));
    }
    for (std::size_t i = 0; i < diagnosis.odd; ++i) {
        html += closable(to_text(diagnosis.details[i]), i == 0);
    }
    return html;
}

std::string frame_of(const Frame& frame) {
    std::string place = frame.file;
    if (frame.line > 0) place += formatted(":{}", frame.line);
    return formatted("<li><code>{}</code> <span class=\"faint\">{}</span></li>\n",
                     escaped(frame.function), escaped(place));
}

std::string branch(const StackNode& node) {
    std::string html = formatted("<details open><summary>{}: <code>{}</code></summary>\n<ol>\n",
                                 ranks_text(node.ranks), escaped(to_text(node.frames.back())));
    for (const Frame& frame : node.frames) html += frame_of(frame);
    html += "</ol>\n";
    for (const StackNode& child : node.children) html += branch(child);
    return html + "</details>\n";
}

std::string section(std::string_view heading, const std::string& html) {
    return html.empty() ? "" : formatted("<section>\n<h2>{}</h2>\n{}</section>\n", heading, html);
}

}  // namespace

std::string diagnosis_page(const std::string& step, const Diagnosis& diagnosis) {
    std::string body =
        formatted("<p class=\"faint\">{}</p>\n", looked_at(diagnosis)) + findings(diagnosis);
    if (!diagnosis.groups.empty()) body += section("Ranks", table_of(diagnosis.groups));
    body += section("The odd ranks", odd_ranks(diagnosis));
    std::string tree;
    for (const StackNode& node : stack_tree(diagnosis.groups)) tree += branch(node);
    body += section("Stacks, the smallest groups first", tree);
    std::string notes;
    if (!diagnosis.silent.empty()) {
        notes += formatted("<p>no answer from {}</p>\n", escaped(join(diagnosis.silent, ", ")));
    }
    for (const std::string& note : diagnosis.notes) {
        notes += formatted("<p>{}</p>\n", escaped(note));
    }
    body += section("What could not be seen", notes);
    return html_page("step " + step, page_style, body);
}

}  // namespace distgpu
