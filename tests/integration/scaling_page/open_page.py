#!/usr/bin/env python3
"""Opens pages in headless Chromium and says what is on them.

open_page.py [--judge] CHROMIUM PAGE...
    A line for each page: its name, points of lines, pictures, filled cells of the heat map,
    rows of the table of results. Then, of windows of 1280 and 390 pixels, light and dark, all
    together: texts that leave their picture, texts below 12 pixels, whether the page is wider
    than its window, what is wrong with the tips, the requests besides the page itself, and
    the errors.
--judge: and a line of how many texts were judged in all these windows, how many have a contrast below
    4.5 (WCAG 2.1, AA), how many reach beyond the window, how many elements could run or load
    something, and how many branches can be closed; of the texts in a picture's boxes, how many were
    judged, how many leave their box and how many are pale on it.

Chromium is driven over its DevTools protocol: JSON, each message ended by a null byte, on
the file descriptors 3 and 4 (--remote-debugging-pipe).
"""

import collections
import contextlib
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import time
from typing import Any

Message = dict[str, Any]

WIDTHS = (1280, 390)
HEIGHT = 800

COUNT = """(() => {
  const count = (selector) => document.querySelectorAll(selector).length;
  const leaves = (svg) => {
    const frame = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].filter((text) => {
      const box = text.getBoundingClientRect();
      return box.left < frame.left - 1 || box.right > frame.right + 1 ||
             box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
    }).length;
  };
  const scale = (element) => {
    const svg = element.closest("svg");
    return svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
  };
  const small = [...document.querySelectorAll("body *")].filter((element) =>
      element.getClientRects().length > 0 &&
      [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) &&
      parseFloat(getComputedStyle(element).fontSize) * scale(element) < 11.99);
  const results = [...document.querySelectorAll("section")].find(
      (section) => section.querySelector("h2").textContent === "Results");
  return {
    points: count("circle.point"),
    plots: count("svg[role=img] > title + desc"),
    cells: count("rect.cell"),
    rows: results ? results.querySelectorAll("tbody tr").length : 0,
    leaving: [...document.querySelectorAll("svg")].reduce((sum, svg) => sum + leaves(svg), 0),
    small: small.length,
    wide: document.documentElement.scrollWidth > window.innerWidth,
  };
})()"""

JUDGE = """(() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const brightness = (colour) => {
    const [r, g, b] = parts(colour).map((part) => {
      const value = part / 255;
      return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const isPale = (...colours) => {
    const values = colours.map(brightness);
    return (Math.max(...values) + 0.05) / (Math.min(...values) + 0.05) < 4.5;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (parts(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const count = (selector) => document.querySelectorAll(selector).length;
  const seen = {judged: 0, pale: 0, wide: 0, active: count("script, img, iframe, object, embed, link, a"),
                branches: count("details"), boxed: 0, leaving: 0, faint: 0};
  const judge = (element, colour) => {
    seen.judged += 1;
    seen.pale += isPale(ground(element), colour);
  };
  for (const element of document.querySelectorAll("body *")) {
    if (element.getClientRects().length === 0 || element.closest("svg")) continue;
    if (element.getBoundingClientRect().right > innerWidth + 0.5) seen.wide += 1;
    if ([...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) {
      judge(element, getComputedStyle(element).color);
    }
    const before = getComputedStyle(element, "::before");
    if (before.content !== "none") judge(element, before.color);
  }
  const fill = (element) => getComputedStyle(element).fill;
  let box = null;
  for (const element of document.querySelectorAll("svg > *")) {
    if (element.tagName === "rect") box = /^(c\\d|many|idle|out)$/.test(element.className.baseVal) ? element : null;
    if (element.tagName !== "text" || !box || box.getBBox().height < 40) continue;
    const [text, rect] = [element.getBBox(), box.getBBox()];
    seen.boxed += 1;
    seen.leaving += text.x + text.width > rect.x + rect.width - 2;
    seen.faint += isPale(fill(fill(box) === "none" ? document.querySelector(".panel") : box), fill(element));
  }
  return seen;
})()"""

# Of the last picture: the middle of its first mark, which is scrolled to and which another one may
# not lie upon; null without one.
FIRST_MARK = """(async () => {
  const picture = [...document.querySelectorAll(".picture")].pop();
  const first = picture && picture.querySelector("[data-tip]");
  if (!first) return null;
  first.scrollIntoView({block: "center"});
  for (const frame of [1, 2]) await new Promise(requestAnimationFrame);  // scrolling is told later
  const box = first.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  const upper = document.elementFromPoint(x, y);
  return {x, y, tip: first.dataset.tip, seen: upper && upper.dataset.tip};
})()"""

# The tip's text, where it can be read; else what is wrong.
TIP = """(() => {
  const tip = document.getElementById("tip"), box = tip.getBoundingClientRect();
  if (tip.hidden) return "hidden";
  const inside = box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight;
  return inside && box.width > 0 ? tip.textContent : "outside of the window";
})()"""

FOCUS = '[...document.querySelectorAll(".picture")].pop().focus()'
SECOND_MARK = (
    '[...document.querySelectorAll(".picture")].pop().querySelectorAll("[data-tip]")[1].dataset.tip'
)


