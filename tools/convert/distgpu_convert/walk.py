"""Follows a script from its first command to its last, with the values of its variables."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from distgpu_convert.shell import Array, Expansion, Source, State, line_of, nodes_of, parts_of
from distgpu_convert.text import Char, Word

SETTERS = {"eval", "read", "mapfile", "readarray", "getopts", "printf", "let", "unset"}
ARGUMENTS = "123456789"
MOST_COMMANDS = 5000  # of functions that call each other
KNOWN_FILES = re.compile(r"(conda|mamba|lmod|init|modules?)\.sh|activate|\.bashrc|profile|bash$")


@dataclass
class Command:
    """A command that the script may start."""

    words: list[Word]
    prefix: set[str]  # the names of NAME=VALUE before it
    node: Node
    source: Source
    line: int  # in the script
    state: State  # of the variables, when it starts
    within: str  # "background", "function"; else nothing

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)


@dataclass
class Function:
    node: Node
    calls: set[int] = field(default_factory=set)  # their places
    commands: list[Command] = field(default_factory=list)  # that they start


def names_in(text: str) -> list[str]:
    return re.findall(r"\b[A-Za-z_]\w*", text)


def names_set(source: Source, node: Node) -> list[str]:
    """By an assignment, or by export, declare and the like."""
    kinds = {"variable_assignment"}
    kinds |= {"variable_name"} if node.type == "declaration_command" else set()
    found = [each for each in (node, *node.named_children) if each.type in kinds]
    return [re.split(r"\W", source.of(each))[0] for each in found]


def names_set_by(text: str) -> Sequence[str]:
    """By a command of the shell itself, also of a function's arguments."""
    if re.match(r"shift\b|set (?![-+]\w+( pipefail)?$)", text):
        return ARGUMENTS
    return names_in(text) if re.split(r"\s", text)[0] in SETTERS else []


def exported_names(source: Source, node: Node) -> set[str]:
    """All variables that something within a node may export."""
    exports = re.compile(r"export\b(?! -n)|(declare|typeset|local|readonly) -\w*x")
    found = [n for n in nodes_of(node, "declaration_command") if exports.match(source.of(n))]
    return {name for each in found for name in names_set(source, each)}


def assigned_names(source: Source, node: Node) -> set[str]:
    """All variables that something within a node may set."""
    names: set[str] = set()
    for each in nodes_of(node, "variable_assignment", "for_statement", "command"):
        name = each.child_by_field_name("name") or each.child_by_field_name("variable")
        is_command, text = each.type == "command", source.of(each)
        names.update(names_set_by(text) if is_command else names_in(source.of(name))[:1])
    return names


