"""Reads bash: the syntax tree of a text, and what the shell makes of its words.

A variable has a value here if it has one on every way to the command. What only a run knows is a
symbol; what a symbol means, such as the first of the job's nodes, shows in how it is computed.
"""

import ast
import operator
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Optional, Union

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from distgpu_convert.slurm import TABLES
from distgpu_convert.text import PLACEHOLDER, Char, Spot, Symbol, Text, Word, cover, plain

PARSER = Parser(Language(tree_sitter_bash.language()))
EXPANSIONS = ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion")
PLAIN = ("word", "number", "regex", "extglob_pattern", "variable_name")
STRUCTURE = ("concatenation", "translated_string", "command_name", "array")
ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"', "r": "\r"}
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
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
    text = re.sub(r"\b\w+=[^\s()\"'`]*", lambda m: re.sub(r"(\$\w+)[/.,=+%-]", r"\1:", m[0]), text)
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

    def forget(self, names: Iterable[str], line: int) -> None:
        for name in names:
            symbol = Symbol("differs", "$" + name, name, line)
            self.values[name] = [Char(PLACEHOLDER, (), symbol)]


def same(left: Optional[Value], right: Optional[Value]) -> bool:
    if isinstance(left, Array) and isinstance(right, Array):
        return [word.chars for word in left.words] == [word.chars for word in right.words]
    return left == right


def join(states: list[State], line: int) -> State:
    """After ways that come together again."""
    exported = set().union(*(state.exported for state in states))
    joined = State(dict(states[0].values), exported)
    for name in set().union(*(state.values for state in states)):
        first = states[0].values.get(name)
        if not all(same(first, state.values.get(name)) for state in states[1:]):
            joined.forget([name], line)
    return joined


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
        array = re.fullmatch(r'"?\$\{(\w+)\[[@*]\]\}"?|"?\$(@)"?', written)
        value = self.state.values.get(array[1] or array[2]) if array else None
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
        is_command = kind in ("command_substitution", "process_substitution")
        return self._symbol(node, self._meaning(node) if is_command else "unknown", quote)

    def _literal(
        self,
        at: int,
        end: int,
        quote: str,
        only: Optional[str] = None,
        letters: Optional[dict[str, str]] = None,
    ) -> Text:
        """`only`: the characters before which a backslash means something; nothing: all."""
        text, chars = self.source.text, self.source.chars
        result: Text = []
        while at < end:
            escapes = text[at] == "\\" and at + 1 < end and (only is None or text[at + 1] in only)
            length = 2 if escapes else 1
            letter = text[at + length - 1]
            if escapes and letters is not None:
                letter = letters.get(letter, PLACEHOLDER)
            if not escapes or letter != "\n" or letters is not None:
                spots = self.source.spots(at, at + length, quote, self.holder)
                symbol = chars[at].symbol if chars and length == 1 else None
                result.append(Char(letter, spots, symbol, quote != "" or escapes))
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
        return [Char(PLACEHOLDER, self._spots(node, quote), symbol, quote != "")]

    def _variable(self, node: Node, name: str, quote: str, index: int = 0) -> Text:
        """Its value, as it is where the variable is used."""
        value = self.state.values.get(name)
        if value is None:
            return self._symbol(node, "env", quote, name)
        if isinstance(value, Array):
            if index >= len(value.words):
                return []
            word = value.words[index]
            if word.may_split():
                is_first = index == 0 and is_hosts(word)
                return self._symbol(node, "first" if is_first else "unknown", quote)
            value = word.chars
        spots = self._spots(node, quote)
        return [Char(each.text, spots + each.spots, each.symbol, quote != "") for each in value]

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
            return self._variable(node, name, quote, int(index))
        words = value.words if count and isinstance(value, Array) and index in ("@", "*") else []
        is_count = len(words) == 1 and is_hosts(words[0])
        return self._symbol(node, "nodes" if is_count else "unknown", quote)

    def _arithmetic(self, node: Node, quote: str) -> Text:
        """A number, where all variables have one."""
        expression = self.source.of(node)[3:-2]
        for name in set(re.findall(r"[A-Za-z_]\w*", expression)):
            value = self.state.values.get(name)
            number = plain(value) if isinstance(value, list) else ""
            if re.fullmatch(r"[0-9]{1,9}", number):
                expression = re.sub(r"\$?\{?\b" + name + r"\b\}?", number, expression)
        result = number_of(expression.strip())
        if result is None:
            return self._symbol(node, "unknown", quote)
        return [Char(digit, self._spots(node, quote), None, True) for digit in str(result)]

    # What a command substitution computes: the job's hosts, the first, a number of nodes or GPUs.

    def _meaning(self, node: Node) -> str:
        kind = ""
        for command in commands_of(node.named_children):
            parts = [each for each in command.named_children if "redirect" not in each.type]
            words = [word for each in parts for word in self.words(each)]
            if command.type != "command" or not words:
                return "unknown"
            if not kind and self._reads_hosts(words):
                kind, words = "hosts", words[:-1]
            kind = filtered(kind, words) if kind else produced(words)
        return kind or "unknown"

    def _reads_hosts(self, words: list[Word]) -> bool:
        """Whether the last word is a file into which the script wrote the job's hosts."""
        file = rf'scontrol show hostnames?\b[^\n;&]*>\s*"?{re.escape(words[-1].text)}"?(\s|$)'
        return len(words) > 1 and bool(re.search(file, self.source.text))


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


