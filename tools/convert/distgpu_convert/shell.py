"""Reads bash: the syntax tree of a text, and what the shell makes of its words.

A variable has a value here if it has one on every way to the command. What only a run knows is a
symbol; what a symbol means, such as the first of the job's nodes, shows in how it is computed.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Optional, Union

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from distgpu_convert.slurm import TABLES
from distgpu_convert.text import PLACEHOLDER, Char, Spot, Symbol, Text, Word, cover

PARSER = Parser(Language(tree_sitter_bash.language()))
EXPANSIONS = ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion")
TEXTS = TABLES["texts in bash"].split()
# The characters before which a backslash means something depend on the quotes around.
CHARACTERS = {"": r"\\.|.", '"': r'\\[$`"\\\n]|.', "'": "."}
EVERY = "*"  # in place of the names of variables
BLANKS = re.compile(r"(?:\s|\\\n)*")


class Array(NamedTuple):
    words: list[Word]


Value = Union[Text, Array]  # of a variable


def unambiguous(text: str) -> str:
    """What the parser misunderstands, written otherwise, with the same places.

    $(((A)) && b) begins no arithmetic: as $( (A ) && b). In a value without quotes, a mark behind
    $NAME may end the value: as $NAME:. What is not ASCII is part of a word to bash; every
    character is a byte to the parser.
    """
    mark = re.compile(r"(\$\w+)[/.,=+%-]")
    text = re.sub(r"\b\w+=[^\s()\"'`]*", lambda value: mark.sub(r"\1:", value[0]), text)
    text = re.sub(r"\$\(\(\(((?:(?!\)\)).)*)\)\)(?=[^)])", r"$( (\1 )", text, flags=re.DOTALL)
    return re.sub(r"[^\x00-\x7f]", ".", text)


def nodes_of(node: Node, *kinds: str) -> Iterator[Node]:
    """The node and all below it that are of one of these kinds, as they stand."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.type in kinds:
            yield each
        waiting.extend(reversed(each.children))


def parts_of(command: Node) -> list[Node]:
    """Its words, without redirections and what it sets."""
    words = [each for each in command.named_children if "redirect" not in each.type]
    return [each for each in words if each.type not in ("variable_assignment", "comment")]


def line_of(node: Node) -> int:
    return int(node.start_point[0]) + 1


class Source:
    """A text in bash: a script, or what stands behind `bash -c`."""

    def __init__(self, text: Union[str, Text]) -> None:
        self.chars = None if isinstance(text, str) else text
        self.text = text if isinstance(text, str) else "".join(char.text for char in text)
        self.root = PARSER.parse(unambiguous(self.text).encode()).root_node
        self.unclear = self._first_unclear()

    def _first_unclear(self) -> Optional[Node]:
        """What the parser did not understand, or took for another thing; nothing: all is clear."""
        for node in nodes_of(self.root, "heredoc_start", "ERROR", "variable_assignment"):
            following = node.next_named_sibling
            is_cut = following is not None and following.start_byte == node.end_byte
            if node.type == "ERROR" or (is_cut and node.type == "variable_assignment"):
                return node
            if node.type == "heredoc_start" and re.search(r"[;&|)]$", self.of(node)):
                return node
        return self.root if self.root.has_error else None

    def begin(self, node: Node) -> int:
        """Without the blanks that the parser adds to what follows them in quotes."""
        blanks = BLANKS.match(self.text, node.start_byte) if node.type in EXPANSIONS else None
        return blanks.end() if blanks else int(node.start_byte)

    def code(self) -> str:
        """Blanks in place of comments, so that places are the same."""
        code = self.text
        for each in nodes_of(self.root, "comment"):
            begin, end = each.start_byte, each.end_byte
            code = code[:begin] + re.sub(".", " ", code[begin:end]) + code[end:]
        return code

    def of(self, node: Optional[Node]) -> str:
        return self.text[self.begin(node) : node.end_byte] if node is not None else ""

    def spots(self, begin: int, end: int, quote: str, holder: str) -> tuple[Spot, ...]:
        if self.chars is None:
            return (Spot(begin, end, quote, holder),)
        return cover(self.chars[begin:end])


@dataclass
class State:
    """The shell's variables at a place of the script."""

    values: dict[str, Value] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)

    def copy(self) -> "State":
        return State(dict(self.values), set(self.exported))

    def forget(self, names: Collection[str], line: int) -> None:
        for name in list(self.values) if EVERY in names else names:
            symbol = Symbol("differs", "$" + name, name, line)
            self.values[name] = [Char(PLACEHOLDER, (), symbol)]