class Walk:
    """The commands of a text, in the order in which they may run."""

    def __init__(self, source: Source, state: State, line: int = 0, within: str = "") -> None:
        self.source = source
        self.state = state
        self.line = line  # of the script, where the text stands; 0: it is the script
        self.within = within
        self.commands: list[Command] = []
        self.functions: dict[str, Function] = {}
        self.set_by_functions: set[str] = set()
        self.calls: set[int] = set()  # of functions of which every call is followed
        self.running: list[str] = []
        self._visit(source.root)
        self._finish_functions()

    def _visit(self, node: Node) -> None:
        visit = getattr(self, "_" + node.type, None)
        if visit is not None:
            visit(node)
        elif node.is_named and node.type not in ("comment", "test_command"):
            self._block(node)

    def _block(self, node: Node) -> None:
        for child in node.named_children:
            following = child.next_sibling
            if following is not None and following.type == "&":
                self._apart([child], "background")
            elif child.type in ("elif_clause", "else_clause", "case_item"):
                self.state.exported.update(self._apart([child]).exported)
            else:
                self._visit(child)

    def _apart(self, nodes: Sequence[Node], within: str = "") -> State:
        """In a shell of its own, or on one way of several; returns the state at its end."""
        before = self.state, self.within
        self.state, self.within = self.state.copy(), max(self.within, within)
        for node in nodes:
            self._visit(node)
        after = self.state
        self.state, self.within = before
        return after

    def _forget(self, names: Iterable[str], node: Node) -> None:
        known = [n for n in names if n not in ARGUMENTS or n in self.state.values]
        self.state.forget(known, self.line or line_of(node))

    def _subshell(self, node: Node) -> None:
        self._apart(node.named_children)

    _pipeline = _subshell

    def _maybe(self, node: Node) -> None:
        """What it may set has several values, in it and behind it. Of a && b, a surely runs."""
        parts = node.named_children[1:] if node.type == "list" else [node]
        names = {name for part in parts for name in assigned_names(self.source, part)}
        started = [each.child_by_field_name("name") for each in nodes_of(node, "command")]
        if any(self.source.of(each) in self.functions for each in started):
            names |= self.set_by_functions
        self._forget(names, node)
        self._block(node)
        self._forget(names, node)

    _list = _if_statement = _case_statement = _maybe
    _for_statement = _while_statement = _c_style_for_statement = _maybe

    def _function_definition(self, node: Node) -> None:
        name = self.source.of(node.child_by_field_name("name"))
        self.set_by_functions |= assigned_names(self.source, node) - set(ARGUMENTS)
        self.state.exported |= exported_names(self.source, node)
        if name in self.functions:
            self._apart(node.named_children, "function")
        else:
            self.functions[name] = Function(node)

    def _call(self, name: str, command: Command) -> None:
        """What the function starts with these arguments; within itself, with any."""
        function, values = self.functions[name], self.state.values
        if len(self.commands) > MOST_COMMANDS:
            raise RecursionError
        if name in self.running:
            if self.within != "function":
                self._apart(function.node.named_children, "function")
            return
        self._forget(command.prefix, command.node)
        self.state.exported |= command.prefix
        outside = {each: values.pop(each) for each in ARGUMENTS if each in values}
        for place, word in zip(ARGUMENTS, command.words[1:]):
            if re.fullmatch(r"[^\s*?[]+", "".join(char.text for char in word.chars)):
                # Without spots: where the call is written nothing is edited.
                values[place] = [Char(c.text, (), c.symbol) for c in word.chars]
            if word.may_split():
                break
        begin = len(self.commands)
        self.running.append(name)
        self._block(function.node)
        self.running.pop()
        function.calls.add(command.node.start_byte)
        function.commands += self.commands[begin:]
        for each in ARGUMENTS:
            values.pop(each, None)
        values.update(outside)

    def _finish_functions(self) -> None:
        """A function may be called where no call is seen: by trap, or by a program."""
        while uncalled := [each for each in self.functions.values() if not each.calls]:
            for function in uncalled:
                function.calls.add(function.node.start_byte)
                self._apart(function.node.named_children, "function")
        code = self.source.code() if self.functions else ""
        for name, function in self.functions.items():
            mentions = re.findall(rf"(?<![\w./$])(?<![^:]-){re.escape(name)}(?![\w./=-])", code)
            if len(mentions) == 1 + len(function.calls):
                self.calls |= function.calls
            else:
                for command in function.commands:
                    command.within = "function"

    def _variable_assignment(self, node: Node) -> None:
        name = self.source.of(node.child_by_field_name("name"))
        value, before = node.child_by_field_name("value"), self.state.values.get(name)
        expansion = Expansion(self.source, self.state, name)
        is_array = value is not None and value.type == "array"
        if not any(child.type == "+=" for child in node.children):
            before = Array([]) if is_array else []
        if name.isidentifier() and isinstance(before, Array) and value is not None and is_array:
            elements = [each for each in value.named_children if each.type != "comment"]
            words = [word for each in elements for word in expansion.words(each)]
            self.state.values[name] = Array(before.words + words)
        elif name.isidentifier() and isinstance(before, list) and not is_array:
            self.state.values[name] = before + (expansion.text(value) if value else [])
        else:  # an array's element, or an addition to what is not known
            self._forget(names_in(name)[:1], node)

    def _declaration_command(self, node: Node) -> None:
        for child in node.named_children:
            if child.type == "variable_assignment":
                self._variable_assignment(child)
        self.state.exported |= exported_names(self.source, node)

    def _unset_command(self, node: Node) -> None:
        for child in node.named_children:
            self.state.exported.discard(self.source.of(child))
            self.state.values[self.source.of(child)] = []

    def _redirected_statement(self, node: Node) -> None:
        body = node.child_by_field_name("body")
        if body is None:
            return
        self._visit(body)
        words = self.source.of(body).split()
        for child in nodes_of(node, "process_substitution"):
            # mapfile -t NAME < <(scontrol show hostnames)
            if words[0] in ("mapfile", "readarray") and words[-1].isidentifier():
                text = Expansion(self.source, self.state).text(child)
                self.state.values[words[-1]] = Array([Word(text)])

    def _command(self, node: Node) -> None:
        expansion = Expansion(self.source, self.state)
        prefix = {name for name in names_set(self.source, node) if name}
        words = [word for part in parts_of(node) for word in expansion.words(part)]
        if not words:
            return
        line, state = self.line or line_of(node), self.state.copy()
        self.commands.append(Command(words, prefix, node, self.source, line, state, self.within))
        # What a command of the shell itself does to variables.
        name, rest = words[0].text, [word.text for word in words[1:]]
        if name in ("source", ".") and not KNOWN_FILES.search("".join(rest[:1])):
            self._forget(list(self.state.values), node)
        elif name in self.functions:
            self._call(name, self.commands[-1])
            self._forget(self.set_by_functions, node)
        else:
            self._forget(names_set_by(self.commands[-1].text), node)
