"""Holds the tree to its layers: which folder may include which, and that the pure ones stay pure.

    check_layers.py [ROOT]              status 1 and a line for each wrong include or call
    check_layers.py --table             the rules, as CONTRIBUTING shows them
"""

import argparse
import pathlib
import re
import sys

TOPS = ("libmapping", "spank_plugin", "tools/distgpu", "tools/nccl_scaling")

MAPPING = "layout topology fabric request rendezvous frameworks binding spec plan texts"


def within(folders: str) -> list[str]:
    return [f"mapping/{folder}" for folder in folders.split()]


PURE_LIBRARY = ["base", *within(MAPPING)]
LIBRARY = [*PURE_LIBRARY, "base/io", "slurm", "node"]
COMMAND = [*LIBRARY, "tools/distgpu"]
SCALING = [f"tools/nccl_scaling/{folder}" for folder in ("results", "analysis")]

# What a file of each folder may include of the project beside its own folder, the nearest folder
# counting.
MAY_INCLUDE: dict[str, list[str]] = {
    "base": [],
    "base/io": ["base"],
    "mapping/layout": ["base"],
    "mapping/topology": ["base"],
    "mapping/fabric": ["base", *within("topology")],
    "mapping/request": ["base"],
    "mapping/rendezvous": ["base", "mapping/request"],
    "mapping/frameworks": ["base", "mapping/layout", "mapping/request", "mapping/rendezvous"],
    "mapping/binding": ["base", *within("layout topology request frameworks")],
    "mapping/spec": ["base", *within("request rendezvous frameworks binding")],
    "mapping/plan": ["base", *within("layout topology request rendezvous frameworks binding")],
    "mapping/texts": [
        each for each in PURE_LIBRARY if each not in ("mapping/spec", "mapping/texts")
    ],
    "slurm": [*PURE_LIBRARY, "base/io"],
    "node": [*PURE_LIBRARY, "base/io", "slurm"],
    "node/discovery": LIBRARY,
    "meet": LIBRARY,
    "inspect": [*LIBRARY, "node/discovery"],
    "spank_plugin": LIBRARY,
    "tools/distgpu": ["base", "base/io", "node", "slurm"],
    "tools/distgpu/check": [*COMMAND, "node/discovery", "meet", "tools/distgpu/check/pairs"],
    "tools/distgpu/check/pairs": [*LIBRARY, "meet"],
    "tools/distgpu/check_config": COMMAND,
    "tools/distgpu/exec": [*COMMAND, "meet", "inspect"],
    "tools/distgpu/explain": [*COMMAND, "inspect"],
    "tools/distgpu/report": [*COMMAND, "inspect", "tools/distgpu/picture"],
    "tools/distgpu/run": [*COMMAND, "inspect"],
    "tools/distgpu/signal": [*COMMAND, "inspect"],
    "tools/distgpu/task": ["base", "inspect"],
    "tools/distgpu/picture": PURE_LIBRARY,
    "tools/distgpu/plan": [*COMMAND, "node/discovery", "tools/distgpu/picture"],
    "tools/distgpu/topo": [*COMMAND, "node/discovery", "tools/distgpu/picture"],
    "tools/distgpu/vars": COMMAND,
    "tools/distgpu/why": [*COMMAND, "inspect", "tools/distgpu/picture"],
    "tools/nccl_scaling/results": ["base"],
    "tools/nccl_scaling/analysis": ["base", "tools/nccl_scaling/results"],
    "tools/nccl_scaling/bootstrap": [*LIBRARY, "meet", "tools/nccl_scaling/results"],
    "tools/nccl_scaling/backend": [*LIBRARY, *SCALING],
    "tools/nccl_scaling/report": [*LIBRARY, *SCALING, "tools/nccl_scaling/report/page"],
    "tools/nccl_scaling/report/page": [],
    "tools/nccl_scaling/run": [
        *LIBRARY,
        *SCALING,
        *(f"tools/nccl_scaling/{folder}" for folder in ("bootstrap", "backend", "report")),
    ],
}

IMPURE_HEADER = re.compile(
    r"(unistd\.h|fcntl\.h|netdb\.h|dlfcn\.h|ifaddrs\.h|poll\.h|sched\.h|pthread\.h|signal\.h"
    r"|sys/.*|net/.*|netinet/.*|arpa/.*|fstream|iostream|filesystem|cstdio|ctime|time\.h|chrono"
    r"|random|thread|mutex|future|csignal|hwloc\.h|slurm/(spank|slurm|slurm_errno)\.h)$"
)
IMPURE_CALL = re.compile(r"\b(secure_getenv|getenv|setenv|unsetenv|putenv|environ|popen|system)\b")
# At the beginning of a line: in no other type and in no anonymous namespace of a source.
TYPE = re.compile(r"(?:struct|class|enum class|union) (\w+)(?: final)?(?: : [^{;]*)? ?\{")
INCLUDE = re.compile(r'#include ([<"])(.*)[>"]')


