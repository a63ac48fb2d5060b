"""The command line of distgpu-convert."""

import argparse
import difflib
import os
import stat
import sys
from typing import NoReturn, Optional

from distgpu_convert.script import Conversion, convert_script
from distgpu_convert.slurm import Problem
from distgpu_convert.text import lines_of

LARGEST = 4 << 20
CONVERTED, LEFT, USAGE = 0, 1, 2
JOBS = (".yml", ".yaml", ".py")


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        complain(f"command line: {message}; see distgpu convert --help")
        sys.exit(USAGE)


def complain(text: object) -> None:
    print(f"distgpu: {printable(str(text))}", file=sys.stderr)


def printable(text: str) -> str:
    """What is quoted, anybody may have written."""
    return "".join(c if c.isprintable() else "?" for c in text)


def read(file: str) -> str:
    try:
        with open(file, "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise Problem(f"{file}: not a regular file; name a file")
            content = opened.read(LARGEST + 1)
    except OSError as error:
        raise Problem(f"{file}: {error.strerror}; name a file that this user can read")
    if len(content) > LARGEST:
        raise Problem(f"{file}: larger than 4 MiB; name a smaller file")
    return content.decode("utf-8", "surrogateescape")


def convert(file: str, text: str) -> Conversion:
    """A batch script, or by the ending of its name an Azure ML job."""
    if file.endswith(JOBS):
        from distgpu_convert.azure import convert_job_file  # takes a while to import

        return convert_job_file(file, text)
    if "\r\n" in text:
        line = text.count("\n", 0, text.index("\r\n")) + 1
        raise Problem(
            f"{file}:{line}: the line ends in \\r\\n, and sbatch refuses scripts with such lines; "
            f"remove each \\r: sed -i 's/\\r$//' {file}"
        )
    return convert_script(text)


def write_new(path: str, text: str) -> int:
    """Never over a file that is there."""
    try:
        with open(path, "x", encoding="utf-8", errors="surrogateescape", newline="") as new:
            new.write(text)
        return CONVERTED
    except FileExistsError:
        complain(f"{path}: is there already; name another file with --output")
    except OSError as error:
        complain(f"{path}: {error.strerror}; name a file in a writable folder")
    return USAGE


def main(words: Optional[list[str]] = None) -> int:
    parser = Parser(prog="distgpu convert", description=__doc__)
    parser.add_argument("file", metavar="FILE", help="a batch script, or an Azure ML job")
    parser.add_argument("-o", "--output", metavar="NEW", help="write the new script to NEW")
    given = parser.parse_args(words)
    status = USAGE
    try:
        before = read(given.file)
        status = LEFT
        conversion = convert(given.file, before)
    except Problem as problem:
        complain(problem)
        return status
    except RecursionError:
        complain(f"{given.file}: nested too deeply; it stays as it is")
        return LEFT
    for line, note in conversion.notes:
        place = f":{line}" if line else ""
        print(f"{given.file}{place}: {printable(note)}", file=sys.stderr)
    if not conversion.script:
        lines = "see docs/frameworks.md for the line of each framework"
        complain(f"{given.file}: no training in it was converted; {lines}")
        return LEFT
    if given.output:
        return write_new(given.output, conversion.script)
    shown = conversion.script
    if not given.file.endswith(JOBS):
        sides = lines_of(before), lines_of(shown)
        diff = difflib.unified_diff(*sides, given.file, given.file + " (converted)")
        no_end = "\n\\ No newline at end of file\n"
        shown = "".join(line if line.endswith("\n") else line + no_end for line in diff)
    sys.stdout.buffer.write(shown.encode("utf-8", "surrogateescape"))
    return CONVERTED
