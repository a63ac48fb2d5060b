"""Follows a script from its first command to its last, with the values of its variables."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tree_sitter import Node

from distgpu_convert.shell import Array, Expansion, Source, State, Value, join, line_of, nodes_of
from distgpu_convert.text import Char, Text, Word

DEEPEST = 5  # functions within functions
SETTERS = {"read", "mapfile", "readarray", "getopts", "printf", "let", "unset"}
KNOWN_FILES = re.compile(r"(conda|mamba|lmod|init|modules?)\.sh|activate|\.bashrc|profile|bash$")
Around = tuple[str, ...]  # "loop", "background", "function", "condition", ...


@dataclass
class Command:
    """A command that the script may start."""

    words: list[Word]
    prefix: set[str]  # the names of NAME=VALUE before it
    node: Node
    source: Source
    line: int  # in the script
    state: State  # of the variables, when it starts
    around: Around

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)


def names_in(text: str) -> list[str]:
    return re.findall(r"\b[A-Za-z_]\w*", text)


def names_set(source: Source, node: Node) -> list[str]:
    """By an assignment, or by export, declare and the like."""
    kinds = {"variable_assignment"}
    kinds |= {"variable_name"} if node.type == "declaration_command" else set()
    found = [each for each in (node, *node.named_children) if each.type in kinds]
    return [re.split(r"\W", source.of(each))[0] for each in found]


def assigned_names(source: Source, node: Node) -> set[str]:
    """All variables that something within a node may set."""
    names: set[str] = set()
    for each in nodes_of(node, "variable_assignment", "for_statement", "command"):
        name = each.child_by_field_name("name") or each.child_by_field_name("variable")
        if each.type != "command":
            names.update(names_in(source.of(name))[:1])
        elif source.of(each).split()[0] in SETTERS:
            names.update(names_in(source.of(each)))
    return names


class Walk:
    """The commands of a text, in the order in which they may run."""

    def __init__(self, source: Source, state: State, line: int = 0, around: Around = ()) -> None:
        self.source = source
        self.state = state
        self.line = line  # of the script, where the text stands; 0: it is the script
        self.commands: list[Command] = []
        self.functions: dict[str, Node] = {}
        self.depth = 0
        self._visit(source.root, around)

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

    def _join(self, states: list[State], node: Node) -> None:
        self.state = join(states, self.line or line_of(node))

    def _forget(self, names: Sequence[str], node: Node) -> None:
        self.state.forget(names, self.line or line_of(node))

    def _subshell(self, node: Node, around: Around) -> None:
        self._apart(node.named_children, around + ("subshell",))

    def _pipeline(self, node: Node, around: Around) -> None:
        for child in node.named_children:
            self._apart([child], around + ("pipeline",))

    def _list(self, node: Node, around: Around) -> None:
        """a && b: only the first one surely runs."""
        self._visit(node.named_children[0], around)
        self._join([self.state, self._apart(node.named_children[1:], around + ("list",))], node)

    def _if_statement(self, node: Node, around: Around) -> None:
        ways: list[list[Node]] = [[]]  # the condition; what follows then; each other way
        for child in node.children:
            if child.type in ("then", "elif_clause", "else_clause"):
                ways.append([])
            if child.is_named:
                ways[-1].append(child)
        for child in ways[0]:
            self._visit(child, around + ("condition",))
        ends = [self._apart(way, around + ("condition",)) for way in ways[1:]]
        has_else = any(child.type == "else_clause" for child in node.children)
        self._join(ends if has_else else [*ends, self.state], node)

    def _case_statement(self, node: Node, around: Around) -> None:
        items = [item for item in node.named_children if item.type == "case_item"]
        ends = [self._apart(item.named_children, around + ("condition",)) for item in items]
        self._join([self.state, *ends], node)

    def _loop(self, node: Node, around: Around) -> None:
        names = sorted(assigned_names(self.source, node))
        self._forget(names, node)
        self._block(node, around + ("loop",))
        self._forget(names, node)

    _for_statement = _while_statement = _c_style_for_statement = _loop

    def _function_definition(self, node: Node, around: Around) -> None:
        self.functions[self.source.of(node.child_by_field_name("name"))] = node

    def _variable_assignment(self, node: Node, around: Around) -> None:
        name = self.source.of(node.child_by_field_name("name"))
        value = node.child_by_field_name("value")
        expansion = Expansion(self.source, self.state, name)
        is_array = value is not None and value.type == "array"
        before: Value = Array([]) if is_array else []
        if any(child.type == "+=" for child in node.children):
            before = self.state.values.get(name, ())  # type: ignore[arg-type]
        if name.isidentifier() and isinstance(before, Array) and is_array and value is not None:
            elements = [each for each in value.named_children if each.type != "comment"]
            words = [word for each in elements for word in expansion.words(each)]
            self.state.values[name] = Array(before.words + words)
        elif name.isidentifier() and isinstance(before, list) and not is_array:
            self.state.values[name] = before + (expansion.text(value) if value else [])
        else:  # an array's element, or an addition to what is not known
            self._forget(names_in(name)[:1], node)

    def _declaration_command(self, node: Node, around: Around) -> None:
        for child in node.named_children:
            if child.type == "variable_assignment":
                self._variable_assignment(child, around)
        text = self.source.of(node)
        if re.match(r"export\b(?! -n)|(declare|typeset|local|readonly) -\w*x", text):
            self.state.exported.update(names_set(self.source, node))

    def _unset_command(self, node: Node, around: Around) -> None:
        for child in node.named_children:
            self.state.exported.discard(self.source.of(child))
            self.state.values[self.source.of(child)] = []

    def _redirected_statement(self, node: Node, around: Around) -> None:
        body = node.child_by_field_name("body")
        if body is not None:
            self._visit(body, around)
            words = self.source.of(body).split()
            for child in nodes_of(node, "process_substitution"):
                # mapfile -t NAME < <(scontrol show hostnames)
                if words[0] in ("mapfile", "readarray") and words[-1].isidentifier():
                    text = Expansion(self.source, self.state).text(child)
                    self.state.values[words[-1]] = Array([Word(text)])
        for document in nodes_of(node, "heredoc_redirect"):  # cat <<EOF | srun ...
            for child in document.named_children:
                if child.type in ("pipeline", "command", "list"):
                    self._apart([child], around + ("pipeline",))

    def _command(self, node: Node, around: Around) -> None:
        expansion = Expansion(self.source, self.state)
        prefix: set[str] = set()
        words: list[Word] = []
        for child in node.named_children:
            if child.type == "variable_assignment":
                prefix.add(self.source.of(child).partition("=")[0])
            elif "redirect" not in child.type and child.type != "comment":
                words += expansion.words(child)
        if words:
            line, state = self.line or line_of(node), self.state.copy()
            self.commands.append(Command(words, prefix, node, self.source, line, state, around))
            self._effect(self.commands[-1])

    def _effect(self, command: Command) -> None:
        """What a command of the shell itself does to variables."""
        name, rest, values = command.words[0].text, command.words[1:], self.state.values
        first = rest[0].text if rest else ""
        if name in self.functions and self.depth < DEEPEST:
            self._call(self.functions[name], command)
        elif name in ("source", ".") and not KNOWN_FILES.search(first):
            self.state.forget(list(values), command.line)
        elif name == "eval" and rest:
            text: Text = []
            for word in rest:
                text += ([Char(" ", word.spots)] if text else []) + word.chars
            inner = Walk(Source(text), self.state, command.line, command.around + ("eval",))
            self.commands += inner.commands
        elif name in SETTERS:
            self.state.forget(names_in(" ".join(word.text for word in rest)), command.line)
        elif name == "shift" or (name == "set" and not re.match("[-+][a-z]|$", first)):
            self.state.forget([k for k in values if not k.isidentifier()], command.line)

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
