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
GONE = "\udfff"  # for what an edit takes away; in no text that was decoded
Text = list[Char]
Spots = tuple[Spot, ...]


def cover(chars: Sequence[Char]) -> Spots:
    """The spots of a text that is looked at as one thing."""
    spots: list[Spot] = []
    for level in zip(*(char.spots for char in chars)):
        if any(spot.holder != level[0].holder for spot in level):
            break
        quote = level[0].quote if level[0].quote == level[-1].quote else "mixed"
        spots.append(Spot(level[0].begin, level[-1].end, quote, level[0].holder))
    return tuple(spots)


class Word:
    """A word of a command, after all expansions; its text has symbols as they are written."""

    def __init__(self, chars: Text, spots: Spots = (), whole: Optional["Word"] = None) -> None:
        self.chars = chars
        self.whole = whole or self  # the word of which it is a part
        self.text = "".join(char.symbol.source if char.symbol else char.text for char in chars)
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
                halves = self.chars[:at], self.chars[at + 1 :]
                return [Word(half, (), self.whole) for half in halves]
        return [self]

    def spot(self, others: Iterable["Word"]) -> Optional[Spot]:
        """Where the word stands and no other of these does; nothing: nowhere."""
        others = [each for each in others if each is not self.whole]
        for level, spot in enumerate(self.spots):
            there = [each.spots[level] for each in others if len(each.spots) > level]
            if not any(other.begin < spot.end and other.end > spot.begin for other in there):
                return spot if spot.quote != "mixed" else None
        return None


class Edit(NamedTuple):
    """Text in place of a range of the script."""

    begin: int
    end: int
    text: str  # empty: what stands there goes, with its blanks and the line of which nothing is left
    holder: str = ""  # the variable in whose value the range lies


def changed(script: str, edits: Iterable[Edit]) -> str:
    """The script after the edits, equal ones once."""
    text, at, last = "", 0, Edit(0, 0, "")
    for edit in sorted(dict.fromkeys(edits), key=lambda each: each[:2]):
        if edit.begin < last.end and (edit.text or last.text):
            raise Problem("its commands are written into each other; it stays as it is")
        text += script[at : edit.begin] + (edit.text or GONE)
        at, last = max(at, edit.end), edit if edit.end > last.end else last
    # Lines. A continued one stays, empty, where it is the last; of two blank lines one.
    text = re.sub(rf"(?m)^[ \t]*{GONE}[{GONE} \t]*\\\n", "", text + script[at:])
    text = re.sub(rf"(?m)(?<!\\\n)^[ \t]*{GONE}[{GONE} \t]*$", GONE, text)
    text = re.sub(rf"(?m)(^[ \t]*\n)({GONE}\n)+[ \t]*\n|^{GONE}\n", r"\1", text)
    # Words, with the blanks before them, or those behind them at a line's begin.
    return re.sub(rf"(?<=\S)[ \t]+{GONE}|{GONE}[ \t]*", "", text)
