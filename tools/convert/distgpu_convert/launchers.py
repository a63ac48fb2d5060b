"""The launchers of tables.json: how each is started, and which of its options go."""

import json
import pathlib
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence

from distgpu_convert.text import Word

TABLES: Dict[str, Any] = json.loads(pathlib.Path(__file__).with_name("tables.json").read_text())


@dataclass
class Option:
    name: str  # "--rdzv-backend" of "--rdzv_backend=c10d"
    part: str  # what it says, as in the table; "flag", "kept"
    words: List[Word]  # that go with it
    value: Optional[Word] = None


@dataclass
class Call:
    """A command line of a launcher."""

    mode: str
    kind: str
    words: List[Word]  # from the launcher on
    module: int = 0  # the place of python's -m MODULE
    program: int = 0  # the first word behind the options
    options: List[Option] = field(default_factory=list)
    unclear: Optional[Word] = None  # it may hold options

    @property
    def name(self) -> str:
        return self.words[0].text

    def value(self, *parts: str) -> Optional[Word]:
        values = [each.value for each in self.options if each.part in parts]
        return values[-1] if values else None

    def text_of(self, name: str) -> str:
        """The option's value, if the launcher keeps it."""
        for option, following in zip(self.words, self.words[1:]):
            if long_name(option) == name:
                return option.text.partition("=")[2] or following.text
        return ""

    def has(self, name: str) -> bool:
        return any(each.name == name for each in self.options)


def base_name(word: Word) -> str:
    return word.text.rsplit("/", 1)[-1]


def starts_python(word: Word) -> bool:
    name = base_name(word)
    return name.startswith("python") or (word.may_split() and "python" in name.lower())


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


def _read_options(at: int, call: Call, table: Dict[str, Any]) -> None:
    parts = {name: part for part, names in table["parts"].items() for name in names.split()}
    words = call.words
    while at < len(words):
        word = words[at]
        following = words[at + 1] if at + 1 < len(words) else None
        if word.may_split() and not word.text.startswith("-"):
            names = {long_name(each) for each in words[at + 1 :]}
            is_program_next = following is not None and is_program(following)
            if is_program_next or names & {*parts, *table["flags"].split()}:
                call.unclear = word
            break
        if not word.text.startswith("-") or word.text == "-":
            break
        name, value = word.text.partition("=")[0], word.behind("=")
        name = long_name(word) or name
        part = "flag" if name in table["flags"].split() else parts.get(name, "kept")
        option = Option(name, part, [word], value)
        call.options.append(option)
        at += 1
        if part == "flag" or value is not None or following is None:
            continue
        if part == "kept":
            # Which of these has a value only shows where the script follows.
            is_value = not following.text.startswith("-") and not is_program(following)
            at += name not in table["kept"].split() and at + 1 < len(words) and is_value
            continue
        option.value = following
        length = 2 if part == "parameter" else 1
        option.words += words[at : at + length]
        at += length
    call.program = min(at, len(words))


def is_program(word: Word) -> bool:
    return word.text[:2] == "-m" or word.text.endswith((".py", ".sh"))


def long_name(word: Word) -> str:
    """--rdzv-backend of --rdzv_backend=c10d; empty: no such option."""
    name = word.text.partition("=")[0]
    return name.replace("_", "-") if name.startswith("--") else ""
