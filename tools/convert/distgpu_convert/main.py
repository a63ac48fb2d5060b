"""The command line of distgpu-convert."""

import argparse
import difflib
import io
import os
import sys
from typing import NoReturn, Optional

from distgpu_convert.script import Conversion, convert_script
from distgpu_convert.slurm import Problem

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
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def read(file: str) -> str:
    if os.path.exists(file) and not os.path.isfile(file):  # to open a FIFO would wait for a writer
        raise Problem(f"{file}: not a regular file; name a file")
    with open(file, "rb") as opened:
        content = opened.read(LARGEST + 1)
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
        remedy = f"remove each \\r: sed -i 's/\\r$//' {file}"
        raise Problem(f"{file}:{line}: the line ends in \\r\\n, which sbatch refuses; {remedy}")
    return convert_script(text)


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
        for line, note in conversion.notes:
            place = f":{line}" if line else ""
            print(f"{given.file}{place}: {printable(' '.join(note.split()))}", file=sys.stderr)
        if not conversion.script:
            lines = "see docs/frameworks.md for the line of each framework"
            raise Problem(f"{given.file}: no training in it was converted; {lines}")
        if given.output:  # never over a file that is there
            status = USAGE
            with open(given.output, "xb") as new:
                new.write(conversion.script.encode("utf-8", "surrogateescape"))
            return CONVERTED
    except Problem as problem:
        complain(problem)
        return status
    except OSError as error:
        remedy = f"{error.strerror}; name a file that this user can use"
        if isinstance(error, FileExistsError):
            remedy = "is there already; name another file with --output"
        complain(f"{error.filename}: {remedy}")
        return USAGE
    except RecursionError:
        complain(f"{given.file}: nested too deeply; it stays as it is")
        return LEFT
    shown = conversion.script
    if not given.file.endswith(JOBS):
        sides = list(io.StringIO(before)), list(io.StringIO(shown))
        diff = difflib.unified_diff(*sides, given.file, given.file + " (converted)")
        no_end = "\n\\ No newline at end of file\n"
        shown = "".join(line if line.endswith("\n") else line + no_end for line in diff)
    sys.stdout.buffer.write(shown.encode("utf-8", "surrogateescape"))
    return CONVERTED
