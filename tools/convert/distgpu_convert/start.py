"""What a command starts: srun's step, what wraps the program, the text behind `bash -c`, and the
launchers of tables.json with the options of theirs that go."""

import re
from collections.abc import Sequence
from typing import NamedTuple, Optional

from distgpu_convert.shell import Source
from distgpu_convert.slurm import TABLES, Line, line_of_words
from distgpu_convert.text import Word
from distgpu_convert.walk import Command, Walk

SHELLS = {"bash", "sh", "zsh", "dash"}
WRAPPERS = TABLES["wrappers"]
# Programs by what they do; some do so with certain words only.
PRINTS, STARTS_NOTHING, NEEDS_NO_RANK, PREPARES = (
    set(TABLES[kind].split()) for kind in ("prints", "starts nothing", "needs no rank", "prepares")
)
HELPERS = NEEDS_NO_RANK | PREPARES
LAUNCHERS = {command: each for each in TABLES["launchers"] for command in each["commands"]}


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


class Option(NamedTuple):
    name: str
    part: str  # what it says, as in the table; "flag", "kept"
    words: list[Word]  # of which it consists
    value: Optional[Word] = None


class Call(NamedTuple):
    """A command line of a launcher."""

    mode: str
    kind: str
    first: Word
    options: list[Option]
    program: list[Word]  # the words behind the options
    unclear: bool  # the first of these may hold options

    def value(self, *parts: str) -> Optional[Word]:
        return ([None] + [each.value for each in self.options if each.part in parts])[-1]

    def has(self, *names: str) -> bool:
        return any(each.name in names for each in self.options)


def read_launcher(words: Sequence[Word]) -> Optional[Call]:
    """Nothing: no launcher of the table."""
    if not words:
        return None
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
    parts = {name: part for part, names in table["parts"].items() for name in names.split()}
    parts.update(dict.fromkeys(table["flags"].split(), "flag"))
    kept = table["kept"].split()  # flags
    options: list[Option] = []
    while end < len(words) and re.match("-.", words[end].text):
        options.append(_read_option(words[end:], parts, kept))
        end += len(options[-1].words)
    program = list(words[end:])
    names = {option_name(each) for each in program[1:] if each.text.startswith("--")}
    shows_more = bool(names & {*parts, *kept}) or any(map(is_program, program[1:2]))
    unclear = shows_more and program[0].may_split()
    return Call(table["mode"], table["kind"], words[0], options, program, unclear)


def _read_option(words: Sequence[Word], parts: dict[str, str], flags: list[str]) -> Option:
    """The first one. Which of those that the table lacks take a value only shows in what follows."""
    name, inline = option_name(words[0]), words[0].split("=")[1:]
    part = parts.get(name, "kept")
    length = {"flag": 1, "parameter": 3}.get(part, 2)  # --mca NAME VALUE
    follows = words[1:3]
    ends = [each for each in follows[:1] if each.text.startswith("-") or is_program(each)]
    if inline or not follows or (part == "kept" and (name in flags or len(follows) == 1 or ends)):
        length = 1
    value = (inline + [None] if length == 1 else follows)[0]
    return Option(name, part, list(words[:length]), value)


def pass_wrappers(words: Sequence[Word], at: int) -> int:
    """The place of the first word that starts no other program; the number of words: none."""
    while at < len(words) and base_name(words[at]) in WRAPPERS:
        name = base_name(words[at])
        verbs, with_value, between = WRAPPERS[name]
        lacks_verb = verbs != ""
        at += 1
        while at < len(words) and words[at].text != "--":
            text = words[at].text
            if lacks_verb and text in verbs.split():
                lacks_verb = False
            elif re.match("-.", text):
                at += text in with_value.split()
            elif name != "env" or not re.match(r"\w+=", text):
                break
            at += 1
        if lacks_verb:
            return len(words)
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


def is_one_of(programs: set[str], words: Sequence[str]) -> bool:
    """By its name alone or in the system's folders: another path may name anything."""
    match = re.fullmatch(r"(?:(?:/usr)?/bin/)?([^/]+)", words[0]) if words else None
    if match is None or match[1] not in programs:
        return False
    pattern = TABLES["only with"].get(match[1], ".*")
    return re.fullmatch(pattern, " ".join(words[1:]), re.DOTALL) is not None


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
        # Everything that stands in the command.
        self.all_words = [word for word in words if word is not self.text]
        if self.text is not None:
            self._read_text(self.text)

    def _read_text(self, text: Word) -> None:
        """The last command that starts a program of interest, or else the last one."""
        walk = Walk(Source(text.chars), self.outer.state.copy(), self.outer.line, self.outer.within)
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
        if self.inner is not None:
            self.all_words += [word for each in walk.commands for word in each.words]
