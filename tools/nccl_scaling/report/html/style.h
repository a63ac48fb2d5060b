// The page's style sheet.
#pragma once

#include <string_view>

namespace distgpu::scaling::html {

// Lines of a plot take the colours of Okabe and Ito, "Color Universal Design" (2008), which people
// with any common colour vision tell apart; their yellow is left out, which a white page swallows,
// and their black is the text's colour, which is light on a dark page.
inline constexpr std::size_t line_colors = 7;
inline constexpr std::size_t line_dashes = 3;

inline constexpr std::string_view style = R"css(
:root { color-scheme: light dark; --page: #ffffff; --text: #1b1b1f; --faint: #5f6168;
  --rule: #d5d6db; --panel: #f3f4f6; --good: #009e73; --bad: #d55e00; }
@media (prefers-color-scheme: dark) { :root { --page: #16181d; --text: #e8e8ec; --faint: #a3a6ae;
  --rule: #3a3d45; --panel: #20232a; } }
body { margin: 2rem auto; max-width: 66rem; padding: 0 1rem; background: var(--page);
  color: var(--text); font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.3rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
p { margin: .4rem 0; } .faint { color: var(--faint); }
.verdict { font-size: 1.35rem; font-weight: 600; margin: .6rem 0; overflow-wrap: anywhere; }
.box { background: var(--panel); border-left: .3rem solid var(--bad); padding: .5rem .9rem;
  margin: .8rem 0; overflow-wrap: anywhere; }
.wide { overflow: auto; max-height: 34rem; } @media print { .wide { max-height: none; } }
table { border-collapse: collapse; margin: .6rem 0; font-size: .85rem;
  font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--faint); padding: .2rem 0; }
th, td { padding: .15rem .4rem; text-align: right; border-bottom: 1px solid var(--rule);
  white-space: nowrap; }
th { color: var(--faint); font-weight: 600; } .word { text-align: left; }
.prose td.word { overflow-wrap: anywhere; white-space: normal; }
thead th { position: sticky; top: 0; background: var(--page); }
summary { cursor: pointer; } figure { margin: .8rem 0 1.6rem; }
svg { display: block; max-width: 100%; height: auto; font: 12px system-ui, "DejaVu Sans", sans-serif; }
svg text { fill: var(--text); } svg .faint { fill: var(--faint); } svg .head { font-weight: 600; }
.grid { stroke: var(--rule); } .axis { stroke: var(--faint); }
.line { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
.point { fill: currentColor; stroke: var(--page); }
.linear { stroke: var(--faint); stroke-width: 1.5; stroke-dasharray: 2 4; fill: none; }
.dash1 .line { stroke-dasharray: 7 4; } .dash2 .line { stroke-dasharray: 2 3; }
.line0 { color: #0072b2; } .line1 { color: #e69f00; } .line2 { color: #009e73; }
.line3 { color: #cc79a7; } .line4 { color: #56b4e9; } .line5 { color: #d55e00; }
.line6 { color: var(--text); }
.none { fill: var(--panel); }
)css";

}  // namespace distgpu::scaling::html
