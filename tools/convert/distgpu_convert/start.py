"""What a command starts: srun's step, what wraps the program, and the text behind `bash -c`."""

import re
from dataclasses import dataclass, field
from typing import List, Optional, Sequence

from distgpu_convert.launchers import TABLES, base_name, read_launcher, starts_python
from distgpu_convert.shell import Source
from distgpu_convert.slurm import Line, line_of_words
from distgpu_convert.text import Word
from distgpu_convert.walk import Command, Walk

SHELLS = {"bash", "sh", "zsh", "dash"}
WRAPPERS = TABLES["wrappers"]


@dataclass
class Started:
    """A command and the program that it means in the end."""

    outer: Command
    words: List[Word]  # of the program
    first: int = 0  # the word of the outer command with which what is started begins
    srun: Optional[Line] = None
    step: int = 0  # the outer word with which srun's program begins; else `first`
    text: Optional[Word] = None  # behind bash -c
    inner: Optional[Command] = None  # the one in the text that has the program
    others: List[Command] = field(default_factory=list)  # all else in the text

    @property
    def all_words(self) -> List[Word]:
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
                if not _may_be_options(words, at):
                    break
                at += 1
            elif name == "env" and re.match(r"\w+=", text):
                at += 1
            else:
                break
        at += between
    return min(at, len(words))


def _may_be_options(words: Sequence[Word], at: int) -> bool:
    """Whether a variable holds a container's options: the image itself follows."""
    if at + 2 >= len(words):
        return False
    image = words[at + 1]
    return image.may_split() or bool(re.search(r"\.(sif|simg|img)$|^docker:", image.text))


def read_step(words: Sequence[Word]) -> Line:
    """srun's options; arrays and variables among them may hold more."""
    kept = list(range(len(words)))
    while True:
        line = line_of_words(tuple(words[at].text for at in kept))
        place = kept[line.program] if line.program < len(kept) else len(words)
        if place + 1 >= len(words) or not words[place].may_split():
            return Line(line.options, place)
        following = words[place + 1]
        is_known = base_name(following) in WRAPPERS or base_name(following) in SHELLS
        is_known = is_known or starts_python(following) or following.may_split()
        if not is_known and not following.text.startswith("-"):
            if read_launcher(words[place + 1 :]) is None:
                return Line(line.options, place)
        if len(words[place].chars) > 1 or "python" in words[place].text.lower():
            return Line(line.options, place)
        kept.remove(place)


def shell_text(words: Sequence[Word]) -> Optional[Word]:
    """What stands behind -c."""
    if base_name(words[0]) not in SHELLS:
        return None
    for option, text in zip(words[1:], words[2:]):
        if not option.text.startswith("-"):
            return None
        if re.fullmatch(r"-[a-z]*c", option.text):
            return text
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
    return started if started.text is None else _within(started, started.text)


def _within(started: Started, text: Word) -> Optional[Started]:
    """The program that a text starts, and what it starts besides."""
    outer = started.outer
    walk = Walk(Source(text.chars), outer.state.copy(), outer.line, outer.around)
    if walk.source.unclear is not None or not walk.commands:
        return None
    chosen = None
    for command in reversed(walk.commands):
        program = command.words[pass_wrappers(command.words, 0) :]
        if not program or shell_text(program) is not None:
            continue
        if chosen is None or read_launcher(program) or starts_python(program[0]):
            chosen, started.words = command, program
        if read_launcher(program) or starts_python(program[0]):
            break
    started.inner = chosen
    started.others = [each for each in walk.commands if each is not chosen]
    return started if chosen else None
