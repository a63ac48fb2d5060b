"""Text whose characters know where they are written, and the edits of a script by such places.

A word of a command may be written in the command, in the text behind `bash -c`, or where a variable
is set. Each character has a tuple of spots: first where it stands in the command, then, if it
comes from a variable, where it stands in the line that sets the variable, and so on.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Optional

from distgpu_convert.slurm import Problem


class Spot(NamedTuple):
    """A range of the script."""

    begin: int
    end: int
    quote: str  # around it: ', " or nothing
    holder: str  # the variable in whose value it is; empty: the command itself


class Symbol(NamedTuple):
    """What only a run of the script knows."""

    kind: str  # "env", "hosts", "first", "nodes", "gpus", "number", "differs", "unknown"
    source: str  # as it is written
    name: str = ""  # the variable, of "env" and "differs"
    line: int = 0  # of "differs": the line from which on it has several values


class Char(NamedTuple):
    """A character as a program sees it, or a symbol, whose text is a replacement character."""

    text: str
    spots: tuple[Spot, ...]
    symbol: Optional[Symbol] = None
    quoted: bool = False


PLACEHOLDER = "\ufffd"  # stands for a symbol where a text is parsed
Text = list[Char]


def plain(text: Iterable[Char]) -> str:
    """Its characters; a symbol as it is written in the script."""
    return "".join(char.symbol.source if char.symbol else char.text for char in text)


def cover(chars: Sequence[Char]) -> tuple[Spot, ...]:
    """The spots of a text that is looked at as one thing."""
    spots: list[Spot] = []
    for level in zip(*(char.spots for char in chars)):
        if any(spot.holder != level[0].holder for spot in level):
            break
        quote = level[0].quote if level[0].quote == level[-1].quote else "mixed"
        spots.append(Spot(level[0].begin, level[-1].end, quote, level[0].holder))
    return tuple(spots)


class Word:
    """A word of a command, after all expansions."""

    def __init__(
        self, chars: Text, spots: tuple[Spot, ...] = (), whole: Optional["Word"] = None
    ) -> None:
        self.chars = chars
        self.whole = whole or self  # the word of which it is a part
        self.text = plain(chars)
        self.spots = spots or cover(chars)  # with its quotes
        self.symbol = chars[0].symbol if len(chars) == 1 else None  # if it is nothing else

    def value(self) -> Optional[str]:
        """Its text, where that is known."""
        return None if any(char.symbol for char in self.chars) else self.text

    def may_split(self) -> bool:
        """Whether it may be any number of words."""
        return any(
            char.symbol
            and char.symbol.kind not in ("first", "nodes", "gpus")
            and (not char.quoted or re.search(r"\[@\]\}$|^\$@$", char.symbol.source))
            for char in self.chars
        )

    def split(self, mark: str) -> list["Word"]:
        """In two at the first such character; in one: it has none."""
        for at, char in enumerate(self.chars):
            if char.text == mark and not char.symbol:
                return [Word(c, whole=self.whole) for c in (self.chars[:at], self.chars[at + 1 :])]
        return [self]

    def spot(self, others: Iterable["Word"]) -> Optional[Spot]:
        """Where the word stands and no other of these does; nothing: nowhere."""
        for level, spot in enumerate(self.spots):
            there = [o.spots[level] for o in others if o is not self.whole and len(o.spots) > level]
            if not any(other.begin < spot.end and other.end > spot.begin for other in there):
                return spot if spot.quote != "mixed" else None
        return None


class Edit(NamedTuple):
    """Text in place of a range of the script."""

    begin: int
    end: int
    text: str
    holder: str = ""  # the variable in whose value the range lies


def removal(script: str, begin: int, end: int, holder: str = "") -> Edit:
    """Takes words away with the blanks behind them, or those before them at a line's end."""
    after = end + len(script[end:]) - len(script[end:].lstrip(" \t"))
    if after > end and script[after : after + 1] not in ("\n", ""):
        return Edit(begin, after, "", holder)
    before = len(script[:begin].rstrip(" \t"))
    at_line_begin = before == 0 or script[before - 1] == "\n"
    return Edit(begin if at_line_begin else before, end, "", holder)


def changed(script: str, edits: Iterable[Edit]) -> str:
    """The script after the edits, equal ones once. A line of which nothing is left goes."""
    text, at = "", 0
    touched: set[int] = set()  # lines
    last = Edit(0, 0, "")
    for edit in sorted(dict.fromkeys(edits), key=lambda each: each[:2]):
        if edit.begin < last.end and (edit.text or last.text):
            raise Problem("its commands are written into each other; it stays as it is")
        text += script[at : edit.begin] + edit.text
        at, last = max(at, edit.end), edit if edit.end > last.end else last
        if not edit.text:
            touched.add(text.count("\n"))
    result: list[str] = []
    for number, line in enumerate(lines_of(text + script[at:])):
        rest = line.strip()
        joined = bool(result) and result[-1].endswith("\\\n")
        if number in touched and (rest == "\\" or (not rest and not joined)):
            continue
        if number - 1 in touched and not rest and result and not result[-1].strip():
            continue  # one blank line of two that have come together
        result.append(line)
    return "".join(result)


def lines_of(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+$", text)
