"""Which commands of a script can read no variable of the ranks. What is not known may read them all."""

import re
from collections.abc import Sequence

from tree_sitter import Node

from distgpu_convert.shell import Expansion, Source, State, line_of, nodes_of, parts_of
from distgpu_convert.slurm import TABLES, line_of_words

RANKS = set(TABLES["ranks"].split())  # by which scripts tell ranks of each other
# Programs by what they do. Some do so with certain words only.
PRINTS = set(TABLES["prints"].split())
STARTS_NOTHING = set(TABLES["starts nothing"].split())
NEEDS_NO_RANK = set(TABLES["needs no rank"].split())
PREPARES = set(TABLES["prepares"].split())
ONLY_WITH: dict[str, str] = TABLES["only with"]
STARTS_ANOTHER = ("multi-prog", "prolog", "epilog", "task-prolog", "task-epilog")
# Anywhere in a script: what processes know; programs that others start; variables by their names; a
# function that only has the name of a program.
READS_ALL = re.compile(
    rf"{TABLES['reads all']}|\b({'|'.join(PRINTS | STARTS_NOTHING - {'[', '.', ':'})}) *\( *\)",
    re.MULTILINE,
)


def words_of(source: Source, node: Node) -> list[str]:
    expansion = Expansion(source, State())
    return [word.text for part in parts_of(node) for word in expansion.words(part)]


def is_one_of(programs: set[str], words: Sequence[str]) -> bool:
    """By its name alone or in the system's folders: another path may name anything."""
    match = re.fullmatch(r"(?:(?:/usr)?/bin/)?([^/]+)", words[0]) if words else None
    if match is None or match[1] not in programs:
        return False
    pattern = ONLY_WITH.get(match[1], ".*")
    return re.fullmatch(pattern, " ".join(words[1:]), re.DOTALL) is not None


def srun_starts(words: Sequence[str], *options: str) -> Sequence[str]:
    """srun's program; nothing: it is not certain, or one of these options starts or writes more."""
    line = line_of_words(tuple(words))
    is_certain = ":" not in words and all(each.certain for each in line.options)
    return words[line.program :] if is_certain and not line.has(*options) else []


def only_prints(words: Sequence[str]) -> bool:
    if words[:1] == ["srun"]:
        words = srun_starts(words, *STARTS_ANOTHER, "output", "error")
        return is_one_of(PRINTS & NEEDS_NO_RANK, words)
    return is_one_of(PRINTS, words)


def only_prints_within(source: Source, node: Node) -> bool:
    """Whether all that $(...) in it run only print."""
    quiet = ("2>/dev/null", "2> /dev/null", "2>&1")
    return (
        all(source.of(each) in quiet for each in nodes_of(node, "file_redirect"))
        and not any(nodes_of(node, "process_substitution"))
        and all(only_prints(words_of(source, each)) for each in nodes_of(node, "command"))
    )


def reads_nothing(words: Sequence[str]) -> bool:
    if words[:1] == ["srun"]:
        program = srun_starts(words, *STARTS_ANOTHER)
        has_mode = any(word.startswith("--distgpu=") for word in words)
        return bool(program) and (has_mode or is_one_of(NEEDS_NO_RANK, program))
    # A number: of $((1 + 2)) in a here-document, to the parser.
    return not words or words[0].isdigit() or is_one_of(PRINTS | STARTS_NOTHING, words)


def first_reader(source: Source, code: str, converted: set[int]) -> int:
    """The first line of what may read exported variables; 0: nothing does.

    `code`: the script without its comments; `converted`: where the commands begin that are.
    """
    lines = [code.count("\n", 0, match.end() - 1) + 1 for match in READS_ALL.finditer(code)]
    for node in nodes_of(source.root, "command"):
        if node.start_byte not in converted and not reads_nothing(words_of(source, node)):
            lines.append(line_of(node))
    return min(lines, default=0)
