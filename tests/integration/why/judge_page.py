#!/usr/bin/env python3
"""Opens a page in headless Chromium, in windows of 1280 and 390 pixels, light and dark.

usage: judge_page.py CHROMIUM PAGE

Prints one line: how many texts were judged in all, how many have a contrast below 4.5 (WCAG 2.1,
AA), how many reach beyond the window, how many elements could run or load something, and how many
branches can be closed.
"""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scaling_page"))

# pylint: disable=wrong-import-position
from open_page import WIDTHS, Browser  # noqa: E402

JUDGE = """(() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const brightness = (colour) => {
    const [r, g, b] = parts(colour).map((part) => {
      const value = part / 255;
      return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (parts(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const seen = {judged: 0, pale: 0, wide: 0, active: 0, branches: 0};
  const judge = (element, colour) => {
    seen.judged += 1;
    const values = [brightness(ground(element)), brightness(colour)];
    if ((Math.max(...values) + 0.05) / (Math.min(...values) + 0.05) < 4.5) seen.pale += 1;
  };
  for (const element of document.querySelectorAll("body *")) {
    if (element.getClientRects().length === 0) continue;
    if (element.getBoundingClientRect().right > innerWidth + 0.5) seen.wide += 1;
    if ([...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) {
      judge(element, getComputedStyle(element).color);
    }
    const before = getComputedStyle(element, "::before");
    if (before.content !== "none") judge(element, before.color);
  }
  seen.active = document.querySelectorAll("script, img, iframe, object, embed, link, a").length;
  seen.branches = document.querySelectorAll("details").length;
  return seen;
})()"""


def main() -> int:
    chromium, page = sys.argv[1:]
    total: dict[str, int] = {}
    with Browser(chromium) as browser:
        for width in WIDTHS:
            for dark in (False, True):
                session = browser.open(pathlib.Path(page), width, dark)
                for name, number in browser.evaluate(session, JUDGE).items():
                    total[name] = total.get(name, 0) + number
    print(" ".join(f"{name} {number}" for name, number in total.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
