#!/usr/bin/env python3
"""The command lines of README, CONTRIBUTING and docs as tests, and the judgement on each.

    pages.py write FOLDER              writes FOLDER/docs.bats, and FOLDER/N and FOLDER/N.shown for line
                                       N, what the page shows as its output; prints what it counted
    pages.py judge LINE STATUS <OUTPUT prints what is wrong with what that file's command did; exit
                                       status 0 as the page says, 1 not

A test runs its line (docs.bash), or is skipped for a reason of not_run.txt. CONTRIBUTING.md ("Adding a
command to a page") says what counts as a command.
"""

import collections
import difflib
import re
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HEAD = f"""load {HERE}/docs
setup_file() {{ docs_up; }}
teardown_file() {{ cluster_down; }}
"""
FENCE = re.compile(r" *```(.*)")
MESSAGE = re.compile(r"\S+: ")  # a block that begins with what a program says
COLUMN = "Write"  # the heading of a table's column whose code is commands
CODE = re.compile(r"`([A-Za-z][^`]* [^`]*)`")
EXACT = re.compile(r"distgpu (plan|topo|vars) |nccl-scaling times ")
TRAINS = re.compile(r"train\.py\b")
TELLS = re.compile(r"dry-run|verbose")  # distgpu's lines are no warnings there
VERDICT = re.compile(r"^stand-in: trained with \d+ ranks on \d+ nodes$", re.MULTILINE)
OF_SLURM = re.compile(r"(srun|slurmstepd)(-\S+)?: ")


@dataclass(frozen=True)
class Line:
    page: str
    number: int  # of its first line in the page
    text: str  # a command, or a whole script
    shown: str | None = None  # what the page has as its output

    @property
    def is_script(self) -> bool:
        return self.text.startswith("#!")


def lines_of(page: str, text: str) -> list[Line]:
    """The commands of a page, in their order."""
    found: list[Line] = []
    block: list[str] | None = None
    language = ""
    column: int | None = None  # of the table in which this line is
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if fence and block is not None:
            found += [] if language else block_lines(page, number - len(block), block)
            block = None
        elif fence:
            block, language = [], fence[1]
        elif block is not None:
            block.append(line)
        elif line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line)
            if column is None:  # the headings; cell 0 is what stands before the first bar
                column = next((i for i, cell in enumerate(cells) if cell.strip() == COLUMN), 0)
            found += [Line(page, number, code) for code in CODE.findall(cells[column])]
        else:
            column = None
    if block is not None:
        raise ValueError(f"{page}: the last fence has no end")
    return found


def block_lines(page: str, number: int, block: list[str]) -> list[Line]:
    """The commands of a block whose first line has this number."""
    if not block or MESSAGE.match(block[0]):
        return []
    if block[0].startswith("#!"):
        return [Line(page, number, "\n".join(block) + "\n")]
    if block[0].startswith("$ "):
        return console_lines(page, number, block)
    return commands(page, number, block)


def console_lines(page: str, number: int, block: list[str]) -> list[Line]:
    found: list[Line] = []
    for at, line in enumerate(block, number):
        if line.startswith("$ "):
            found.append(Line(page, at, line[2:]))
        else:
            shown = "" if found[-1].shown is None else found[-1].shown
            found[-1] = replace(found[-1], shown=f"{shown}{line}\n")
    return found


def commands(page: str, number: int, block: list[str]) -> list[Line]:
    """A command goes on after a backslash, and within quotes."""
    found: list[Line] = []
    parts: list[str] = []
    for at, line in enumerate(block, number):
        if not parts and (not line.strip() or line.lstrip().startswith("#")):
            continue
        parts.append(line)
        if is_whole("\n".join(parts)):
            found.append(Line(page, at - len(parts) + 1, "\n".join(parts).strip()))
            parts = []
    if parts:
        raise ValueError(f"{page}:{number}: the block's last command has no end: {parts[0]}")
    return found


def is_whole(command: str) -> bool:
    try:
        shlex.split(command, comments=True)
    except ValueError:  # within quotes, or after a backslash at the end
        return False
    return not command.endswith("\\")