class Expansion:
    """What the shell makes of the nodes of a text, in one state of its variables."""

    def __init__(self, source: Source, state: State, holder: str = "") -> None:
        self.source = source
        self.state = state
        self.holder = holder  # the variable whose value it is

    def _spots(self, node: Node, quote: str = "") -> tuple[Spot, ...]:
        return self.source.spots(self.source.begin(node), node.end_byte, quote, self.holder)

    def words(self, node: Node) -> list[Word]:
        """One word, but for arrays, and for variables of several words without quotes."""
        written, whole = self.source.of(node), self._spots(node)
        array = re.fullmatch(r'"?\$\{(\w+)\[[@*]\]\}"?', written)
        value = self.state.values.get(array[1]) if array else None
        if isinstance(value, Array):
            return [Word(each.chars, whole + each.spots) for each in value.words]
        fields: list[Text] = [[]]
        for char in self.text(node):
            is_expanded = not char.quoted and not char.symbol and len(char.spots) > 1
            if is_expanded and char.text in " \t\n" and node.type != "string":
                fields.append([])
            else:
                fields[-1].append(char)
        if len(fields) == 1:
            return [Word(fields[0], whole)] if fields[0] or re.search("[\"']", written) else []
        return [Word(each) for each in fields if each]

    def text(self, node: Node, quote: str = "") -> Text:
        """As one text."""
        kind, at, end = node.type, node.start_byte, node.end_byte
        if kind in ("string", "raw_string"):
            at, end, quote = at + 1, end - 1, self.source.text[at]
        if kind == "raw_string":
            return self._literal(at, end, quote)
        if kind in ("simple_expansion", "expansion"):
            return self._variable(node, quote)
        if kind not in TEXTS:
            is_command = kind in ("command_substitution", "process_substitution")
            return self._symbol(node, self._meaning(node) if is_command else "unknown", quote)
        result: Text = []
        for child in node.named_children:
            if child.type != "string_content" and child.end_byte > at:
                result += self._literal(at, self.source.begin(child), quote)
                result += self.text(child, quote)
                at = child.end_byte
        return result + self._literal(at, end, quote)

    def _literal(self, at: int, end: int, quote: str) -> Text:
        result: Text = []
        for match in re.compile(CHARACTERS[quote], re.DOTALL).finditer(self.source.text, at, end):
            escapes = len(match[0]) == 2
            if match[0] != "\\\n":
                spots = self.source.spots(*match.span(), quote, self.holder)
                char = self.source.chars[match.start()] if self.source.chars else None
                symbol = char.symbol if char and not escapes else None
                result.append(Char(match[0][-1], spots, symbol, quote != "" or escapes))
        return result

    def _symbol(self, node: Node, kind: str, quote: str, name: str = "") -> Text:
        symbol = Symbol(kind, self.source.of(node), name)
        return [Char(PLACEHOLDER, self._spots(node, quote), symbol, quote != "")]

    def _variable(self, node: Node, quote: str) -> Text:
        """$NAME, ${NAME}, ${NAME:-DEFAULT}, ${NAME[INDEX]}, ${#NAME[@]}; all else is not known.

        Its value, as it is where the variable is used.
        """
        written = self.source.of(node)
        match = re.fullmatch(r"\$\{?(#?)(\w+)(?:\[(\d+|[@*])\])?(?::?-[^}]*)?\}?", written)
        counts, name, index = match.groups("0") if match else ("", "", "@")
        value = self.state.values.get(name)
        if counts or not index.isdigit():
            words = value.words if isinstance(value, Array) else []
            is_count = counts and [kind_or_text(each) for each in words] == ["<hosts>"]
            return self._symbol(node, "nodes" if is_count else "unknown", quote)
        if value is None:
            return self._symbol(node, "env", quote, name)
        if isinstance(value, Array):
            words = value.words[int(index) : int(index) + 1]
            if words and words[0].may_split():
                is_first = index == "0" and kind_or_text(words[0]) == "<hosts>"
                return self._symbol(node, "first" if is_first else "unknown", quote)
            value = words[0].chars if words else []
        spots = self._spots(node, quote)
        return [Char(each.text, spots + each.spots, each.symbol, quote != "") for each in value]

    def _meaning(self, node: Node) -> str:
        """What a command substitution computes, by the table: hosts, the first, nodes, GPUs."""
        kind = ""
        for command in commands_of(node.named_children):
            words = [word for each in parts_of(command) for word in self.words(each)]
            text = " ".join(map(kind_or_text, words))
            for before, pattern, after in TABLES["computes"]:
                if re.fullmatch(before, kind) and re.fullmatch(pattern, text):
                    kind = after
                    break
            else:
                return "unknown"
        return kind or "unknown"


def kind_or_text(word: Word) -> str:
    """As the table of what commands compute has it: <first>, or the text."""
    if word.symbol is None:
        return word.text
    return "<list>" if word.symbol.name in TABLES["node lists"] else f"<{word.symbol.kind}>"


def commands_of(nodes: list[Node]) -> list[Node]:
    """Of one pipeline; nothing: there are several."""
    if len(nodes) == 1 and nodes[0].type in ("pipeline", "redirected_statement"):
        inner = [each for each in nodes[0].named_children if "redirect" not in each.type]
        return [command for each in inner for command in commands_of([each])]
    return nodes if len(nodes) == 1 else []
