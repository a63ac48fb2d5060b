"""The rule of accounting: every word that a command loses is computed by distgpu, moved into a key
of --distgpu, or told. A word that is none of these leaves the command as it is."""

import re
import shlex
from dataclasses import dataclass, field
from typing import Optional

from distgpu_convert.slurm import TABLES, Job, first_host, number
from distgpu_convert.start import Started
from distgpu_convert.text import Word

NAMES = {kind: set(names.split()) for kind, names in TABLES["variables"].items()}
LOCAL = {"localhost", "127.0.0.1", "0.0.0.0", "::1"}
HOST = r"[\w.-]+|\$\w+"


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
class Account:
    """What becomes of a command's options."""

    script: str
    step: Job
    started: Started
    one_node: bool = False
    chosen_gpus: bool = False  # by a variable such as CUDA_VISIBLE_DEVICES
    keys: list[str] = field(default_factory=list)  # of --distgpu
    notes: list[str] = field(default_factory=list)

    def loses(self, part: str, word: Word) -> bool:
        """Whether the option goes; what it says is accounted for."""
        rule = getattr(self, "_" + part.replace(" ", "_"), None)
        return rule is None or rule(word) is not False

    def written(self, word: Word) -> str:
        """As it can stand among srun's words, where it means the same."""
        spot = word.spot(self.started.all_words)
        written = self.script[spot.begin : spot.end] if spot else ""
        if spot is not None and not spot.holder and self.started.inner is None:
            return written
        if word.value() is not None and shlex.quote(word.text) == word.text:
            return word.text
        # From a variable's value, or from the text behind bash -c.
        match = re.fullmatch(r"\\?\$\{?(\w+)\}?", written)
        if match is not None:
            value = self.started.outer.state.values.get(match[1])
            means = [(char.text, char.symbol) for char in word.chars]
            is_same = isinstance(value, list) and [(c.text, c.symbol) for c in value] == means
            if is_same or (value is None and variable(word) == match[1]):
                return f"${match[1]}"
        raise Left(f"where {word.shown()} is computed, it cannot be given to srun")

    def count_of_nodes(self, word: Word) -> Optional[int]:
        """How many the launcher is told; nothing: as many as the step has."""
        refuse_several(word)
        least, *most = word.split(":")
        if most and least.text != most[0].text:
            raise Left("a range of nodes is for elastic training")
        count, symbol, steps = number(least.value()), least.symbol, self.step.nodes
        if count is None:
            if symbol is None or symbol.kind not in ("nodes", "env"):
                raise Left(f"how many nodes {word.text} are is not known")
            if symbol.kind == "env" and symbol.name not in NAMES["nodes"]:
                self.notes.append(f"it was told {symbol.source} nodes; now it has the job's")
        elif count > 1 and steps is None:
            note = "nodes; now it has the job's, which the script does not name"
            self.notes.append(f"it was told {count} {note}")
        elif count > 1 and count != steps:
            raise Left(f"it is told {count} nodes, and its step has {steps}")
        return count

    # The parts of tables.json. All others are computed by distgpu.

    def _node_rank(self, word: Word) -> None:
        is_zero = self.one_node and word.text == "0"
        if variable(word) not in NAMES["node ranks"] and "RANK" not in word.text and not is_zero:
            raise Left("the script gives each node its rank, and starts it by itself")
        refuse_several(word)

    def _address(self, word: Word) -> None:
        refuse_several(word)
        first = word.chars[0].symbol if word.chars else None
        literal, rest = word.value(), Word(word.chars[1:])
        unclear = f"the address {word.text} is not the first node's name"
        if first and (first.kind == "first" or variable(Word(word.chars[:1])) in NAMES["here"]):
            if rest.value() is None or not re.fullmatch(r"[\w.-]*", rest.text):
                raise Left(unclear)
            self.keys += ["master=suffix:" + rest.text] if rest.chars else []
        elif literal in LOCAL:
            if not self.one_node and (self.step.nodes or 1) > 1:
                raise Left(f"with the address {literal}, each node waits for itself")
        elif literal is None or literal != first_host(self.step.line.value("nodelist")):
            name = literal or self.written(word).strip('"')
            if not re.fullmatch(HOST, re.sub(r"^\$\{(\w+)\}$", r"$\1", name)):
                raise Left(unclear)
            self.keys.append("master=" + name)

    def _port(self, word: Word) -> None:
        refuse_several(word)
        if variable(word) and not re.match("SLURM|MASTER_PORT|RANDOM", variable(word)):
            self.keys.append("port=" + self.written(word).strip('"'))

    def _endpoint(self, word: Word) -> None:
        address, *port = word.split(":", last=True)
        self._address(address)
        for each in port:
            self._port(each)

    def _processes(self, word: Word) -> bool:
        """The node's GPUs are what the mode starts by itself."""
        count = number(word.value())
        if variable(word) == "SLURM_NTASKS_PER_NODE":
            count = number(self.step.line.value("ntasks-per-node"))
        if count is not None:
            self.keys += [f"nproc={count}"] if count != self.step.gpus else []
            return True
        is_all = variable(word) in NAMES["gpus"] or word.value() in ("gpu", "auto")
        is_all = is_all or (word.symbol is not None and word.symbol.kind == "gpus")
        return is_all and not self.chosen_gpus

    def _backend(self, word: Word) -> None:
        if word.value() not in ("c10d", "static"):
            raise Left(f"the rendezvous {word.text} is not torchrun's own")

    def _conf(self, word: Word) -> bool:
        """is_host goes with the rendezvous; all else stays."""
        text = re.sub(r"\$\(.*\)", "", word.text)
        if "is_host" in text and not re.fullmatch(r"is_host=[^,]*", text):
            raise Left(f"--rdzv-conf {word.text} is more than is_host")
        return "is_host" in text

    def _count(self, word: Word) -> None:
        refuse_several(word)

    def _choice(self, word: Word) -> None:
        raise Left("its options choose the GPUs")

    def _placed(self, word: Word) -> None:
        note = "its mapping and binding are left out: srun and distgpu place the tasks"
        self.notes += [] if note in self.notes else [note]
