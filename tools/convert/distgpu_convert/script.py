"""A batch script: its commands with --distgpu, and without what only set up their ranks."""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from tree_sitter import Node

from distgpu_convert.harmless import RANKS, first_reader, only_prints_within, reads_nothing
from distgpu_convert.launch import Context, Launch, convert_launch
from distgpu_convert.shell import Source, State, line_of, nodes_of
from distgpu_convert.slurm import TABLES, decides_variable, read_job
from distgpu_convert.text import Edit, Overlap, changed
from distgpu_convert.walk import Command, Walk, names_set

MENTIONED = [name.replace("python -m ", "") for t in TABLES["launchers"] for name in t["commands"]]
SETS = ("variable_assignment", "variable_assignments", "declaration_command")
NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass
class Conversion:
    script: str = ""  # the new one; empty: the training stays as it is
    notes: list[tuple[int, str]] = field(default_factory=list)  # by line; 0: of the whole


class Assignment(NamedTuple):
    """A line of its own that sets variables, and may go."""

    node: Node
    names: list[str]
    own: dict[str, int]  # how often each name stands in it


def named_framework(script: str) -> str:
    """The mode of the framework that a script names anywhere, also in a comment."""
    for word, mode in TABLES["frameworks"].items():
        if re.search(f"(?<![a-z]){word}(?![a-z])", script.lower()):
            return str(mode)
    return "pytorch"