class Browser:
    """A Chromium of its own, until the program ends, with a profile that goes with it."""

    def __init__(self, program: str, deadline: float = 300) -> None:
        self.deadline = time.monotonic() + deadline
        self.profile = tempfile.TemporaryDirectory(prefix="scaling-page-")
        from_us, self.to_chromium = os.pipe()
        self.from_chromium, to_us = os.pipe()
        options = f"""--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage
            --no-first-run --disable-background-networking --hide-scrollbars
            --remote-debugging-pipe --window-size={WIDTHS[0]},{HEIGHT}
            --user-data-dir={self.profile.name} about:blank"""
        script = f'exec "$0" "$@" 3<&{from_us} 4>&{to_us}'
        self.process = subprocess.Popen(
            ["bash", "-c", script, program, *options.split()],
            pass_fds=(from_us, to_us),
            stderr=subprocess.DEVNULL,
        )
        os.close(from_us)
        os.close(to_us)
        self.unread = b""
        self.last_id = 0
        self.events: list[Message] = []

    def close(self) -> None:
        try:
            self.call("Browser.close")
            self.process.wait(timeout=10)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()

    def receive(self) -> Message:
        while b"\0" not in self.unread:
            left = self.deadline - time.monotonic()
            if left <= 0 or not select.select([self.from_chromium], [], [], left)[0]:
                raise RuntimeError("Chromium: no answer in time")
            piece = os.read(self.from_chromium, 1 << 20)
            if not piece:
                raise RuntimeError("Chromium: ended")
            self.unread += piece
        text, _, self.unread = self.unread.partition(b"\0")
        message: Message = json.loads(text)
        return message

    def call(self, method: str, session: str = "", **params: Any) -> Message:
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.to_chromium, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") != self.last_id:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                result: Message = answer["result"]
                return result

    def wait_for(self, method: str) -> None:
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.receive())

    def open(self, page: pathlib.Path, width: int, dark: bool) -> str:
        """The session of a new tab that has loaded the page."""
        tab = self.call("Target.createTarget", url="about:blank")["targetId"]
        session: str = self.call("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable", session)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", session, features=[scheme])
        metrics = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", session, **metrics)
        self.events.clear()
        self.call("Page.navigate", session, url=page.resolve().as_uri())
        self.wait_for("Page.loadEventFired")
        return session

    def evaluate(self, session: str, expression: str) -> Any:
        how = {"returnByValue": True, "awaitPromise": True}
        result = self.call("Runtime.evaluate", session, expression=expression, **how)
        return result["result"].get("value")

    def tips(self, session: str) -> set[str]:
        """What is wrong with the tips of the pointer and of the keyboard."""
        first = self.evaluate(session, FIRST_MARK)
        if first is None:
            return set()
        wrong = set()
        where = {"x": first["x"], "y": first["y"]}
        self.call("Input.dispatchMouseEvent", session, type="mouseMoved", **where)
        if not first["seen"] or self.evaluate(session, TIP) != first["seen"]:
            wrong.add("pointer")
        self.call("Input.dispatchMouseEvent", session, type="mouseMoved", x=1, y=1)
        self.evaluate(session, FOCUS)
        if self.evaluate(session, TIP) != first["tip"]:
            wrong.add("focus")
        second = self.evaluate(session, SECOND_MARK)
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", session, type=kind, key="ArrowRight")
        if second and self.evaluate(session, TIP) != second:
            wrong.add("arrow")
        return wrong

    def requests(self) -> list[str]:
        """What was asked for since the page was opened, besides the page."""
        asked = [each for each in self.events if each.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in asked[1:]]

    def errors(self) -> list[str]:
        """What went wrong: on the console, in a script, by the page's own policy."""
        found = []
        for event in self.events:
            method = event.get("method")
            if method == "Log.entryAdded":
                found.append(str(event["params"]["entry"]["text"]))
            elif method == "Runtime.consoleAPICalled":
                found.append("console: " + str(event["params"]["type"]))
            elif method == "Runtime.exceptionThrown":
                found.append("exception")
        return found


def joined(words: set[str] | list[str]) -> str:
    return " ".join(sorted(words)) or "none"


def describe(browser: Browser, page: pathlib.Path, judge: bool) -> str:
    counted, leaving, small, wide = [], 0, 0, False
    judged: collections.Counter[str] = collections.Counter()
    tips, requests, errors = set[str](), set[str](), set[str]()
    for width in WIDTHS:
        for dark in (False, True):
            session = browser.open(page, width, dark)
            seen = browser.evaluate(session, COUNT)
            counted.append([seen[key] for key in ("points", "plots", "cells", "rows")])
            leaving += seen["leaving"]
            small += seen["small"]
            wide = wide or seen["wide"]
            judged.update(browser.evaluate(session, JUDGE))
            tips |= browser.tips(session)
            requests |= set(browser.requests())
            errors |= set(browser.errors())
    if any(numbers != counted[0] for numbers in counted):
        errors.add("another page in another window")
    numbers = " ".join(map(str, [*counted[0], leaving, small]))
    line = (
        f"{page.name} {numbers} {'wide' if wide else 'fits'} wrong tips: {joined(tips)} "
        f"requests: {joined(requests)} errors: {joined(errors)}"
    )
    return f"{line}\n" + " ".join(f"{name} {judged[name]}" for name in judged) if judge else line


def main() -> int:
    judge = sys.argv[1] == "--judge"
    chromium, *pages = sys.argv[1 + judge :]
    with contextlib.closing(Browser(chromium)) as browser:
        for page in pages:
            print(describe(browser, pathlib.Path(page), judge), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
