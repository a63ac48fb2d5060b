"""A batch script: its commands with --distgpu, and without what only set up their ranks."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tree_sitter import Node

from distgpu_convert.launch import RANKS, Context, Launch
from distgpu_convert.shell import Expansion, Source, State, line_of, nodes_of, parts_of
from distgpu_convert.slurm import TABLES, effect_on, line_of_words, read_job
from distgpu_convert.start import LAUNCHERS, NEEDS_NO_RANK, PRINTS, STARTS_NOTHING, is_one_of
from distgpu_convert.text import Edit, changed
from distgpu_convert.walk import NAME, Command, Walk, names_set

NAMES = [re.escape(name.replace("python -m ", "")) for name in LAUNCHERS]
MENTIONED = re.compile(rf"(?<![\w/.-])(?:\S*/)?({'|'.join(NAMES)})(?![\w.-])")
SETS = ("variable_assignment", "variable_assignments", "declaration_command")
STARTS_ANOTHER = ("multi-prog", "prolog", "epilog", "task-prolog", "task-epilog")
# Anywhere in a script: what processes know; programs that others start; variables by their names; a
# function that only has the name of a program.
READS_ALL = re.compile(
    rf"{TABLES['reads all']}|\b({'|'.join(PRINTS | STARTS_NOTHING - {'[', '.', ':'})}) *\( *\)",
    re.MULTILINE,
)


class Conversion(NamedTuple):
    script: str  # the new one; empty: the training stays as it is
    notes: list[tuple[int, str]]  # by line; 0: of the whole


def named_framework(script: str) -> str:
    """The mode of the framework that a script names anywhere, also in a comment."""
    for word, mode in TABLES["frameworks"].items():
        if re.search(f"(?<![a-z]){word}(?![a-z])", script.lower()):
            return str(mode)
    return "pytorch"


def words_of(source: Source, node: Node) -> list[str]:
    expansion = Expansion(source, State())
    return [word.text for part in parts_of(node) for word in expansion.words(part)]


def started(words: Sequence[str], *options: str) -> Sequence[str]:
    """The program, also srun's; nothing: it is not certain, or such an option of srun does more."""
    if words[:1] != ["srun"]:
        return words
    line = line_of_words(tuple(words))
    is_certain = ":" not in words and all(each.certain for each in line.options)
    return words[line.program :] if is_certain and not line.has(*STARTS_ANOTHER, *options) else []


def only_prints_within(source: Source, node: Node) -> bool:
    """Whether all that $(...) in it run only print."""
    quiet = ("2>/dev/null", "2> /dev/null", "2>&1")
    commands = [words_of(source, each) for each in nodes_of(node, "command")]
    return (
        all(source.of(each) in quiet for each in nodes_of(node, "file_redirect"))
        and not any(nodes_of(node, "process_substitution"))
        and all(is_one_of(PRINTS, started(each, "output", "error")) for each in commands)
    )


def reads_nothing(words: Sequence[str]) -> bool:
    """Whether it reads no variable of the ranks. What is not known may read them all."""
    if words[:1] == ["srun"]:
        program = started(words)
        has_mode = any(word.startswith("--distgpu=") for word in words)
        return bool(program) and (has_mode or is_one_of(NEEDS_NO_RANK, program))
    # A number: of $((1 + 2)) in a here-document, to the parser.
    return not words or words[0].isdigit() or is_one_of(PRINTS | STARTS_NOTHING, words)