class Script:
    def __init__(self, script: str) -> None:
        self.script = self.code = script
        self.source = Source(script)
        for each in nodes_of(self.source.root, "comment"):  # blanks, so that places are the same
            begin, end = each.start_byte, each.end_byte
            blanks = re.sub(".", " ", script[begin:end])
            self.code = self.code[:begin] + blanks + self.code[end:]
        self.job, self.notes = read_job(script)
        self.launches: list[Launch] = []
        self.reader = 0  # the line of a command that stays and may read what is exported

    def convert(self) -> Conversion:
        if self.job.line.has("distgpu"):
            return Conversion(notes=[(0, "it has #SBATCH --distgpu already")])
        if self.source.unclear is not None:
            note = "what stands here is not understood"
            return Conversion(notes=[(line_of(self.source.unclear), note)])
        commands = Walk(self.source, State()).commands
        self._convert_launches(commands)
        self.edits = [edit for launch in self.launches for edit in launch.edits]
        self.notes += [(each.command.line, note) for each in self.launches for note in each.notes]
        text = ""
        try:
            if self.edits:
                self._remove_assignments(commands)
                text = changed(self.script, self.edits)
        except Overlap:
            self.notes.append((0, "its commands are written into each other; it stays as it is"))
        return Conversion(text, sorted(dict.fromkeys(self.notes), key=lambda note: note[0]))

    # The commands

    def _convert_launches(self, commands: list[Command]) -> None:
        nodes = nodes_of(self.source.root, "variable_assignment")
        sets_ranks = any(name in RANKS for node in nodes for name in names_set(self.source, node))
        context = Context(self.script, self.job, named_framework(self.script), sets_ranks)
        found: dict[tuple[int, int], Launch] = {}
        for command in commands:
            launch = convert_launch(context, command)
            place = (command.node.start_byte, command.line * (command.source is not self.source))
            if launch is None:
                self._note_unclear(command, context)
            elif launch.edits != found.setdefault(place, launch).edits:
                note = "it is started in several ways; the command stays as it is"
                found[place] = Launch(command, notes=[note])
        self.launches = list(found.values())
        while any(self._shares_variable(launch) for launch in self.launches):
            pass

    def _shares_variable(self, launch: Launch) -> bool:
        """What a variable holds may change only if all that use it want the same; else it is left."""
        for edit in (each for each in launch.edits if each.holder):
            wanted = sum(edit in other.edits for other in self.launches)
            # Those that are only printed do not count.
            code = re.sub(r"(?m)^\s*(echo|printf)\b[^|\n]*$", "", self.code)
            if len(re.findall(r"\$\{?#?" + edit.holder + r"\b", code)) > wanted:
                launch.edits, launch.spec = [], ""
                launch.notes = [f"${edit.holder} is used elsewhere too; the command stays as it is"]
                return True
        return False

    def _note_unclear(self, command: Command, context: Context) -> None:
        text, words = command.text, [word.text for word in command.words]
        if re.match(r"(echo|printf|module|pip|which|eval)\b", text) or "--distgpu" in text:
            return
        note = ""
        for launcher in MENTIONED:
            if re.search(r"(?<![\w/.-])(\S*/)?" + re.escape(launcher) + r"(?![\w.-])", text):
                note = f"{launcher} is not started in a way that is understood; the command stays as it is"
                break
        if not note and context.sets_ranks and "srun" in words and not reads_nothing(words):
            key = f"--distgpu={context.framework}"
            note = f"what it starts is not known; if that trains, give srun {key}"
        self.notes += [(command.line, note)] if note else []

    # What is of no use any more

    def _remove_assignments(self, commands: list[Command]) -> None:
        self.specs = [launch.spec for launch in self.launches if launch.spec]
        self.chosen = set().union(*(launch.chosen for launch in self.launches))
        converted = {launch.command.node.start_byte for launch in self.launches if launch.spec}
        self.reader = first_reader(self.source, self.code, converted)
        allexport = any(re.match(r"set .*(-[a-z]*a|allexport)\b", each.text) for each in commands)
        candidates = self._candidates(allexport)
        gone: set[int] = set()
        while True:
            # How often each name stands in what is left, other than where it is set.
            left = Counter(NAME.findall(changed(self.code, self.edits)))
            for each in candidates:
                left.subtract({name: each.own[name] for name in each.names})
            going = [each for each in candidates if not any(left[name] > 0 for name in each.names)]
            if not going:
                break
            for each in going:
                candidates.remove(each)
                gone.add(each.node.start_byte)
                end = (self.script + "\n").find("\n", each.node.end_byte)
                self.edits.append(Edit(each.node.start_byte, end, ""))
        for node in nodes_of(self.source.root, *SETS):
            is_part = node.parent is not None and node.parent.type in (*SETS, "command")
            for name in names_set(self.source, node):
                if name in RANKS and node.start_byte not in gone and not is_part:
                    note = f"{name} stays{self._why_kept(name, node, left)}"
                    self.notes.append((line_of(node), note))

    def _candidates(self, allexport: bool) -> list[Assignment]:
        counts = Counter(NAME.findall(self.code))
        found = []
        for node in self.source.root.named_children:
            # From its first line to its last, and nothing else stands there.
            begin = self.code.rfind("\n", 0, node.start_byte) + 1
            rest = self.code[node.end_byte :].split("\n", 1)[0]
            is_alone = not self.code[begin : node.start_byte].strip() and not rest.strip(" \t;")
            if node.type not in SETS or not is_alone:
                continue
            text = self.code[node.start_byte : node.end_byte]
            names, own = names_set(self.source, node), Counter(NAME.findall(text))
            exports = allexport or bool(re.match(r"export\b|declare\s+-\w*x", text))
            if not names or not only_prints_within(self.source, node) or (exports and self.reader):
                continue
            if all(
                self._may_go(name) if name in RANKS else not exports and counts[name] > own[name]
                for name in names
            ):
                found.append(Assignment(node, names, own))
        return found

    def _may_go(self, name: str) -> bool:
        return name not in self.chosen and all(decides_variable(spec, name) for spec in self.specs)

    def _why_kept(self, name: str, node: Node, left: dict[str, int]) -> str:
        for spec in self.specs:
            if not decides_variable(spec, name):
                return f"; --distgpu={spec} does not set it"
        if not only_prints_within(self.source, node):
            more = "because the command that computes it may do more than print"
            return f", {more}; distgpu sets it in each task"
        if self.reader:
            return f", because what line {self.reader} starts may read it"
        if name in self.chosen:
            return ", because it is the script's own choice, which distgpu follows"
        if left[name] <= 0:
            return ", because its command is part of another"
        return ", because the script still uses it; distgpu sets it in each task"


def convert_script(script: str) -> Conversion:
    return Script(script).convert()
