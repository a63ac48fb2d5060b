"""The rule of accounting: every word that a command loses is computed by distgpu, moved into a key
of --distgpu, or told. A word that is none of these leaves the command as it is."""

import re
import shlex
from dataclasses import dataclass
from typing import Optional

from distgpu_convert.slurm import TABLES, Job, number
from distgpu_convert.start import Started
from distgpu_convert.text import Edit, Word
from distgpu_convert.walk import Command

NAMES = {kind: set(names.split()) for kind, names in TABLES["variables"].items()}
MUST_BE_KNOWN = {"node rank", "address", "port", "endpoint", "count", "each"}
LOCAL = {"localhost", "127.0.0.1", "0.0.0.0", "::1"}


class Left(Exception):
    """Why a command stays as it is."""


def variable(word: Word) -> str:
    """The name of the variable that is all of it, and that the script does not set."""
    return word.symbol.name if word.symbol and word.symbol.kind == "env" else ""


def refuse_several(word: Word) -> None:
    for symbol in (char.symbol for char in word.chars):
        if symbol and symbol.kind == "differs":
            raise Left(f"{symbol.name} has several values, or may have, from line {symbol.line} on")


@dataclass
class Context:
    """What the rest of the script says of its commands."""

    script: str
    job: Job
    framework: str  # the mode of the one that it names
    sets_ranks: bool  # what shows that plain Python trains


class Account(Started):
    """What becomes of a command's options."""

    def __init__(self, context: Context, outer: Command) -> None:
        super().__init__(outer)
        self.context = context
        self.job = context.job
        self.step = self.job.step(self.srun) if self.srun else self.job
        self.one_node = False
        self.sets = {*outer.state.exported, *outer.prefix}
        self.texts = " ".join(word.text for word in self.all_words)
        visible = NAMES["visible"]
        is_chosen = self.sets & visible or re.search(rf"\b({'|'.join(visible)})=", self.texts)
        self.chosen_gpus = bool(is_chosen)
        self.spec = ""  # of --distgpu
        self.keys: list[str] = []  # in it
        self.moved: dict[str, str] = {}  # NAME=VALUE by name, into the environment of srun
        self.edits: list[Edit] = []  # none: it stays as it is
        self.notes: list[str] = []
        self.chosen: set[str] = set()  # exports that distgpu would compute otherwise

    def keys_of(self, part: str, word: Word) -> Optional[list[str]]:
        """The keys of --distgpu that say what the option says; nothing: it stays.

        What no method is named after, distgpu computes: the parts are those of tables.json.
        """
        if part in MUST_BE_KNOWN:
            refuse_several(word)
        pattern, reason = TABLES["only if"].get(part, (".*", ""))
        if not re.fullmatch(pattern, word.text, re.DOTALL):
            raise Left(reason.format(word.text))
        self.notes += [TABLES["told"][part]] if part in TABLES["told"] else []
        rule = getattr(self, "_" + part.replace(" ", "_"), None)
        keys: Optional[list[str]] = rule(word) if rule else []
        return keys

    def written(self, word: Word) -> str:
        """As it can stand among srun's words, where it means the same."""
        spot = word.spot(self.all_words)
        written = self.context.script[spot.begin : spot.end] if spot else ""
        if spot is not None and not spot.holder and self.inner is None:
            return written
        if word.value() is not None and shlex.quote(word.text) == word.text:
            return word.text
        # From a variable's value, or from the text behind bash -c.
        name = re.sub(r"^\\?\$\{?(\w+)\}?$", r"\1", written)
        value, means = self.outer.state.values.get(name), [c[::2] for c in word.chars]
        is_same = isinstance(value, list) and [c[::2] for c in value] == means  # text and symbol
        if is_same or (value is None and variable(word) == name):
            return f"${name}"
        raise Left(f"where {word.text} is computed, it cannot be given to srun")

    def count_of_nodes(self, word: Word) -> Optional[int]:
        """How many the launcher is told; nothing: as many as the step has."""
        refuse_several(word)
        count, symbol, steps = number(word.value()), word.symbol, self.step.nodes
        if count is None and (symbol is None or symbol.kind not in ("nodes", "env")):
            raise Left(f"how many nodes {word.text} are is not known")
        if count not in (None, 1, steps) and steps is not None:
            raise Left(f"it is told {count} nodes, and its step has {steps}")
        is_jobs = symbol is not None and (symbol.kind == "nodes" or symbol.name in NAMES["nodes"])
        if count not in (1, steps) and not is_jobs:
            self.notes.append(f"it was told {word.text} nodes; now it has the job's")
        return count

    # The parts of tables.json

    def _node_rank(self, word: Word) -> list[str]:
        is_zero = self.one_node and word.text == "0"
        if variable(word) not in NAMES["node ranks"] and "RANK" not in word.text and not is_zero:
            raise Left("the script gives each node its rank, and starts it by itself")
        return []

    def _address(self, word: Word) -> list[str]:
        """The first node's, also with a network's suffix; or any other host."""
        first, rest, literal = Word(word.chars[:1]), Word(word.chars[1:]), word.value()
        is_first = first.symbol is not None and first.symbol.kind == "first"
        if is_first or variable(first) in NAMES["here"]:
            if rest.value() is not None and re.fullmatch(r"[\w.-]*", rest.text):
                return ["master=suffix:" + rest.text] if rest.text else []
        elif literal in LOCAL:
            if self.one_node or self.step.has_one_node:
                return []
            raise Left(f"with the address {literal}, each node waits for itself")
        else:
            name = literal or self.written(word).strip('"')
            if re.fullmatch(r"[\w.-]+|\$\w+|\$\{\w+\}", name):
                return ["master=" + name]
        raise Left(f"the address {word.text} is not the first node's name")

    def _port(self, word: Word) -> list[str]:
        """One that the script does not compute is a choice of who submits it."""
        if variable(word) and not re.match("SLURM|MASTER_PORT|RANDOM", variable(word)):
            return ["port=" + self.written(word).strip('"')]
        return []

    def _endpoint(self, word: Word) -> list[str]:
        address, *port = word.split(":")
        return self._address(address) + [key for each in port for key in self._port(each)]

    def _processes(self, word: Word) -> Optional[list[str]]:
        """The node's GPUs are what the mode starts by itself."""
        count = number(word.value())
        if variable(word) == "SLURM_NTASKS_PER_NODE":
            count = number(self.step.line.value("ntasks-per-node"))
        if count is not None:
            return [f"nproc={count}"] if count != self.step.gpus else []
        is_all = variable(word) in NAMES["gpus"] or word.value() in ("gpu", "auto")
        is_all = is_all or (word.symbol is not None and word.symbol.kind == "gpus")
        return [] if is_all and not self.chosen_gpus else None

    def _machines(self, word: Word) -> None:
        if not re.search("machine.rank|c10d", self.texts):
            raise Left("its machines get no number, or no --machine_rank")

    def _machine(self, word: Word) -> None:
        if self.inner is None or not word.symbol:
            note = "the batch script's shell computes it; write it within bash -c '...'"
            raise Left(f"each node gets the same --machine_rank: {note}")
