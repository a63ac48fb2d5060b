"""What a command starts: srun's step, what wraps the program, the text behind `bash -c`, and the
launchers of tables.json with the options of theirs that go."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from distgpu_convert.shell import Source
from distgpu_convert.slurm import TABLES, Line, line_of_words
from distgpu_convert.text import Word
from distgpu_convert.walk import Command, Walk

SHELLS = {"bash", "sh", "zsh", "dash"}
WRAPPERS = TABLES["wrappers"]
LAUNCHERS: dict[str, dict[str, Any]] = {
    command: launcher for launcher in TABLES["launchers"] for command in launcher["commands"]
}


def base_name(word: Word) -> str:
    return word.text.rsplit("/", 1)[-1]


def starts_python(word: Word) -> bool:
    name = base_name(word)
    return name.startswith("python") or (word.may_split() and "python" in name.lower())


def is_program(word: Word) -> bool:
    return word.text[:2] == "-m" or word.text.endswith((".py", ".sh"))


def option_name(word: Word) -> str:
    """--rdzv-backend of --rdzv_backend=c10d."""
    name = word.text.partition("=")[0]
    return name.replace("_", "-") if name.startswith("--") else name


# Launchers


@dataclass
class Option:
    name: str
    part: str  # what it says, as in the table; "flag", "kept"
    words: list[Word]  # that go with it
    value: Optional[Word] = None


@dataclass
class Call:
    """A command line of a launcher."""

    mode: str
    kind: str
    words: list[Word]  # from the launcher on
    module: int  # the place of python's -m MODULE
    program: int = 0  # the first word behind the options
    options: list[Option] = field(default_factory=list)
    unclear: Optional[Word] = None  # stands where the program does, but may hold options

    @property
    def name(self) -> str:
        return self.words[0].text

    def value(self, *parts: str) -> Optional[Word]:
        return ([None] + [each.value for each in self.options if each.part in parts])[-1]

    def has(self, *names: str) -> bool:
        return any(each.name in names for each in self.options)


def read_launcher(words: Sequence[Word]) -> Optional[Call]:
    """Nothing: no launcher of the table."""
    name, end = base_name(words[0]), 1
    if starts_python(words[0]) or words[0].may_split():
        while end < len(words) and words[end].text in ("-u", "-O", "-s", "-E"):
            end += 1
        if end + 1 < len(words) and words[end].text == "-m":
            name, end = "python -m " + words[end + 1].text, end + 2
    elif name == "accelerate" and len(words) > 1:
        name, end = name + " " + words[1].text, 2
    table = LAUNCHERS.get(name)
    if table is None:
        return None
    call = Call(table["mode"], table["kind"], list(words), end - 1, end)
    parts = {name: part for part, names in table["parts"].items() for name in names.split()}
    parts.update(dict.fromkeys(table["flags"].split(), "flag"))
    while call.program < len(words) and re.match("-.", words[call.program].text):
        option, length = _read_option(words[call.program :], parts, table["kept"].split())
        call.options.append(option)
        call.program += length
    word, rest = words[call.program : call.program + 1], words[call.program + 1 :]
    names = {option_name(each) for each in rest if each.text.startswith("--")}
    known = {*parts, *table["kept"].split()}
    if word and word[0].may_split() and (names & known or any(map(is_program, rest[:1]))):
        call.unclear = word[0]
    return call


def _read_option(
    words: Sequence[Word], parts: dict[str, str], alone: list[str]
) -> tuple[Option, int]:
    """The first option, and how many words it has; `alone`: those without a value that stay."""
    word, rest = words[0], words[1:]
    name, value = option_name(word), (word.split("=") + [None])[1]
    part = parts.get(name, "kept")
    if part == "flag" or value is not None or not rest:
        return Option(name, part, [word], value), 1
    if part == "kept":
        # Which of these has a value only shows where the script follows.
        is_last = len(rest) == 1 or rest[0].text.startswith("-") or is_program(rest[0])
        length = 1 if name in alone or is_last else 2
        return Option(name, part, [word], rest[0] if length == 2 else None), length
    length = 3 if part == "parameter" else 2  # --mca NAME VALUE
    return Option(name, part, list(words[:length]), rest[0]), length


# What wraps them


def pass_wrappers(words: Sequence[Word], at: int) -> int:
    """The place of the first word that starts no other program; the number of words: none."""
    while at < len(words) and base_name(words[at]) in WRAPPERS:
        name = base_name(words[at])
        verbs, with_value, between = WRAPPERS[name]
        at += 1
        if verbs:
            while at < len(words) and words[at].text.startswith("-"):  # of the whole
                at += 1
            if at == len(words) or words[at].text not in verbs.split():
                return len(words)
            at += 1
        while at < len(words) and words[at].text != "--":
            text = words[at].text
            if re.match("-.", text):
                at += 2 if text in with_value.split() else 1
            elif name == "env" and re.match(r"\w+=", text):
                at += 1
            else:
                break
        at += between + (words[at : at + 1] != [] and words[at].text == "--")
    return min(at, len(words))


def read_step(words: Sequence[Word]) -> Line:
    """srun's options; arrays and variables among them may hold more."""
    kept = list(range(len(words)))
    while True:
        line = line_of_words(tuple(words[at].text for at in kept))
        place = kept[line.program] if line.program < len(kept) else len(words)
        if place + 1 >= len(words) or not words[place].may_split():
            return Line(line.options, place)
        own, rest = words[place], words[place + 1 :]
        starts = base_name(rest[0]) in {*WRAPPERS, *SHELLS} or starts_python(rest[0])
        starts = starts or rest[0].may_split() or read_launcher(rest) is not None
        is_python = len(own.chars) > 1 or "python" in own.text.lower()
        if is_python or not (starts or rest[0].text.startswith("-")):
            return Line(line.options, place)
        kept.remove(place)


