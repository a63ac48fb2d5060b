"""Which commands of a script can read no variable of the ranks. What is not known may read them all."""

import re
from collections.abc import Sequence
from typing import Optional

from tree_sitter import Node

from distgpu_convert.shell import Expansion, Source, State, line_of, nodes_of
from distgpu_convert.slurm import TABLES, Line, line_of_words
from distgpu_convert.text import Word

RANKS = set(TABLES["ranks"].split())  # by which scripts tell ranks of each other
# They print what they find and start nothing, if printing is all that their words ask for.
PRINTS = set(TABLES["prints"].split())
STARTS_NOTHING = set(TABLES["starts nothing"].split())
NEEDS_NO_RANK = set(TABLES["needs no rank"].split())
PREPARES = set(TABLES["prepares"].split())
ACTIVATES = re.compile(TABLES["activates"])
STARTS_ANOTHER = ("multi-prog", "prolog", "epilog", "task-prolog", "task-epilog")
# Anywhere in a script: what processes know; programs that others start; variables by their names.
READS_ALL = re.compile(TABLES["reads all"], re.MULTILINE)
READERS = "command declaration_command test_command heredoc_body function_definition".split()


def words_of(source: Source, node: Node) -> list[str]:
    expansion = Expansion(source, State())
    return [
        word.text
        for child in node.named_children
        if child.type not in ("variable_assignment", "comment") and "redirect" not in child.type
        for word in expansion.words(child)
    ]


def known_name(path: str) -> str:
    """Of a program by its name alone or in the system's folders: another path may name anything."""
    match = re.fullmatch(r"(?:/usr)?/bin/([^/]+)|([^/]+)", path)
    return (match[1] or match[2]) if match else ""


def starts_by_option(name: str, words: Sequence[str]) -> bool:
    """Options by which tar, rsync and sort start a program; tar's first word needs no dash."""
    if name == "tar":
        first = "".join(words[:1])
        first = first if first.startswith("-") else "-" + first
        words = [first, *(word for word in words[1:] if word.startswith("-"))]
    pattern = TABLES["starts by option"].get(name)
    return pattern is not None and any(re.search(pattern, word) for word in words)


def needs_no_rank(words: Sequence[Word]) -> bool:
    texts = [word.text for word in words]
    name = known_name(texts[0])
    is_plain = name in NEEDS_NO_RANK and not starts_by_option(name, texts[1:])
    return is_plain or name in PREPARES or bool(ACTIVATES.fullmatch(" ".join(texts)))


def plain_step(words: Sequence[str]) -> Optional[Line]:
    """srun's options; nothing: its program is not certain, or Slurm starts another one for it."""
    line = line_of_words(tuple(words))
    is_certain = line.program < len(words) and all(each.certain for each in line.options)
    return line if is_certain and ":" not in words and not line.has(*STARTS_ANOTHER) else None


def only_prints(words: Sequence[str]) -> bool:
    """awk and sed can start programs, read variables and write files; scontrol can do more than show."""
    name, rest = known_name(words[0]), words[1:]
    line = plain_step(words) if name == "srun" else None
    if line is not None and not line.has("output", "error"):
        return known_name(words[line.program]) in PRINTS & NEEDS_NO_RANK | {"nvidia-smi"}
    if name == "scontrol":
        return rest[:1] == ["show"]
    if name == "awk":
        return not any(re.search(TABLES["doubtful in awk"], word) for word in rest)
    if name == "sed":
        scripts = [word for word in rest if word not in ("-n", "-E", "-r")]
        plain = bool(scripts) and re.fullmatch(TABLES["plain in sed"], scripts[0]) is not None
        return plain and not any(word.startswith("-") for word in scripts)
    return name in PRINTS and not starts_by_option(name, rest)


def only_prints_within(source: Source, node: Node) -> bool:
    """Whether all that $(...) in it run only print."""
    quiet = ("2>/dev/null", "2> /dev/null", "2>&1")
    return (
        all(source.of(each) in quiet for each in nodes_of(node, "file_redirect"))
        and not any(nodes_of(node, "process_substitution"))
        and all(only_prints(words_of(source, each) or [""]) for each in nodes_of(node, "command"))
    )


def reads_nothing(words: Sequence[str]) -> bool:
    name = known_name(words[0]) if words else ":"
    if name.isdigit() or words == ["exec"]:  # of $((1 + 2)) in a here-document, to the parser
        return True
    if name == "set":
        return len(words) > 1 and words[1][0] in "-+"
    if name == "srun":
        line = plain_step(words)
        if line is None or line.has("distgpu"):
            return line is not None
        name, words = known_name(words[line.program]), words[line.program :]
        return name in NEEDS_NO_RANK and not starts_by_option(name, words[1:])
    if only_prints(words or [":"]):
        return True
    if name in STARTS_NOTHING and not starts_by_option(name, words[1:]):
        return name not in ("test", "[") or "-v" not in words
    return bool(ACTIVATES.fullmatch(" ".join(words)))


def may_read(source: Source, node: Node) -> bool:
    """Whether a node of the tree may read exported variables."""
    text, kind = source.of(node), node.type
    if kind == "command":
        return not reads_nothing(words_of(source, node))
    if kind == "declaration_command":
        return not any(each.type.startswith("variable") for each in node.named_children)
    if kind == "test_command":
        return re.search(r"\s-v\s", text) is not None
    if kind == "heredoc_body":
        return "`" in text and not re.search(r"[\\'\"]", source.of(node.prev_named_sibling))
    known = PRINTS | STARTS_NOTHING | NEEDS_NO_RANK
    return source.of(node.child_by_field_name("name")) in known


def first_reader(source: Source, code: str, converted: set[int]) -> int:
    """The first line of what may read exported variables; 0: nothing does.

    `code`: the script without its comments; `converted`: where the commands begin that are.
    """
    match = READS_ALL.search(code)
    lines = [code.count("\n", 0, match.start() + 1) + 1] if match else []
    for node in nodes_of(source.root, *READERS):
        if not (node.type == "command" and node.start_byte in converted) and may_read(source, node):
            lines.append(line_of(node))
    return min(lines, default=0)
