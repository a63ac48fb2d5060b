#!/usr/bin/env python3
"""Writes the hwloc XML of each machine in this folder: README.md says which ones they are.

make_topologies.py           writes the files anew
make_topologies.py --check   fails where a file differs from what would be written
"""

import sys
from pathlib import Path

from hwloc_xml import xml_text
from machines import MACHINES


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(__file__).parent
    wanted = {folder / f"{name}.xml": xml_text(machine) for name, machine in MACHINES.items()}
    if not arguments:
        for file, text in wanted.items():
            file.write_text(text)
        return 0
    wrong = sorted(set(folder.glob("*.xml")) - set(wanted))
    wrong += [
        file for file, text in wanted.items() if not file.exists() or file.read_text() != text
    ]
    for file in wrong:
        print(f"{file}: not what make_topologies.py writes", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
