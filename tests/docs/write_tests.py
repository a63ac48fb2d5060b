#!/usr/bin/env python3
"""Writes a bats file with a test for each command line of the pages, and prints what it counted.

    write_tests.py FOLDER   writes FOLDER/docs.bats, and FOLDER/N and FOLDER/N.shown for line N

A test runs its line (docs.bash), or is skipped for a reason of not_run.txt.
"""

import collections
import re
import sys
from pathlib import Path

import page_lines

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HEAD = f"""load {HERE}/docs
setup_file() {{ docs_up; }}
teardown_file() {{ cluster_down; }}
"""


def reasons() -> list[tuple[str, str]]:
    """Reason and regular expression, as in not_run.txt."""
    rows = [
        row for row in (HERE / "not_run.txt").read_text().splitlines() if row[:1] not in ("", "#")
    ]
    return [(reason, pattern) for reason, _, pattern in (row.partition(": ") for row in rows)]


def all_lines() -> list[page_lines.Line]:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    names = [str(page.relative_to(ROOT)) for page in pages]
    return [
        line
        for page, name in zip(pages, names)
        for line in page_lines.lines_of(name, page.read_text())
    ]


def title(line: page_lines.Line) -> str:
    """In bats's own quotes, and so without any of them."""
    text = "a batch script" if line.is_script else re.sub(r"\s+#.*", "", line.text)
    return f"{line.page}:{line.number}: " + re.sub(r"[^\w ./:,=-]+", "", text)[:90].rstrip()


def main() -> int:
    folder = Path(sys.argv[1])
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


if __name__ == "__main__":
    sys.exit(main())
