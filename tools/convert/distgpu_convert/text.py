"""Text whose characters know where they are written, and the edits of a script by such places.

A word of a command may be written in the command, in the text behind `bash -c`, or where a variable
is set. Each character has a tuple of spots: first where it stands in the command, then, if it
comes from a variable, where it stands in the line that sets the variable, and so on.
"""

import difflib
import re
from dataclasses import dataclass
from typing import Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple


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
    spots: Tuple[Spot, ...]
    symbol: Optional[Symbol] = None
    quoted: bool = False


PLACEHOLDER = "\ufffd"  # stands for a symbol where a text is parsed

Text = List[Char]


def plain(text: Iterable[Char]) -> str:
    """Its characters; a symbol as it is written in the script."""
    return "".join(char.symbol.source if char.symbol else char.text for char in text)


def is_literal(text: Text) -> bool:
    """Whether no symbol is in it."""
    return all(char.symbol is None for char in text)


def cover(chars: Sequence[Char]) -> Tuple[Spot, ...]:
    """The spots of a text that is looked at as one thing."""
    spots: List[Spot] = []
    for level in zip(*(char.spots for char in chars)):
        if any(spot.holder != level[0].holder for spot in level):
            break
        quote = level[0].quote if level[0].quote == level[-1].quote else "mixed"
        spots.append(Spot(level[0].begin, level[-1].end, quote, level[0].holder))
    return tuple(spots)


class Word:
    """A word of a command, after all expansions."""

    def __init__(
        self, chars: Text, spots: Tuple[Spot, ...] = (), whole: Optional["Word"] = None
    ) -> None:
        self.chars = chars
        self.whole = whole or self  # the word of which it is a part
        self.text = plain(chars)
        self.spots = spots or cover(chars)  # with its quotes

    def value(self) -> Optional[str]:
        """Its text, where that is known."""
        return self.text if is_literal(self.chars) else None

    def may_split(self) -> bool:
        """Whether it may be any number of words."""
        return any(
            char.symbol
            and char.symbol.kind not in ("first", "nodes", "gpus")
            and (not char.quoted or re.search(r"\[@\]\}$|^\$@$", char.symbol.source))
            for char in self.chars
        )

    def behind(self, mark: str) -> Optional["Word"]:
        """What follows the first of these characters; nothing: it has none."""
        for at, char in enumerate(self.chars):
            if char.symbol is None and char.text == mark:
                return Word(self.chars[at + 1 :], whole=self.whole)
        return None

    def shown(self) -> str:
        """As a message shows it: in one line."""
        return " ".join(self.text.replace("\\\n", " ").split())

    def spot(self, others: Iterable["Word"]) -> Optional[Spot]:
        """Where the word stands and no other of these does; nothing: nowhere."""
        for level, spot in enumerate(self.spots):
            shared = any(
                len(other.spots) > level
                and other.spots[level].begin < spot.end
                and other.spots[level].end > spot.begin
                for other in others
                if other is not self.whole
            )
            if not shared:
                return spot if spot.quote != "mixed" else None
        return None


class Overlap(Exception):
    """Two edits of one place."""


@dataclass(frozen=True)
class Edit:
    """Text in place of a range of the script."""

    begin: int
    end: int
    text: str
    holder: str = ""  # the variable in whose value the range lies


def removal(script: str, begin: int, end: int, holder: str = "") -> Edit:
    """Takes words away with the blanks behind them, or those before them at a line's end."""
    after = end
    while after < len(script) and script[after] in " \t":
        after += 1
    if after > end and script[after : after + 1] not in ("\n", ""):
        return Edit(begin, after, "", holder)
    before = begin
    while before > 0 and script[before - 1] in " \t":
        before -= 1
    at_line_begin = before == 0 or script[before - 1] == "\n"
    return Edit(begin if at_line_begin else before, end, "", holder)


def merged(edits: Iterable[Edit]) -> List[Edit]:
    """In order, equal ones once, removals that overlap as one."""
    result: List[Edit] = []
    for edit in sorted(dict.fromkeys(edits), key=lambda each: (each.begin, each.end)):
        last = result[-1] if result else None
        if last and edit.begin < last.end:
            if edit.text or last.text:
                raise Overlap
            result[-1] = Edit(last.begin, max(last.end, edit.end), "", last.holder)
        else:
            result.append(edit)
    return result


def changed(script: str, edits: Iterable[Edit]) -> str:
    """The script after the edits. A line of which nothing is left goes."""
    parts: List[str] = []
    touched: Set[int] = set()  # lines
    at = 0
    for edit in merged(edits):
        parts += [script[at : edit.begin], edit.text]
        if not edit.text:
            touched.add("".join(parts).count("\n"))
        at = edit.end
    lines = lines_of("".join(parts) + script[at:])
    result: List[str] = []
    for number, line in enumerate(lines):
        rest = line.strip()
        joined = bool(result) and result[-1].endswith("\\\n")
        if number in touched and (rest == "\\" or (not rest and not joined)):
            continue
        if number - 1 in touched and not rest and result and not result[-1].strip():
            continue  # one blank line of two that have come together
        result.append(line)
    return "".join(result)


def lines_of(text: str) -> List[str]:
    return re.findall(r"[^\n]*\n|[^\n]+$", text)


def unified_diff(name: str, before: str, after: str) -> str:
    """As diff -u shows it."""
    lines: List[str] = []
    for line in difflib.unified_diff(
        lines_of(before), lines_of(after), name, name + " (converted)"
    ):
        lines.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(lines)
