"""Reads bash: the syntax tree of a text, and what the shell makes of its words.

A variable has a value here if it has one on every way to the command. What only a run knows is a
symbol; what a symbol means, such as the first of the job's nodes, shows in how it is computed.
"""

import ast
import operator
import re
from dataclasses import dataclass, field
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Set, Tuple, Union

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from distgpu_convert.meaning import meaning
from distgpu_convert.text import PLACEHOLDER, Char, Spot, Symbol, Text, Word, cover, plain

PARSER = Parser(Language(tree_sitter_bash.language()))


class Array(NamedTuple):
    words: List[Word]


Value = Union[Text, Array]  # of a variable


def unambiguous(text: str) -> str:
    """What the parser misunderstands, written otherwise, with the same places.

    $(((A)) && b) begins no arithmetic: as $( (A ) && b). In a value without quotes, a mark behind
    $NAME may end the value: as $NAME:.
    """
    text = re.sub(r"\b\w+=[^\s()\"'`]*", lambda m: re.sub(r"(\$\w+)[/.,=+%-]", r"\1:", m[0]), text)
    at = text.find("$(((")
    while at >= 0:
        end = text.find("))", at)
        rest = text[end + 2 : end + 3] if end >= 0 else ""
        if rest and rest != ")":
            text = f"{text[:at]}$( ({text[at + 4:end]} ){text[end + 2:]}"
        at = text.find("$(((", at + 1)
    return text


def nodes_of(node: Node, *kinds: str) -> Iterator[Node]:
    """The node and all below it that are of one of these kinds, as they stand."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.type in kinds:
            yield each
        waiting.extend(reversed(each.children))


EXPANSIONS = ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion")
BLANKS = re.compile(r"(?:\s|\\\n)*")


class Source:
    """A text in bash: a script, or what stands behind `bash -c`."""

    def __init__(self, text: Union[str, Text]) -> None:
        self.chars = None if isinstance(text, str) else text
        self.text = text if isinstance(text, str) else "".join(char.text for char in text)
        # Every character is a byte to the parser, so that places are the same; those that are not
        # ASCII are parts of words to bash and to it.
        ascii_text = "".join(c if c < "\x80" else "." for c in unambiguous(self.text))
        self.root = PARSER.parse(ascii_text.encode()).root_node
        self.unclear = self._first_unclear()

    def _first_unclear(self) -> Optional[Node]:
        """What the parser did not understand, or took for another thing; nothing: all is clear."""
        for node in nodes_of(self.root, "heredoc_start", "ERROR", "variable_assignment"):
            following = node.next_named_sibling
            is_cut = following is not None and following.start_byte == node.end_byte
            if node.type == "ERROR" or is_cut and node.type == "variable_assignment":
                return node
            if node.type == "heredoc_start" and re.search(r"[;&|)]$", self.of(node)):
                return node
        return self.root if self.root.has_error else None

    def begin(self, node: Node) -> int:
        """Without the blanks that the parser adds to what follows them in quotes."""
        if node.type in EXPANSIONS:
            return BLANKS.match(self.text, node.start_byte).end()  # type: ignore[union-attr]
        return int(node.start_byte)

    def of(self, node: Optional[Node]) -> str:
        return self.text[self.begin(node) : node.end_byte] if node is not None else ""

    def literal(self, at: int, end: int, text: str, quote: str, holder: str) -> Char:
        """The character that is written so from `at` on."""
        quoted = quote != "" or end - at > 1
        if self.chars is None:
            return Char(text, (Spot(at, end, quote, holder),), None, quoted)
        origin = self.chars[at:end]
        symbol = origin[0].symbol if len(origin) == 1 else None
        return Char(text, cover(origin), symbol, quoted)

    def spots(self, begin: int, end: int, quote: str, holder: str) -> Tuple[Spot, ...]:
        if self.chars is None:
            return (Spot(begin, end, quote, holder),)
        return cover(self.chars[begin:end])


@dataclass
class State:
    """The shell's variables at a place of the script."""

    values: Dict[str, Value] = field(default_factory=dict)
    exported: Set[str] = field(default_factory=set)

    def copy(self) -> "State":
        return State(dict(self.values), set(self.exported))

    def forget(self, names: Iterable[str], line: int) -> None:
        for name in names:
            self.values[name] = differing(name, line)