def commands_of(nodes: list[Node]) -> list[Node]:
    """Of one pipeline; nothing: there are several."""
    if len(nodes) == 1 and nodes[0].type == "redirected_statement":
        return commands_of(nodes[0].named_children[:1])
    if len(nodes) == 1 and nodes[0].type == "pipeline":
        return [each for child in nodes[0].named_children for each in commands_of([child])]
    return nodes if len(nodes) == 1 else []


def produced(words: list[Word]) -> str:
    """By the first command of a pipeline."""
    text, last = " ".join(word.text for word in words), "unknown"
    if words[-1].symbol:
        last = words[-1].symbol.kind
        is_list = last == "env" and words[-1].symbol.name in TABLES["node lists"]
        last = "list" if is_list else last
    if re.match(r"scontrol show hostnames?\b", text):
        return "hosts" if len(words) == 3 or (len(words) == 4 and last == "list") else "unknown"
    if words[0].text in ("echo", "printf") and len(words) == 2:
        return last
    if re.match(r"(getent (a?hosts|ahostsv4)|host|dig \+short) ", text) and last == "first":
        return "first"
    if re.fullmatch(r"nvidia-smi (-L|--list-gpus)", text):
        return "gpu list"
    program = [at for at, word in enumerate(words) if re.fullmatch(r"(\S*/)?hostname", word.text)]
    if not program or not all(word.text.startswith("-") for word in words[program[0] + 1 :]):
        return "unknown"
    if program[0] == 0 or words[0].text != "srun":
        return "first" if program[0] == 0 else "unknown"
    options = [word.symbol.kind for word in words[1 : program[0]] if word.symbol]
    is_one = re.search(r"(-N|-n|--nodes=?|--ntasks=?) ?1\b", text) and " -w" not in text
    return "first" if "first" in options or is_one else "hosts"


def filtered(kind: str, words: list[Word]) -> str:
    """By a later command, of what the one before prints."""
    text = " ".join(word.text for word in words)
    if re.fullmatch(r"wc (-l|--lines)", text):
        return {"hosts": "nodes", "gpu list": "gpus"}.get(kind, "unknown")
    if kind in ("hosts", "first") and re.fullmatch(TABLES["prints the first"], text):
        return "first"
    return kind if re.fullmatch(TABLES["prints the same"], text) else "unknown"
