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
IMAGE = re.compile(r"\.(sif|simg|img)$|^docker:")


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
    module: int = 0  # the place of python's -m MODULE
    program: int = 0  # the first word behind the options
    options: list[Option] = field(default_factory=list)
    unclear: Optional[Word] = None  # it may hold options

    @property
    def name(self) -> str:
        return self.words[0].text

    def value(self, *parts: str) -> Optional[Word]:
        return ([None] + [each.value for each in self.options if each.part in parts])[-1]

    def has(self, name: str) -> bool:
        return any(each.name == name for each in self.options)


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
    for table in TABLES["launchers"]:
        if name in table["commands"]:
            call = Call(table["mode"], table["kind"], list(words), end - 1)
            _read_options(end, call, table)
            return call
    return None


def _read_options(at: int, call: Call, table: dict[str, Any]) -> None:
    parts = {name: part for part, names in table["parts"].items() for name in names.split()}
    parts.update(dict.fromkeys(table["flags"].split(), "flag"))
    words = call.words
    while at < len(words) and words[at].text != "-":
        word, following = words[at], words[at + 1] if at + 1 < len(words) else None
        if not word.text.startswith("-"):
            names = {option_name(each) for each in words[at + 1 :] if each.text[:2] == "--"}
            is_program_next = following is not None and is_program(following)
            if word.may_split() and (is_program_next or names & {*parts}):
                call.unclear = word
            break
        name, value = option_name(word), (word.split("=") + [None])[1]
        option = Option(name, parts.get(name, "kept"), [word], value)
        call.options.append(option)
        at += 1
        if option.part == "flag" or value is not None or following is None:
            continue
        if option.part == "kept":
            # Which of these has a value only shows where the script follows.
            is_value = not following.text.startswith("-") and not is_program(following)
            if name not in table["kept"].split() and at + 1 < len(words) and is_value:
                option.value, at = following, at + 1
            continue
        option.value = following
        length = 2 if option.part == "parameter" else 1
        option.words += words[at : at + length]
        at += length
    call.program = min(at, len(words))


# What wraps them


@dataclass
class Started:
    """A command and the program that it means in the end."""

    outer: Command
    words: list[Word]  # of the program
    first: int = 0  # the word of the outer command with which what is started begins
    srun: Optional[Line] = None
    step: int = 0  # the outer word with which srun's program begins; else `first`
    text: Optional[Word] = None  # behind bash -c
    inner: Optional[Command] = None  # the one in the text that has the program
    others: list[Command] = field(default_factory=list)  # all else in the text

    @property
    def all_words(self) -> list[Word]:
        """Everything that stands in the command."""
        commands = [self.inner, *self.others] if self.inner else []
        own = [word for word in self.outer.words if word is not self.text]
        return own + [word for each in commands for word in each.words]


def pass_wrappers(words: Sequence[Word], at: int) -> int:
    """The place of the first word that starts no other program; the number of words: none."""
    while at < len(words) and base_name(words[at]) in WRAPPERS:
        name = base_name(words[at])
        verb, with_value, between = WRAPPERS[name]
        at += 1
        if verb:
            while at < len(words) and words[at].text.startswith("-"):  # of the whole
                at += 1
            if at == len(words) or words[at].text not in verb.split():
                return len(words)
            at += 1
        while at < len(words):
            text = words[at].text
            if text == "--":
                at += 1
                break
            if text.startswith("-") and len(text) > 1:
                at += 2 if text in with_value.split() else 1
            elif words[at].may_split() and between and name != "timeout":
                # A variable may hold a container's options: the image itself follows.
                image = words[at + 1] if at + 2 < len(words) else None
                if image is None or not (image.may_split() or IMAGE.search(image.text)):
                    break
                at += 1
            elif name == "env" and re.match(r"\w+=", text):
                at += 1
            else:
                break
        at += between
    return min(at, len(words))


def read_step(words: Sequence[Word]) -> Line:
    """srun's options; arrays and variables among them may hold more."""
    kept = list(range(len(words)))
    while True:
        line = line_of_words(tuple(words[at].text for at in kept))
        place = kept[line.program] if line.program < len(kept) else len(words)
        if place + 1 >= len(words) or not words[place].may_split():
            return Line(line.options, place)
        following, own = words[place + 1], words[place]
        is_known = base_name(following) in {*WRAPPERS, *SHELLS} or following.text.startswith("-")
        is_known = is_known or starts_python(following) or following.may_split()
        is_python = len(own.chars) > 1 or "python" in own.text.lower()
        if is_python or not (is_known or read_launcher(words[place + 1 :])):
            return Line(line.options, place)
        kept.remove(place)


def shell_text(words: Sequence[Word]) -> Optional[Word]:
    """What stands behind -c."""
    if base_name(words[0]) in SHELLS:
        for option, text in zip(words[1:], words[2:]):
            if re.fullmatch(r"-[a-z]*c", option.text):
                return text
            if not option.text.startswith("-"):
                return None
    return None


def read_started(command: Command) -> Optional[Started]:
    """Nothing: no program that is seen here."""
    words = command.words
    started = Started(command, words)
    first = at = pass_wrappers(words, 0)
    if first < len(words) and base_name(words[first]) == "srun":
        started.srun = read_step(words[first:])
        started.step = first + started.srun.program
        at = pass_wrappers(words, started.step)
    elif base_name(words[0]) in ("exec", "time", "nohup", "timeout", "command", "nice"):
        started.step = first
    started.first = first if started.srun else started.step
    if at >= len(words):
        return None
    started.words = words[at:]
    started.text = shell_text(started.words)
    if started.text is None:
        return started
    walk = Walk(Source(started.text.chars), command.state.copy(), command.line, command.around)
    if walk.source.unclear is not None:
        return None
    # The last one that starts a program of interest, or else the last one.
    for inner in reversed(walk.commands):
        program = inner.words[pass_wrappers(inner.words, 0) :]
        if program and shell_text(program) is None:
            is_found = bool(read_launcher(program)) or starts_python(program[0])
            if started.inner is None or is_found:
                started.inner, started.words = inner, program
            if is_found:
                break
    started.others = [each for each in walk.commands if each is not started.inner]
    return started if started.inner else None
