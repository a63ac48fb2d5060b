"""Reads the command lines of Markdown pages, and what a page shows as their output.

CONTRIBUTING.md ("Adding a command to a page") says what counts as a command.
"""

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

FENCE = re.compile(r" *```(.*)")
MESSAGE = re.compile(r"\S+: ")  # a block that begins with what a program says
COLUMN = "Write"  # the heading of a table's column whose code is commands
CODE = re.compile(r"`([A-Za-z][^`]* [^`]*)`")


@dataclass(frozen=True)
class Line:
    page: str
    number: int  # of its first line in the page
    text: str  # a command, or a whole script
    shown: str | None = None  # what the page has as its output

    @property
    def is_script(self) -> bool:
        return self.text.startswith("#!")


def lines_of(page: str, text: str) -> list[Line]:
    """The commands of a page, in their order."""
    found: list[Line] = []
    block: list[str] | None = None
    language = ""
    column: int | None = None  # of the table in which this line is
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if fence and block is not None:
            found += [] if language else block_lines(page, number - len(block), block)
            block = None
        elif fence:
            block, language = [], fence[1]
        elif block is not None:
            block.append(line)
        elif line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line)
            if column is None:  # the headings; cell 0 is what stands before the first bar
                column = next((i for i, cell in enumerate(cells) if cell.strip() == COLUMN), 0)
            found += [Line(page, number, code) for code in CODE.findall(cells[column])]
        else:
            column = None
    if block is not None:
        raise ValueError(f"{page}: the last fence has no end")
    return found


def block_lines(page: str, number: int, block: list[str]) -> list[Line]:
    """The commands of a block whose first line has this number."""
    if not block or MESSAGE.match(block[0]):
        return []
    if block[0].startswith("#!"):
        return [Line(page, number, "\n".join(block) + "\n")]
    if block[0].startswith("$ "):
        return console_lines(page, number, block)
    return commands(page, number, block)


def console_lines(page: str, number: int, block: list[str]) -> list[Line]:
    found: list[Line] = []
    for at, line in enumerate(block, number):
        if line.startswith("$ "):
            found.append(Line(page, at, line[2:]))
        else:
            shown = "" if found[-1].shown is None else found[-1].shown
            found[-1] = replace(found[-1], shown=f"{shown}{line}\n")
    return found


def commands(page: str, number: int, block: list[str]) -> list[Line]:
    """A command goes on after a backslash, and within quotes."""
    found: list[Line] = []
    parts: list[str] = []
    for at, line in enumerate(block, number):
        if not parts and (not line.strip() or line.lstrip().startswith("#")):
            continue
        parts.append(line)
        if is_whole("\n".join(parts)):
            found.append(Line(page, at - len(parts) + 1, "\n".join(parts).strip()))
            parts = []
    if parts:
        raise ValueError(f"{page}:{number}: the block's last command has no end: {parts[0]}")
    return found


def is_whole(command: str) -> bool:
    try:
        shlex.split(command, comments=True)
    except ValueError:  # within quotes, or after a backslash at the end
        return False
    return not command.endswith("\\")