def sources(root: pathlib.Path) -> list[pathlib.Path]:
    """The product's files, relative to the root."""
    return [
        path.relative_to(root)
        for top in TOPS
        for path in sorted((root / top).rglob("*"))
        if path.suffix in (".cpp", ".h", ".cu")
    ]


def folder_of(file: pathlib.Path) -> str:
    """As the rules call it: "mapping/plan", "tools/distgpu/why"."""
    return str(file.parent).removeprefix("libmapping/")


def target_of(root: pathlib.Path, file: pathlib.Path, header: str) -> str | None:
    """The folder of a header that a file includes; nothing: it is none of the product's."""
    for around in (str(file.parent), "libmapping", "/".join(file.parts[:2])):
        if (root / around / header).is_file():
            return folder_of(pathlib.Path(around, header))
    return None


def wrong_in(root: pathlib.Path, file: pathlib.Path, line: str) -> str | None:
    """What is wrong with a line of that file."""
    folder = folder_of(file)
    include = INCLUDE.match(line)
    if include is None:
        code = re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//")[0]
        call = IMPURE_CALL.search(code) if folder in PURE_LIBRARY else None
        return f"{folder} is pure, and calls {call[0]}" if call else None
    if include[1] == "<":
        is_impure = folder in PURE_LIBRARY and IMPURE_HEADER.match(include[2])
        return f"{folder} is pure, and includes <{include[2]}>" if is_impure else None
    target = target_of(root, file, include[2])
    if target is None or target == folder or target in MAY_INCLUDE[folder]:
        return None
    return f"{folder} may not include {target}: {include[2]}"


def defined_twice(root: pathlib.Path, files: list[pathlib.Path]) -> list[str]:
    """Types of one name in two headers. Linked into one program, each would use the other's
    functions wherever the compiler did not inline them."""
    first: dict[str, pathlib.Path] = {}
    wrong = []
    for file in files:
        if file.suffix != ".h" or "nccl_scaling" in file.parts:  # that has a namespace of its own
            continue
        for line in (root / file).read_text().splitlines():
            found = TYPE.match(line)
            other = first.setdefault(found[1], file) if found else file
            if found and other != file:
                wrong.append(f"{file}: {other} defines a type {found[1]} too")
    return wrong


def check(root: pathlib.Path) -> int:
    """Prints what is wrong in the tree."""
    files = sources(root)
    wrong = [f"{file}: lies in no layer" for file in files if folder_of(file) not in MAY_INCLUDE]
    for file in files:
        if folder_of(file) not in MAY_INCLUDE:
            continue
        for number, line in enumerate((root / file).read_text().splitlines(), 1):
            problem = wrong_in(root, file, line)
            if problem:
                wrong.append(f"{file}:{number}: {problem}")
    wrong += defined_twice(root, files)
    edges = {folder: set(allowed) & set(MAY_INCLUDE) for folder, allowed in MAY_INCLUDE.items()}
    wrong += [f"{each}: the rules allow a circle" for each in edges if each in reached(edges, each)]
    if table() not in (root / "CONTRIBUTING.md").read_text():
        wrong.append("CONTRIBUTING.md: has other rules than check_layers.py --table")
    print(
        "".join(line + "\n" for line in wrong)
        + f"layers: {len(files)} files, {len(wrong)} wrong lines"
    )
    return 1 if wrong or not files else 0


def reached(edges: dict[str, set[str]], start: str) -> set[str]:
    """The folders that the files of a folder include, directly or through others."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for folder in edges[waiting.pop()] - seen:
            seen.add(folder)
            waiting.append(folder)
    return seen


def table() -> str:
    """The rules in Markdown. A list of several folders that is the same has a short name."""
    rows = ["| Folder | May include |", "|---|---|"]
    names = {
        tuple(COMMAND): "the library, `tools/distgpu`",
        tuple(LIBRARY): "the library",
        tuple(PURE_LIBRARY): "the pure library",
    }
    for folder, allowed in MAY_INCLUDE.items():
        text, rest = "", list(allowed)
        for group, name in names.items():
            if set(group) <= set(rest):
                text, rest = name, [each for each in rest if each not in group]
                break
        parts = ([text] if text else []) + [f"`{each}`" for each in rest]
        rows.append(f"| `{folder}` | {', '.join(parts) or 'nothing of ours'} |")
    return "\n".join(rows) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).resolve().parents[2])
    arguments = parser.parse_args()
    if arguments.table:
        print(table(), end="")
        return 0
    return check(pathlib.Path(arguments.root).resolve())


if __name__ == "__main__":
    sys.exit(main())