def differing(name: str, line: int) -> Text:
    return [Char(PLACEHOLDER, (), Symbol("differs", "$" + name, name, line))]


def same(left: Optional[Value], right: Optional[Value]) -> bool:
    if isinstance(left, Array) and isinstance(right, Array):
        pairs = list(zip(left.words, right.words))
        return len(left.words) == len(right.words) and all(same(a.chars, b.chars) for a, b in pairs)
    return left == right


def join(states: List[State], line: int) -> State:
    """After ways that come together again."""
    joined = states[0].copy()
    for name in set().union(*(state.values for state in states)):
        first = states[0].values.get(name)
        if not all(same(first, state.values.get(name)) for state in states[1:]):
            joined.values[name] = differing(name, line)
    joined.exported = set().union(*(state.exported for state in states))
    return joined


ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"', "r": "\r"}
PLAIN = ("word", "number", "regex", "extglob_pattern", "variable_name")
STRUCTURE = ("concatenation", "translated_string", "command_name", "array")


class Expansion:
    """What the shell makes of the nodes of a text, in one state of its variables."""

    def __init__(self, source: Source, state: State, holder: str = "") -> None:
        self.source = source
        self.state = state
        self.holder = holder  # the variable whose value it is

    def words(self, node: Node) -> List[Word]:
        """One word, but for arrays, and for variables of several words without quotes."""
        written = self.source.of(node)
        whole = self.source.spots(self.source.begin(node), node.end_byte, "", self.holder)
        array = re.fullmatch(r'"?\$\{(\w+)\[[@*]\]\}"?|"?\$(@)"?', written)
        value = self.state.values.get(array[1] or array[2]) if array else None
        if isinstance(value, Array):
            return [Word(each.chars, whole + each.spots) for each in value.words]
        fields: List[Text] = [[]]
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
        kind, begin, end = node.type, node.start_byte, node.end_byte
        if kind in PLAIN:
            return self._literal(begin, end, quote)
        if kind == "raw_string":
            return self._literal(begin + 1, end - 1, "'", "")
        if kind == "ansi_c_string":
            return self._literal(begin + 2, end - 1, "'", None, ESCAPES)
        if kind == "string":
            return self._with_children(node, begin + 1, end - 1, '"')
        if kind in STRUCTURE:
            return self._with_children(node, begin, end, quote)
        if kind == "simple_expansion":
            return self._variable(node, self.source.of(node)[1:], quote)
        if kind == "expansion":
            return self._braces(node, quote)
        if kind == "arithmetic_expansion":
            return self._arithmetic(node, quote)
        if kind in ("command_substitution", "process_substitution"):
            return self._symbol(node, meaning(self.source, self.words, node), quote)
        return self._symbol(node, "unknown", quote)

    def _literal(
        self,
        at: int,
        end: int,
        quote: str,
        only: Optional[str] = None,
        letters: Optional[Dict[str, str]] = None,
    ) -> Text:
        """`only`: the characters before which a backslash means something; nothing: all."""
        text, result = self.source.text, []
        while at < end:
            escapes = text[at] == "\\" and at + 1 < end and (only is None or text[at + 1] in only)
            length = 2 if escapes else 1
            letter = text[at + length - 1]
            if escapes and letters is not None:
                letter = letters.get(letter, PLACEHOLDER)
            if not escapes or letter != "\n" or letters is not None:
                result.append(self.source.literal(at, at + length, letter, quote, self.holder))
            at += length
        return result

    def _with_children(self, node: Node, at: int, end: int, quote: str) -> Text:
        result: Text = []
        only = '$`"\\\n' if quote else None
        for child in node.named_children:
            if child.type != "string_content" and child.end_byte > at:
                result += self._literal(at, self.source.begin(child), quote, only)
                result += self.text(child, quote)
                at = child.end_byte
        return result + self._literal(at, end, quote, only)

    def _symbol(self, node: Node, kind: str, quote: str, name: str = "") -> Text:
        symbol = Symbol(kind, self.source.of(node), name)
        spots = self.source.spots(self.source.begin(node), node.end_byte, quote, self.holder)
        return [Char(PLACEHOLDER, spots, symbol, quote != "")]

    def _expanded(self, node: Node, text: Text, quote: str) -> Text:
        """The value of a variable, where it is used."""
        spots = self.source.spots(self.source.begin(node), node.end_byte, quote, self.holder)
        return [Char(each.text, spots + each.spots, each.symbol, quote != "") for each in text]

    def _variable(self, node: Node, name: str, quote: str) -> Text:
        value = self.state.values.get(name)
        if value is None:
            return self._symbol(node, "env", quote, name)
        if isinstance(value, Array):
            return self._element(node, value, 0, quote)
        return self._expanded(node, value, quote)

    def _element(self, node: Node, array: Array, index: int, quote: str) -> Text:
        if index >= len(array.words):
            return []
        word = array.words[index]
        if not word.may_split():
            return self._expanded(node, word.chars, quote)
        return self._symbol(node, "first" if index == 0 and is_hosts(word) else "unknown", quote)

    def _braces(self, node: Node, quote: str) -> Text:
        """${NAME}, ${NAME:-DEFAULT}, ${NAME[INDEX]}, ${#NAME[@]}; all else is not known."""
        source = self.source.of(node)
        match = re.fullmatch(r"\$\{(#?)(\w+)(?:\[(\w+|@|\*)\])?(?::?-[^}]*)?\}", source)
        assigned = re.match(r"\$\{(\w+):?=", source)
        if assigned:
            self.state.forget([assigned[1]], line_of(node))
        if match is None:
            return self._symbol(node, "unknown", quote)
        count, name, index = match.groups()
        value = self.state.values.get(name)
        if not count and index is None:
            return self._variable(node, name, quote)
        if not count and isinstance(value, Array) and index.isdigit():
            return self._element(node, value, int(index), quote)
        words = value.words if count and isinstance(value, Array) and index in ("@", "*") else []
        is_count = len(words) == 1 and is_hosts(words[0])
        return self._symbol(node, "nodes" if is_count else "unknown", quote)

    def _arithmetic(self, node: Node, quote: str) -> Text:
        """A number, where all variables have one."""
        expression = self.source.of(node)[3:-2]
        for name in set(re.findall(r"[A-Za-z_]\w*", expression)):
            value = self.state.values.get(name)
            number = plain(value) if isinstance(value, list) else ""
            if not re.fullmatch(r"[0-9]{1,9}", number):
                return self._symbol(node, "unknown", quote)
            expression = re.sub(r"\$?\{?\b" + name + r"\b\}?", number, expression)
        result = number_of(expression.strip())
        if result is None:
            return self._symbol(node, "unknown", quote)
        spots = self.source.spots(self.source.begin(node), node.end_byte, quote, self.holder)
        return [Char(digit, spots, None, True) for digit in str(result)]


OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def number_of(expression: str) -> Optional[int]:
    """Of numbers with + - * and brackets."""

    def value(node: ast.expr) -> int:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.BinOp):
            return int(OPERATORS[type(node.op)](value(node.left), value(node.right)))
        raise ValueError

    try:
        return value(ast.parse(expression[:200], mode="eval").body)
    except (SyntaxError, ValueError, KeyError, RecursionError, MemoryError):
        return None


def is_hosts(word: Word) -> bool:
    return [char.symbol.kind for char in word.chars if char.symbol] == ["hosts"]


def line_of(node: Node) -> int:
    return int(node.start_point[0]) + 1
