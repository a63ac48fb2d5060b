"""Holds the tree to its layers: which folder may include which, and that the pure ones stay pure.

    check_layers.py [ROOT]      status 1 and a line for each wrong include or call
"""

import pathlib
import re
import sys

# What a file of each folder may include of the project beside its own folder, the nearest folder
# counting. CONTRIBUTING.md says why.
MAY_INCLUDE: dict[str, list[str]] = {
    "libmapping/base": [],
    "libmapping/base/io": ["base"],
    "libmapping/mapping": ["base"],
    "libmapping/node": ["base", "base/io", "mapping"],
    "libmapping/node/discovery": ["base", "base/io", "mapping", "node"],
    "libmapping/c_api": ["base", "mapping", "distgpu"],
    "spank_plugin": ["base", "base/io", "mapping", "node"],
    "tools/distgpu": ["base", "base/io", "mapping", "node", "node/discovery"],
    "tools/nccl_scaling": ["base", "base/io", "mapping", "node"],
}
LIBRARY_FOLDERS = ["base", "base/io", "mapping", "node", "node/discovery", "c_api", "distgpu"]

PURE = ["libmapping/base", "libmapping/mapping"]
IMPURE_HEADER = re.compile(
    r"<(unistd\.h|fcntl\.h|netdb\.h|dlfcn\.h|ifaddrs\.h|poll\.h|sched\.h|pthread\.h|signal\.h"
    r"|sys/.*|net/.*|netinet/.*|arpa/.*|fstream|iostream|filesystem|cstdio|ctime|time\.h|chrono"
    r"|random|thread|mutex|future|csignal|hwloc\.h|slurm/.*)>"
)
IMPURE_CALL = re.compile(r"\b(secure_getenv|getenv|setenv|unsetenv|putenv|environ|popen|system)\b")


def nearest(path: str, folders: list[str]) -> str | None:
    """The longest of the folders in which the path lies."""
    inside = [folder for folder in folders if path.startswith(folder + "/")]
    return max(inside, key=len) if inside else None


def code_of(line: str) -> str:
    """The line without its comment and without what stands in quotes."""
    return re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//")[0]


def wrong_in(file: str, folder: str, line: str) -> str | None:
    """What is wrong with a line of a file in that folder."""
    include = re.match(r'#include ([<"])(.*)[>"]', line)
    if include is None:
        call = IMPURE_CALL.search(code_of(line)) if folder in PURE else None
        return f"{folder} is pure, and calls {call[0]}" if call else None
    if folder in PURE and IMPURE_HEADER.match(f"<{include[2]}>") and include[1] == "<":
        return f"{folder} is pure, and includes <{include[2]}>"
    target = nearest(include[2], LIBRARY_FOLDERS)
    own = folder.removeprefix("libmapping/")
    if target is None or target == own or target in MAY_INCLUDE[folder]:
        return None
    return f"{folder} may not include {target}: {include[2]}"


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    if root.is_file():
        root = root.parents[2]
    files = [
        path
        for top in ("libmapping", "spank_plugin", "tools")
        for path in sorted((root / top).rglob("*"))
        if path.suffix in (".cpp", ".h", ".cu")
    ]
    wrong = 0
    for path in files:
        file = str(path.relative_to(root))
        folder = nearest(file, list(MAY_INCLUDE))
        if folder is None:
            print(f"{file}: lies in no layer")
            wrong += 1
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            problem = wrong_in(file, folder, line)
            if problem:
                print(f"{file}:{number}: {problem}")
                wrong += 1
    print(f"layers: {len(files)} files, {wrong} wrong lines")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
