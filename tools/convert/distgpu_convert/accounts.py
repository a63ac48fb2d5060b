"""The rule of accounting: every word that a command loses is computed by distgpu, moved into a key
of --distgpu, or told. A word that is none of these leaves the command as it is."""

import re
import shlex
from dataclasses import dataclass, field
from typing import List, Optional

from distgpu_convert.slurm import Job, first_host, number
from distgpu_convert.start import Started
from distgpu_convert.text import Symbol, Text, Word

NODES = {"SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_NTASKS", "SLURM_NPROCS"}
NODE_RANKS = {"SLURM_NODEID", "SLURM_PROCID", "NODE_RANK", "RANK", "GROUP_RANK"}
GPUS = {"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"}
HERE = {"HOSTNAME", "SLURMD_NODENAME", "SLURM_LAUNCH_NODE_IPADDR", "MASTER_ADDR"}
LOCAL = {"localhost", "127.0.0.1", "0.0.0.0", "::1"}


class Left(Exception):
    """Why a command stays as it is."""


def only_symbol(text: Text) -> Optional[Symbol]:
    """Of a text that is nothing else."""
    return text[0].symbol if len(text) == 1 else None


def variable(text: Text) -> str:
    """The name of the variable that is all of it, and that the script does not set."""
    symbol = only_symbol(text)
    return symbol.name if symbol and symbol.kind == "env" else ""


def refuse_several(text: Text) -> None:
    for symbol in (char.symbol for char in text):
        if symbol and symbol.kind == "differs":
            raise Left(f"{symbol.name} has several values, or may have, from line {symbol.line} on")


def split_last(word: Word, mark: str) -> List[Word]:
    """At the last such character: one word, or two."""
    for at in range(len(word.chars) - 1, -1, -1):
        if word.chars[at].symbol is None and word.chars[at].text == mark:
            parts = word.chars[:at], word.chars[at + 1 :]
            return [Word(part, whole=word.whole) for part in parts]
    return [word]


