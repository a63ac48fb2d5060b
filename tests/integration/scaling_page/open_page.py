#!/usr/bin/env python3
"""Opens pages in headless Chromium and says what is on them.

open_page.py CHROMIUM PAGE...
    A line for each page: its name, points of lines, plots, filled cells of the heat map,
    rows of the table of results, texts that leave their plot, whether the page is wider
    than its window, the requests besides the page itself, and the errors.
open_page.py CHROMIUM --picture PNG [--dark] [--height PIXELS] PAGE
    A picture of the page, or of its top.

Chromium is driven over its DevTools protocol: JSON, each message ended by a null byte, on
the file descriptors 3 and 4 (--remote-debugging-pipe).
"""

import argparse
import base64
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import time
from types import TracebackType
from typing import Any

Message = dict[str, Any]

WINDOW = (1100, 800)

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
  const results = [...document.querySelectorAll("section")].find(
      (section) => section.querySelector("h2").textContent === "Results");
  return {
    points: count("circle.point"),
    plots: count("svg[role=img] > title + desc"),
    cells: count("rect.cell"),
    rows: results ? results.querySelectorAll("tbody tr").length : 0,
    leaving: [...document.querySelectorAll("svg")].reduce((sum, svg) => sum + leaves(svg), 0),
    wide: document.documentElement.scrollWidth > window.innerWidth,
    height: document.documentElement.scrollHeight,
  };
})()"""


class Browser:
    """A Chromium of its own, with a profile that goes with it."""

    def __init__(self, program: str, deadline: float = 50) -> None:
        self.deadline = time.monotonic() + deadline
        self.profile = tempfile.TemporaryDirectory(prefix="scaling-page-")
        from_us, self.to_chromium = os.pipe()
        self.from_chromium, to_us = os.pipe()
        arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
            f"--window-size={WINDOW[0]},{WINDOW[1]}",
            f"--user-data-dir={self.profile.name}",
            "about:blank",
        ]
        script = f'exec "$0" "$@" 3<&{from_us} 4>&{to_us}'
        self.process = subprocess.Popen(
            ["bash", "-c", script, program, *arguments],
            pass_fds=(from_us, to_us),
            stderr=subprocess.DEVNULL,
        )
        os.close(from_us)
        os.close(to_us)
        self.unread = b""
        self.last_id = 0
        self.events: list[Message] = []

    def __enter__(self) -> "Browser":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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

    def open(self, page: pathlib.Path, dark: bool = False) -> str:
        """The session of a new tab that has loaded the page."""
        tab = self.call("Target.createTarget", url="about:blank")["targetId"]
        session: str = self.call("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable", session)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", session, features=[scheme])
        self.resize(session, WINDOW[1])
        self.events.clear()
        self.call("Page.navigate", session, url=page.resolve().as_uri())
        self.wait_for("Page.loadEventFired")
        return session

    def resize(self, session: str, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            session,
            width=WINDOW[0],
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def count(self, session: str) -> Message:
        result = self.call("Runtime.evaluate", session, expression=COUNT, returnByValue=True)
        value: Message = result["result"]["value"]
        return value

    def requests(self) -> list[str]:
        """What was asked for since the page was opened, besides the page."""
        asked = [
            event for event in self.events if event.get("method") == "Network.requestWillBeSent"
        ]
        urls = [event["params"]["request"]["url"] for event in asked]
        return urls[1:]

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


def describe(browser: Browser, page: pathlib.Path) -> str:
    seen = browser.count(browser.open(page))
    numbers = [seen[key] for key in ("points", "plots", "cells", "rows", "leaving")]
    wide = "wide" if seen["wide"] else "fits"
    found = [" ".join(list) or "none" for list in (browser.requests(), browser.errors())]
    return " ".join(
        [page.name, *map(str, numbers), wide, f"requests: {found[0]} errors: {found[1]}"]
    )


def picture(browser: Browser, page: pathlib.Path, png: str, dark: bool, height: int) -> None:
    session = browser.open(page, dark)
    browser.resize(session, height or browser.count(session)["height"])
    data = browser.call("Page.captureScreenshot", session, format="png")["data"]
    pathlib.Path(png).write_bytes(base64.b64decode(data))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("chromium")
    parser.add_argument("--picture")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--height", type=int, default=0)
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    with Browser(options.chromium) as browser:
        if options.picture:
            picture(browser, options.pages[0], options.picture, options.dark, options.height)
            return 0
        for page in options.pages:
            print(describe(browser, page), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
