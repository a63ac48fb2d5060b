"""Follows a script from its first command to its last, with the values of its variables."""

import re
from dataclasses import dataclass
from typing import Dict, List, Sequence, Set, Tuple

from tree_sitter import Node

from distgpu_convert.shell import Array, Expansion, Source, State, join, line_of, nodes_of
from distgpu_convert.text import Char, Text, Word

DEEPEST = 5  # functions within functions
SETTERS = {"read", "mapfile", "readarray", "getopts", "printf", "let", "unset"}
KNOWN_FILES = re.compile(r"(conda|mamba|lmod|init|modules?)\.sh|activate|\.bashrc|profile|bash$")
Around = Tuple[str, ...]  # "loop", "background", "function", "condition", ...


@dataclass
class Command:
    """A command that the script may start."""

    words: List[Word]
    prefix: Set[str]  # the names of NAME=VALUE before it
    node: Node
    source: Source
    line: int  # in the script
    state: State  # of the variables, when it starts
    around: Around

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)


def names_in(text: str) -> List[str]:
    return re.findall(r"\b[A-Za-z_]\w*", text)


def assigned_names(source: Source, node: Node) -> Set[str]:
    """All variables that something within a node may set."""
    names: Set[str] = set()
    for each in nodes_of(node, "variable_assignment", "for_statement", "command"):
        name = each.child_by_field_name("name") or each.child_by_field_name("variable")
        text = source.of(each) if each.type == "command" else source.of(name)
        is_setter = each.type != "command" or text.split()[0] in SETTERS
        names.update((names_in(text) if each.type == "command" else names_in(text)[:1]) * is_setter)
    return names


