"""A batch script: its commands with --distgpu, and without what only set up their ranks."""

import re
from collections import Counter
from dataclasses import dataclass, field

from tree_sitter import Node

from distgpu_convert.accounts import Context
from distgpu_convert.harmless import RANKS, first_reader, only_prints_within, reads_nothing
from distgpu_convert.launch import Launch
from distgpu_convert.shell import Source, State, line_of, nodes_of
from distgpu_convert.slurm import TABLES, decides_variable, read_job
from distgpu_convert.start import LAUNCHERS
from distgpu_convert.text import Edit, changed
from distgpu_convert.walk import Command, Walk, names_set

NAMES = [re.escape(name.replace("python -m ", "")) for name in LAUNCHERS]
MENTIONED = re.compile(rf"(?<![\w/.-])(?:\S*/)?({'|'.join(NAMES)})(?![\w.-])")
SETS = ("variable_assignment", "variable_assignments", "declaration_command")
NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass
class Conversion:
    script: str = ""  # the new one; empty: the training stays as it is
    notes: list[tuple[int, str]] = field(default_factory=list)  # by line; 0: of the whole


def named_framework(script: str) -> str:
    """The mode of the framework that a script names anywhere, also in a comment."""
    for word, mode in TABLES["frameworks"].items():
        if re.search(f"(?<![a-z]){word}(?![a-z])", script.lower()):
            return str(mode)
    return "pytorch"


