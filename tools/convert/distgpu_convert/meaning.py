"""What a command substitution computes: the job's hosts, the first of them, a number of nodes or GPUs."""

import re
from typing import Callable, List, Protocol

from tree_sitter import Node

from distgpu_convert.text import Word

NODE_LISTS = ("SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_STEP_NODELIST")
FIRST_LINE = r"head (-n ?|-)1|sed -n 1p|sed 1q|awk NR ?== ?1.*"
FIRST_COLUMN = r"cut -d ?[ .] -f ?1|cut -f ?1 -d ?[ .]|awk \{ ?print \$1;? ?\}|tr -d .*"
FIRST = re.compile(f"{FIRST_LINE}|{FIRST_COLUMN}")
SAME = re.compile(r"sort( -u)?|uniq|cat|xargs|tr .*")


class Written(Protocol):
    text: str


def kind_of(word: Word) -> str:
    """Of a word that is one symbol: its kind, or "list": the job's."""
    symbol = word.chars[0].symbol if len(word.chars) == 1 else None
    if symbol is None:
        return "unknown"
    return "list" if symbol.kind == "env" and symbol.name in NODE_LISTS else symbol.kind


def commands_of(node: Node) -> List[Node]:
    if node.type == "pipeline":
        return [each for child in node.named_children for each in commands_of(child)]
    return commands_of(node.named_children[0]) if node.type == "redirected_statement" else [node]


def meaning(source: Written, words_of: Callable[[Node], List[Word]], node: Node) -> str:
    if len(node.named_children) != 1:
        return "unknown"
    kind = ""
    for command in commands_of(node.named_children[0]):
        parts = [each for each in command.named_children if "redirect" not in each.type]
        words = [word for each in parts for word in words_of(each)]
        if command.type != "command" or not words:
            return "unknown"
        if not kind and reads_hosts(source.text, words):
            kind, words = "hosts", words[:-1]
        kind = filtered(kind, words) if kind else produced(words)
    return kind


def reads_hosts(script: str, words: List[Word]) -> bool:
    """Whether the last word is a file into which the script wrote the job's hosts."""
    file = rf'>\s*"?{re.escape(words[-1].text)}"?(\s|$)'
    return len(words) > 1 and bool(re.search(rf"scontrol show hostnames?\b[^\n;&]*{file}", script))


def produced(words: List[Word]) -> str:
    """By the first command of a pipeline."""
    text, last = " ".join(word.text for word in words), kind_of(words[-1])
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
    names_first = any(kind_of(word) == "first" for word in words[1 : program[0]])
    is_one = re.search(r"(-N|-n|--nodes=?|--ntasks=?) ?1\b", text) and " -w" not in text
    return "first" if names_first or is_one else "hosts"


def filtered(kind: str, words: List[Word]) -> str:
    """By a later command, of what the one before prints."""
    text = " ".join(word.text for word in words)
    if re.fullmatch(r"wc (-l|--lines)", text):
        return {"hosts": "nodes", "gpu list": "gpus"}.get(kind, "unknown")
    if kind in ("hosts", "first") and FIRST.fullmatch(text):
        return "first"
    return kind if SAME.fullmatch(text) else "unknown"