class Walk:
    """The commands of a text, in the order in which they may run."""

    def __init__(self, source: Source, state: State, line: int = 0, around: Around = ()) -> None:
        self.source = source
        self.state = state
        self.line = line  # of the script, where the text stands; 0: it is the script
        self.commands: List[Command] = []
        self.functions: Dict[str, Node] = {}
        self.depth = 0
        self._visit(source.root, around)

    def _line(self, node: Node) -> int:
        return self.line or line_of(node)

    def _visit(self, node: Node, around: Around) -> None:
        visit = getattr(self, "_" + node.type, None)
        if visit is not None:
            visit(node, around)
        elif node.is_named and node.type not in ("comment", "test_command"):
            self._block(node, around)

    def _block(self, node: Node, around: Around) -> None:
        for child in node.named_children:
            following = child.next_sibling
            if following is not None and following.type == "&":
                self._apart([child], around + ("background",))
            else:
                self._visit(child, around)

    def _apart(self, nodes: Sequence[Node], around: Around) -> State:
        """In a shell of its own, or on one way of several; returns the state at its end."""
        before = self.state
        self.state = before.copy()
        for node in nodes:
            self._visit(node, around)
        after, self.state = self.state, before
        return after

    def _subshell(self, node: Node, around: Around) -> None:
        self._apart(node.named_children, around + ("subshell",))

    def _pipeline(self, node: Node, around: Around) -> None:
        for child in node.named_children:
            self._apart([child], around + ("pipeline",))

    def _list(self, node: Node, around: Around) -> None:
        """a && b: only the first one surely runs."""
        self._visit(node.named_children[0], around)
        after = self._apart(node.named_children[1:], around + ("list",))
        self.state = join([self.state, after], self._line(node))

    def _if_statement(self, node: Node, around: Around) -> None:
        around += ("condition",)
        ends: List[State] = []
        ways: List[List[Node]] = [[]]  # the condition; what follows then; each other way
        for child in node.children:
            if child.type in ("then", "elif_clause", "else_clause"):
                ways.append([])
            if child.is_named:
                ways[-1].append(child)
        for child in ways[0]:
            self._visit(child, around)
        ends = [self._apart(way, around) for way in ways[1:]]
        has_else = any(child.type == "else_clause" for child in node.children)
        self.state = join(ends + ([] if has_else else [self.state]), self._line(node))

    def _case_statement(self, node: Node, around: Around) -> None:
        items = [item for item in node.named_children if item.type == "case_item"]
        ends = [self._apart(item.named_children, around + ("condition",)) for item in items]
        self.state = join([self.state, *ends], self._line(node))

    def _loop(self, node: Node, around: Around) -> None:
        names = assigned_names(self.source, node)
        self.state.forget(names, self._line(node))
        self._block(node, around + ("loop",))
        self.state.forget(names, self._line(node))

    _for_statement = _while_statement = _c_style_for_statement = _loop

    def _function_definition(self, node: Node, around: Around) -> None:
        self.functions[self.source.of(node.child_by_field_name("name"))] = node

    def _variable_assignment(self, node: Node, around: Around) -> None:
        name = self.source.of(node.child_by_field_name("name"))
        value = node.child_by_field_name("value")
        expansion = Expansion(self.source, self.state, name)
        adds = any(child.type == "+=" for child in node.children)
        before = self.state.values.get(name) if adds else None
        if not name.isidentifier():  # an array's element
            self.state.forget(names_in(name)[:1], self._line(node))
        elif (
            value is not None and value.type == "array" and (not adds or isinstance(before, Array))
        ):
            elements = [each for each in value.named_children if each.type != "comment"]
            words = [word for each in elements for word in expansion.words(each)]
            self.state.values[name] = Array(
                (before.words if isinstance(before, Array) else []) + words
            )
        elif (value is None or value.type != "array") and (not adds or isinstance(before, list)):
            text = expansion.text(value) if value is not None else []
            self.state.values[name] = (before if isinstance(before, list) else []) + text
        else:
            self.state.forget([name], self._line(node))

    def _declaration_command(self, node: Node, around: Around) -> None:
        text = self.source.of(node)
        exports = bool(re.match(r"export\b(?! -n)|(declare|typeset|local|readonly) -\w*x", text))
        for child in node.named_children:
            if child.type == "variable_assignment":
                self._variable_assignment(child, around)
            if exports and child.type in ("variable_assignment", "variable_name"):
                self.state.exported.add(re.split(r"\W", self.source.of(child))[0])

    def _unset_command(self, node: Node, around: Around) -> None:
        for child in node.named_children:
            self.state.exported.discard(self.source.of(child))
            self.state.values[self.source.of(child)] = []

    def _redirected_statement(self, node: Node, around: Around) -> None:
        body = node.child_by_field_name("body")
        if body is not None:
            self._visit(body, around)
            self._read_hosts(node, self.source.of(body).split())
        for document in nodes_of(node, "heredoc_redirect"):  # cat <<EOF | srun ...
            for child in document.named_children:
                if child.type in ("pipeline", "command", "list"):
                    self._apart([child], around + ("pipeline",))

    def _read_hosts(self, node: Node, words: List[str]) -> None:
        """mapfile -t NAME < <(scontrol show hostnames)"""
        expansion = Expansion(self.source, self.state)
        for child in nodes_of(node, "process_substitution"):
            if words[0] in ("mapfile", "readarray") and words[-1].isidentifier():
                self.state.values[words[-1]] = Array([Word(expansion.text(child))])

    def _command(self, node: Node, around: Around) -> None:
        expansion = Expansion(self.source, self.state)
        prefix: Set[str] = set()
        words: List[Word] = []
        for child in node.named_children:
            if child.type == "variable_assignment":
                prefix.add(self.source.of(child).partition("=")[0])
            elif "redirect" not in child.type and child.type != "comment":
                words += expansion.words(child)
        if words:
            line, state = self._line(node), self.state.copy()
            self.commands.append(Command(words, prefix, node, self.source, line, state, around))
            self._effect(self.commands[-1])

    def _effect(self, command: Command) -> None:
        """What a command of the shell itself does to variables."""
        name, rest = command.words[0].text, command.words[1:]
        first = rest[0].text if rest else ""
        if name in self.functions and self.depth < DEEPEST:
            self._call(self.functions[name], command)
        elif name in ("source", "."):
            if not KNOWN_FILES.search(first):
                self.state.forget(list(self.state.values), command.line)
        elif name == "eval" and rest:
            text: Text = []
            for word in rest:
                text += ([Char(" ", word.spots)] if text else []) + word.chars
            inner = Walk(Source(text), self.state, command.line, command.around + ("eval",))
            self.commands += inner.commands
        elif name in SETTERS:
            self.state.forget(names_in(" ".join(word.text for word in rest)), command.line)
        elif name == "shift" or (name == "set" and not re.match("[-+][a-z]|$", first)):
            self.state.forget([k for k in self.state.values if not k.isidentifier()], command.line)

    def _call(self, function: Node, command: Command) -> None:
        values, rest = self.state.values, command.words[1:]
        outside = {name: value for name, value in values.items() if not name.isidentifier()}
        values["@"] = Array(rest)
        values.update({str(at): word.chars for at, word in enumerate(rest, 1)})
        self.depth += 1
        body = function.child_by_field_name("body")
        if body is not None:
            self._visit(body, command.around + ("function",))
        self.depth -= 1
        for name in [name for name in self.state.values if not name.isidentifier()]:
            del self.state.values[name]
        self.state.values.update(outside)