def reasons() -> list[tuple[str, str]]:
    """Reason and regular expression, as in not_run.txt."""
    rows = [
        row for row in (HERE / "not_run.txt").read_text().splitlines() if row[:1] not in ("", "#")
    ]
    return [(reason, pattern) for reason, _, pattern in (row.partition(": ") for row in rows)]


def all_lines() -> list[Line]:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    names = [str(page.relative_to(ROOT)) for page in pages]
    return [line for page, name in zip(pages, names) for line in lines_of(name, page.read_text())]


def title(line: Line) -> str:
    """In bats's own quotes, and so without any of them."""
    text = "a batch script" if line.is_script else re.sub(r"\s+#.*", "", line.text)
    return f"{line.page}:{line.number}: " + re.sub(r"[^\w ./:,=-]+", "", text)[:90].rstrip()


def write(folder: Path) -> int:
    listed, lines = reasons(), all_lines()
    used: set[str] = set()
    counts: collections.Counter[str] = collections.Counter()
    tests = [HEAD]
    for number, line in enumerate(lines):
        matching = [row for row in listed if re.match(row[1], line.text, re.DOTALL)]
        used.update(pattern for _, pattern in matching)
        reason = matching[0][0] if matching else ""
        counts[reason] += 1
        body = f'skip "{reason}"' if reason else f"runs {number}"
        tests.append(f'@test "{title(line)}" {{ {body}; }}\n')
        (folder / f"{number}").write_text(line.text)
        if line.shown is not None:
            (folder / f"{number}.shown").write_text(line.shown)
    (folder / "docs.bats").write_text("\n".join(tests))
    unused = [pattern for _, pattern in listed if pattern not in used]
    if unused:
        print(f"docs: not_run.txt: {unused[0]}: matches no line; remove it", file=sys.stderr)
        return 1
    print(f"docs: {len(lines)} lines of pages, of which {counts.pop('')} run")
    for reason, count in sorted(counts.items()):
        print(f"  {count} not run: {reason}")
    return 0


def form(line: str) -> str:
    """Without what differs between machines and runs: numbers, lists of them, addresses."""
    line = re.sub(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9]", "#", line)
    line = re.sub(r"\b[MG]b/s", "b/s", line)
    return " ".join(re.sub(r"\d+([-,.:T]\d+)*", "#", line).split())


def differences(command: str, shown: list[str], output: list[str]) -> list[str]:
    if EXACT.match(command):
        return list(difflib.unified_diff(shown, output, "the page", "the output", lineterm="", n=0))
    left = [form(line) for line in output if not OF_SLURM.match(line)]
    missing = []
    for line in shown:
        if form(line) in left:
            left.remove(form(line))
        elif line.strip() != "...":
            missing.append(f"only in the page: {line}")
    excerpt = any(line.strip() == "..." for line in shown)
    return missing + ([] if excerpt else [f"not in the page: {line}" for line in left])


def problems(command: str, shown: str | None, status: int, output: str) -> list[str]:
    found = []
    if status not in ([0] if shown is None else [0, 1]):  # 1: what is shown is a finding
        found.append(f"status {status}")
    if status == 127:
        found.append("no command? then write ```text at the fence of its block")
    if shown is not None:
        found += differences(command, shown.splitlines(), output.splitlines())
    elif not TELLS.search(command):
        found += [f"warned: {line}" for line in output.splitlines() if line.startswith("distgpu: ")]
    starts = "dry-run" not in command and not EXACT.match(command)
    if TRAINS.search(command) and starts and len(VERDICT.findall(output)) != 1:
        found.append("trained not once")
    return found


def judge(line: Path, status: int) -> int:
    page = line.with_name(f"{line.name}.shown")
    shown = page.read_text() if page.exists() else None
    found = problems(line.read_text(), shown, status, sys.stdin.read())
    for problem in found:
        print(f"docs: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    if sys.argv[1] == "write":
        sys.exit(write(Path(sys.argv[2])))
    sys.exit(judge(Path(sys.argv[2]), int(sys.argv[3])))