class Script:
    def __init__(self, script: str) -> None:
        self.script = script
        self.source = Source(script)
        self.code = self.source.code()
        self.job, self.notes = read_job(script)
        self.launches: list[Launch] = []

    def convert(self) -> Conversion:
        if self.job.line.has("distgpu"):
            return Conversion("", [(0, "it has #SBATCH --distgpu already")])
        if self.source.unclear is not None:
            note = "what stands here is not understood"
            return Conversion("", [(line_of(self.source.unclear), note)])
        commands = Walk(self.source, State()).commands
        self._convert_launches(commands)
        self.edits = [edit for launch in self.launches for edit in launch.edits]
        self.notes += [(each.outer.line, note) for each in self.launches for note in each.notes]
        if self.edits:
            self._remove_assignments(commands)
        text = changed(self.script, self.edits) if self.edits else ""
        return Conversion(text, sorted(dict.fromkeys(self.notes), key=lambda note: note[0]))

    def _convert_launches(self, commands: list[Command]) -> None:
        nodes = nodes_of(self.source.root, "variable_assignment")
        sets_ranks = any(name in RANKS for node in nodes for name in names_set(self.source, node))
        context = Context(self.script, self.job, named_framework(self.script), sets_ranks)
        for command in commands:
            launch = Launch(context, command)
            if not launch.convert():
                self._note_unclear(command, context)
            self.launches += [launch] if launch.spec or launch.notes else []
        self._leave_shared()

    def _leave_shared(self) -> None:
        """What a variable holds may change only if all that use it want the same."""
        # Those that are only printed do not count.
        code = re.sub(r"(?m)^\s*(echo|printf)\b[^|\n]*$", "", self.code)
        for launch in self.launches:
            for edit in (each for each in launch.edits if each.holder):
                wanted = sum(edit in other.edits for other in self.launches)
                if len(re.findall(r"\$\{?#?" + edit.holder + r"\b", code)) > wanted:
                    launch.leave(f"${edit.holder} is used elsewhere too")
                    return self._leave_shared()

    def _note_unclear(self, command: Command, context: Context) -> None:
        text, words = command.text, [word.text for word in command.words]
        if re.match(r"(echo|printf|module|pip|which)\b", text) or "--distgpu" in text:
            return
        if mentioned := MENTIONED.search(text):
            note = f"{mentioned[1]} is not started in a way that is understood"
            self.notes.append((command.line, f"{note}; the command stays as it is"))
        elif context.sets_ranks and "srun" in words and not reads_nothing(words):
            key = f"--distgpu={context.framework}"
            note = f"what it starts is not known; if that trains, give srun {key}"
            self.notes.append((command.line, note))

    def _remove_assignments(self, commands: list[Command]) -> None:
        """Those that are of no use any more."""
        self.specs = [launch.spec for launch in self.launches if launch.spec]
        self.chosen = set().union(*(launch.chosen for launch in self.launches))
        converted = {launch.outer.node.start_byte for launch in self.launches if launch.spec}
        self.reader = self._first_reader(converted)
        allexport = any(re.match(r"set .*(-[a-z]*a|allexport)\b", each.text) for each in commands)
        self.counts = Counter(NAME.findall(self.code))
        found = nodes_of(self.source.root, *SETS)
        parts = (*SETS, "command")
        nodes = [each for each in found if not each.parent or each.parent.type not in parts]
        reasons = [self._why_kept(node, allexport) for node in nodes]
        kept = {edit.begin for edit in self.edits if edit.text}
        gone = [node for node, reason in zip(nodes, reasons) if not reason]
        gone = [each for each in gone if not kept.intersection(range(*each.byte_range))]
        still_used, edits = gone, self.edits
        while still_used:  # by what stays
            ends = [(self.code + "\n").find("\n", each.end_byte) for each in gone]
            edits = self.edits + [Edit(node.start_byte, end, "") for node, end in zip(gone, ends)]
            left = set(NAME.findall(changed(self.code, edits)))
            still_used = [each for each in gone if left.intersection(names_set(self.source, each))]
            gone = [each for each in gone if each not in still_used]
        self.edits = edits
        used = ", because the script still uses it"
        for node, reason in zip(nodes, reasons):
            names = [] if node in gone else names_set(self.source, node)
            stays = [f"{name} stays{reason or used}" for name in names if name in RANKS]
            self.notes += [(line_of(node), note) for note in stays]

    def _first_reader(self, converted: set[int]) -> int:
        """The first line of what stays and may read exported variables; 0: nothing does."""
        found = READS_ALL.finditer(self.code)
        lines = [self.code.count("\n", 0, match.end() - 1) + 1 for match in found]
        for node in nodes_of(self.source.root, "command"):
            if node.start_byte not in converted and not reads_nothing(words_of(self.source, node)):
                lines.append(line_of(node))
        return min(lines, default=0)

    def _why_kept(self, node: Node, allexport: bool) -> str:
        """Why an assignment stays; nothing: it goes with the last use of what it sets."""
        names, text = names_set(self.source, node), self.code[node.start_byte : node.end_byte]
        exports = allexport or bool(re.match(r"export\b|declare\s+-\w*x", text))
        for spec in self.specs:
            if not all(effect_on(name, spec) for name in RANKS.intersection(names)):
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
        sets_more = not names or any(exports or self.counts[name] <= own[name] for name in others)
        if sets_more or not is_alone or node.parent is None or node.parent.type != "program":
            return ", because its command is part of another, or sets more"
        return ""


def convert_script(script: str) -> Conversion:
    return Script(script).convert()