@dataclass
class Account:
    """What becomes of a command's options."""

    script: str
    step: Job
    started: Started
    one_node: bool = False
    chosen_gpus: bool = False  # by a variable such as CUDA_VISIBLE_DEVICES
    keys: List[str] = field(default_factory=list)  # of --distgpu
    notes: List[str] = field(default_factory=list)

    def loses(self, part: str, word: Word) -> bool:
        """Whether the option goes; what it says is accounted for."""
        judge = getattr(self, "_" + part.replace(" ", "_"), None)
        return True if judge is None else judge(word) is not False

    def written(self, word: Word) -> str:
        """As it can stand among srun's words, where it means the same."""
        spot = word.spot(self.started.all_words)
        in_command = self.started.inner is None and len(word.spots) == 1
        if spot is not None and in_command:
            return self.script[spot.begin : spot.end]
        if word.value() is not None and shlex.quote(word.text) == word.text:
            return word.text
        # From a variable's value, or from the text behind bash -c.
        written = self.script[spot.begin : spot.end] if spot is not None else ""
        match = re.fullmatch(r"\\?\$\{?(\w+)\}?", written)
        if match is not None:
            value = self.started.outer.state.values.get(match[1])
            same = isinstance(value, list) and [(c.text, c.symbol) for c in value] == [
                (c.text, c.symbol) for c in word.chars
            ]
            if same or (value is None and variable(word.chars) == match[1]):
                return f"${match[1]}"
        raise Left(f"where {word.shown()} is computed, it cannot be given to srun")

    def count_of_nodes(self, word: Word) -> Optional[int]:
        """How many the launcher is told; nothing: as many as the step has."""
        halves = split_last(word, ":")
        if len(halves) == 2 and halves[0].text != halves[1].text:
            raise Left("a range of nodes is for elastic training")
        text = halves[0].chars
        refuse_several(text)
        count, symbol = number(halves[0].value() or ""), only_symbol(text)
        if count is None:
            if symbol is None or symbol.kind not in ("nodes", "env"):
                raise Left(f"how many nodes {word.text} are is not known")
            if symbol.kind == "env" and symbol.name not in NODES:
                self.notes.append(f"it was told {symbol.source} nodes; now it has the job's")
        elif count > 1 and self.step.nodes is None:
            note = (
                f"it was told {count} nodes; now it has the job's, which the script does not name"
            )
            self.notes.append(note)
        elif count > 1 and count != self.step.nodes:
            raise Left(f"it is told {count} nodes, and its step has {self.step.nodes}")
        return count

    def _node_rank(self, word: Word) -> None:
        is_zero = self.one_node and word.text == "0"
        if variable(word.chars) not in NODE_RANKS and "RANK" not in word.text and not is_zero:
            raise Left("the script gives each node its rank, and starts it by itself")
        refuse_several(word.chars)

    def _address(self, word: Word) -> None:
        refuse_several(word.chars)
        first = word.chars[0].symbol if word.chars else None
        literal, rest = word.value(), Word(word.chars[1:])
        if first and (first.kind == "first" or first.kind == "env" and first.name in HERE):
            if not re.fullmatch(r"[\w.-]*", rest.value() or "" if rest.chars else ""):
                raise Left(f"the address {word.text} is not the first node's name")
            if rest.chars and rest.value() is None:
                raise Left(f"the address {word.text} is not the first node's name")
            self.keys += ["master=suffix:" + rest.text] if rest.chars else []
        elif literal in LOCAL:
            if not self.one_node and (self.step.nodes or 1) > 1:
                raise Left(f"with the address {literal}, each node waits for itself")
        elif literal is None or literal != first_host(self.step.line.value("nodelist")):
            name = literal or self.written(word).strip('"')
            if not re.fullmatch(r"[\w.-]+|\$\{?\w+\}?", name):
                raise Left(f"the address {word.text} is not the first node's name")
            self.keys.append("master=" + name)

    def _port(self, word: Word) -> None:
        refuse_several(word.chars)
        name = variable(word.chars)
        if name and not re.match("SLURM|MASTER_PORT|RANDOM", name):
            self.keys.append("port=" + self.written(word).strip('"'))

    def _endpoint(self, word: Word) -> None:
        address, *port = split_last(word, ":")
        self._address(address)
        for each in port:
            self._port(each)

    def _processes(self, word: Word) -> bool:
        """The node's GPUs are what the mode starts by itself."""
        count, symbol = number(word.value() or ""), only_symbol(word.chars)
        if variable(word.chars) == "SLURM_NTASKS_PER_NODE":
            count = number(self.step.line.value("ntasks-per-node"))
        if count is not None:
            self.keys += [f"nproc={count}"] if count != self.step.gpus else []
            return True
        if self.chosen_gpus:
            return False
        is_gpus = variable(word.chars) in GPUS or word.value() in ("gpu", "auto")
        return is_gpus or (symbol is not None and symbol.kind == "gpus")

    def _backend(self, word: Word) -> None:
        if word.value() not in ("c10d", "static"):
            raise Left(f"the rendezvous {word.text} is not torchrun's own")

    def _conf(self, word: Word) -> bool:
        """is_host goes with the rendezvous; all else stays."""
        text = re.sub(r"\$\(.*\)", "", word.text)
        if "is_host" in text and not re.fullmatch(r"is_host=[^,]*", text):
            raise Left(f"--rdzv-conf {word.text} is more than is_host")
        return "is_host" in text

    def _choice(self, word: Word) -> None:
        raise Left("its options choose the GPUs")

    def _count(self, word: Word) -> None:
        refuse_several(word.chars)

    def _placed(self, word: Word) -> None:
        note = "its mapping and binding are left out: srun and distgpu place the tasks"
        self.notes += [] if note in self.notes else [note]