def shell_text(words: Sequence[Word]) -> Optional[Word]:
    """What stands behind -c."""
    for option, text in zip(words[1:], words[2:]):
        if base_name(words[0]) not in SHELLS or not option.text.startswith("-"):
            return None
        if re.fullmatch(r"-[a-z]*c", option.text):
            return text
    return None


class Started:
    """A command and the program that it means in the end."""

    def __init__(self, outer: Command) -> None:
        self.outer = outer
        self.srun: Optional[Line] = None
        self.place = 0  # the outer word with which srun's program begins, or would begin
        self.inner: Optional[Command] = None  # the one in the text behind bash -c that has it
        self.others: list[Command] = []  # all else in the text
        words = outer.words
        at = first = pass_wrappers(words, 0)
        if first < len(words) and base_name(words[first]) == "srun":
            self.srun = read_step(words[first:])
            self.place = first + self.srun.program
            at = pass_wrappers(words, self.place)
        elif base_name(words[0]) in ("exec", "time", "nohup", "timeout", "command", "nice"):
            self.place = first
        self.words = words[at:]  # of the program; none: it is not seen here
        self.text = shell_text(self.words)
        if self.text is not None:
            self._read_text(self.text)

    def _read_text(self, text: Word) -> None:
        """The last command that starts a program of interest, or else the last one."""
        state = self.outer.state.copy()
        state.values = {name: each for name, each in state.values.items() if name.isidentifier()}
        walk = Walk(Source(text.chars), state, self.outer.line, self.outer.within)
        self.words = []
        for inner in reversed(walk.commands if walk.source.unclear is None else []):
            program = inner.words[pass_wrappers(inner.words, 0) :]
            if program and shell_text(program) is None:
                is_found = bool(read_launcher(program)) or starts_python(program[0])
                if self.inner is None or is_found:
                    self.inner, self.words = inner, program
                if is_found:
                    break
        self.others = [each for each in walk.commands if each is not self.inner]

    @property
    def all_words(self) -> list[Word]:
        """Everything that stands in the command."""
        commands = [self.inner, *self.others] if self.inner else []
        own = [word for word in self.outer.words if word is not self.text]
        return own + [word for each in commands for word in each.words]