class Script:
    def __init__(self, script: str) -> None:
        self.script = script
        self.source = Source(script)
        self.code = self.source.code()
        self.job, self.notes = read_job(script)
        self.launches: list[Launch] = []
        self.reader = 0  # the line of a command that stays and may read what is exported

    def convert(self) -> Conversion:
        if self.job.line.has("distgpu"):
            return Conversion(notes=[(0, "it has #SBATCH --distgpu already")])
        if self.source.unclear is not None:
            note = "what stands here is not understood"
            return Conversion(notes=[(line_of(self.source.unclear), note)])
        walk = Walk(self.source, State())
        self.calls, commands = walk.calls, walk.commands
        self._convert_launches(commands)
        self.edits = [edit for launch in self.launches for edit in launch.edits]
        self.notes += [(each.outer.line, note) for each in self.launches for note in each.notes]
        if self.edits:
            self._remove_assignments(commands)
        text = changed(self.script, self.edits) if self.edits else ""
        return Conversion(text, sorted(dict.fromkeys(self.notes), key=lambda note: note[0]))

    # The commands

    def _convert_launches(self, commands: list[Command]) -> None:
        nodes = nodes_of(self.source.root, "variable_assignment")
        sets_ranks = any(name in RANKS for node in nodes for name in names_set(self.source, node))
        context = Context(self.script, self.job, named_framework(self.script), sets_ranks)
        found: dict[int, Launch] = {}  # by place: a function's may be started several times
        for command in commands:
            launch = Launch(context, command)
            first = found.setdefault(command.node.start_byte, launch)
            if not launch.convert():
                self._note_unclear(command, context)
            if launch.edits != first.edits:
                first.leave("its function is called in several ways")
            elif launch is not first:
                first.notes += launch.notes
                first.chosen |= launch.chosen
        self.launches = [each for each in found.values() if each.spec or each.notes]
        while any(self._shares_variable(launch) for launch in self.launches):
            pass

    def _shares_variable(self, launch: Launch) -> bool:
        """What a variable holds may change only if all that use it want the same; else it is left."""
        for edit in (each for each in launch.edits if each.holder):
            wanted = sum(edit in other.edits for other in self.launches)
            # Those that are only printed do not count.
            code = re.sub(r"(?m)^\s*(echo|printf)\b[^|\n]*$", "", self.code)
            if len(re.findall(r"\$\{?#?" + edit.holder + r"\b", code)) > wanted:
                launch.leave(f"${edit.holder} is used elsewhere too")
                return True
        return False

    def _note_unclear(self, command: Command, context: Context) -> None:
        text, words = command.text, [word.text for word in command.words]
        if re.match(r"(echo|printf|module|pip|which)\b", text) or "--distgpu" in text:
            return
        mentioned = MENTIONED.search(text)
        if mentioned:
            note = f"{mentioned[1]} is not started in a way that is understood"
            self.notes.append((command.line, f"{note}; the command stays as it is"))
        elif context.sets_ranks and "srun" in words and not reads_nothing(words):
            key = f"--distgpu={context.framework}"
            note = f"what it starts is not known; if that trains, give srun {key}"
            self.notes.append((command.line, note))

    # What is of no use any more

    def _remove_assignments(self, commands: list[Command]) -> None:
        self.specs = [launch.spec for launch in self.launches if launch.spec]
        self.chosen = set().union(*(launch.chosen for launch in self.launches))
        converted = {launch.outer.node.start_byte for launch in self.launches if launch.spec}
        converted |= self.calls  # what the function starts stands in the script too
        self.reader = first_reader(self.source, self.code, converted)
        allexport = any(re.match(r"set .*(-[a-z]*a|allexport)\b", each.text) for each in commands)
        self.counts = Counter(NAME.findall(self.code))
        found = nodes_of(self.source.root, *SETS)
        nodes = [n for n in found if n.parent is None or n.parent.type not in (*SETS, "command")]
        reasons = [self._why_kept(node, allexport) for node in nodes]
        candidates = [node for node, reason in zip(nodes, reasons) if not reason]
        gone: list[Node] = []
        while going := self._unused(candidates):
            for node in going:
                end = (self.script + "\n").find("\n", node.end_byte)
                self.edits.append(Edit(node.start_byte, end, ""))
            gone += going
            candidates = [node for node in candidates if node not in going]
        used = ", because the script still uses it"
        for node, reason in zip(nodes, reasons):
            names = [] if node in gone else names_set(self.source, node)
            stays = [f"{name} stays{reason or used}" for name in names if name in RANKS]
            self.notes += [(line_of(node), note) for note in stays]

    def _unused(self, candidates: list[Node]) -> list[Node]:
        """Those of whose names none stands in what is left, other than where it is set."""
        left = Counter(NAME.findall(changed(self.code, self.edits)))
        for node in candidates:
            own = Counter(NAME.findall(self._code_of(node)))
            left.subtract({name: own[name] for name in names_set(self.source, node)})
        return [n for n in candidates if not any(left[x] > 0 for x in names_set(self.source, n))]

    def _code_of(self, node: Node) -> str:
        return self.code[node.start_byte : node.end_byte]

    def _why_kept(self, node: Node, allexport: bool) -> str:
        """Why an assignment stays; nothing: it goes with the last use of what it sets."""
        names, text = names_set(self.source, node), self._code_of(node)
        exports = allexport or bool(re.match(r"export\b|declare\s+-\w*x", text))
        for spec in self.specs:
            if not all(decides_variable(spec, name) for name in RANKS.intersection(names)):
                return f"; --distgpu={spec} does not set it"
        if not only_prints_within(self.source, node):
            return ", because the command that computes it may do more than print"
        if exports and self.reader:
            return f", because what line {self.reader} starts may read it"
        if self.chosen.intersection(names):
            return ", because it is the script's own choice, which distgpu follows"
        # From its first line to its last, and nothing else stands there or is set.
        begin = self.code.rfind("\n", 0, node.start_byte) + 1
        rest = self.code[node.end_byte :].split("\n", 1)[0]
        is_alone = not self.code[begin : node.start_byte].strip() and not rest.strip(" \t;")
        own, others = Counter(NAME.findall(text)), set(names) - RANKS
        sets_more = not names or any(exports or self.counts[x] <= own[x] for x in others)
        if sets_more or not is_alone or node.parent is None or node.parent.type != "program":
            return ", because its command is part of another, or sets more"
        return ""


def convert_script(script: str) -> Conversion:
    return Script(script).convert()
