"""Follows a script from its first command to its last, with the values of its variables."""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from tree_sitter import Node

from distgpu_convert.shell import EVERY, Array, Expansion, Source, State
from distgpu_convert.shell import line_of, nodes_of, parts_of
from distgpu_convert.text import Word

SETTERS = {"eval", "read", "mapfile", "readarray", "getopts", "printf", "let", "unset"}
NAME = re.compile(r"\b[A-Za-z_]\w*")
NO_COMMANDS = (
    "comment",
    "test_command",
    "file_redirect",
    "heredoc_redirect",
    "herestring_redirect",
)
KNOWN_FILES = re.compile(r"(conda|mamba|lmod|init|modules?)\.sh|activate|\.bashrc|profile|bash$")


class Command(NamedTuple):
    """A command that the script may start."""

    words: list[Word]
    text: str  # of these
    prefix: set[str]  # the names of NAME=VALUE before it
    node: Node
    source: Source
    line: int  # in the script
    state: State  # of the variables, when it starts
    within: str  # "background", "function"; else nothing


def names_set(source: Source, node: Node) -> list[str]:
    """By an assignment, or by export, declare and the like."""
    kinds = {"variable_assignment"}
    kinds |= {"variable_name"} if node.type == "declaration_command" else set()
    found = [each for each in (node, *node.named_children) if each.type in kinds]
    return [re.split(r"\W", source.of(each))[0] for each in found]


class Walk:
    """The commands of a text, in the order in which they may run."""

    def __init__(self, source: Source, state: State, line: int = 0, within: str = "") -> None:
        self.source = source
        self.state = state
        self.line = line  # of the script, where the text stands; 0: it is the script
        self.within = within
        self.commands: list[Command] = []
        self.functions: set[str] = set()
        self.set_by_functions: set[str] = set()
        self.called_once: dict[str, Node] = {}  # functions whose call has not come yet
        self._visit(source.root)
        for node in list(self.called_once.values()):
            self._apart(node.named_children, "function")

    def _visit(self, node: Node) -> None:
        visit = getattr(self, "_" + node.type, None)
        if visit is not None:
            visit(node)
        elif node.is_named and node.type not in NO_COMMANDS:
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

    def _forget(self, names: Collection[str], node: Node) -> None:
        self.state.forget(names, self.line or line_of(node))

    def _set_by(self, text: str) -> Collection[str]:
        """The variables that a command may set. A function may call another."""
        name, *rest = re.split(r"\s+", text)
        if name in self.functions:
            return self.set_by_functions
        if name in ("source", "."):
            return [] if KNOWN_FILES.search("".join(rest[:1])) else [EVERY]
        return NAME.findall(text) if name in SETTERS else []

    def _set_within(self, node: Node) -> set[str]:
        names: set[str] = set()
        for each in nodes_of(node, "variable_assignment", "for_statement"):
            name = each.child_by_field_name("name") or each.child_by_field_name("variable")
            names.update(NAME.findall(self.source.of(name))[:1])
        for each in nodes_of(node, "command", "unset_command"):
            words = parts_of(each) if each.type == "command" else [each]
            names.update(self._set_by(" ".join(map(self.source.of, words))))
        return names

    def _subshell(self, node: Node) -> None:
        self._apart(node.named_children)

    _pipeline = _subshell

    def _maybe(self, node: Node) -> None:
        """What it may set has several values, in it and behind it. Of a && b, a surely runs."""
        parts = node.named_children[1:] if node.type == "list" else [node]
        names = set().union(*map(self._set_within, parts))
        self._forget(names, node)
        self._block(node)
        self._forget(names, node)

    _list = _if_statement = _case_statement = _maybe
    _for_statement = _while_statement = _c_style_for_statement = _maybe

    def _function_definition(self, node: Node) -> None:
        """Followed where it is called, if that is the only place which names it."""
        name = self.source.of(node.child_by_field_name("name"))
        self.functions.add(name)
        self.set_by_functions |= self._set_within(node)
        mention = rf"(?<![\w./$])(?<![^:]-){re.escape(name)}(?![\w./=-])"
        if len(re.findall(mention, self.source.text)) == 2:
            self.called_once[name] = node
        else:
            self.state.exported |= self._apart(node.named_children, "function").exported

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
            self._forget(NAME.findall(name)[:1], node)

    def _declaration_command(self, node: Node) -> None:
        for child in node.named_children:
            if child.type == "variable_assignment":
                self._variable_assignment(child)
        exports = r"export\b(?! -n)|(declare|typeset|local|readonly) -\w*x"
        if re.match(exports, self.source.of(node)):
            self.state.exported.update(names_set(self.source, node))

    def _unset_command(self, node: Node) -> None:
        for child in node.named_children:
            self.state.exported.discard(self.source.of(child))
            self.state.values[self.source.of(child)] = []

    def _redirected_statement(self, node: Node) -> None:
        self._block(node)
        if match := re.match(r"(?:mapfile|readarray) -t (\w+) < <\(", self.source.of(node)):
            for child in nodes_of(node, "process_substitution"):
                text = Expansion(self.source, self.state).text(child)
                self.state.values[match[1]] = Array([Word(text)])

    def _command(self, node: Node) -> None:
        expansion = Expansion(self.source, self.state)
        words = [word for part in parts_of(node) for word in expansion.words(part)]
        if not words:
            return
        text = " ".join(word.text for word in words)
        prefix = {name for name in names_set(self.source, node) if name}
        line, state = self.line or line_of(node), self.state.copy()
        command = Command(words, text, prefix, node, self.source, line, state, self.within)
        self.commands.append(command)
        if function := self.called_once.pop(words[0].text, None):
            self._forget({*prefix, *"123456789"}, node)  # its arguments, if in a loop
            self._block(function)
        self._forget(self._set_by(text), node)
