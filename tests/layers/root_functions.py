"""Which of the project's functions slurmstepd can run as root, from the plugin's own machine code.

    root_functions.py PLUGIN            prints them, a line each
    root_functions.py PLUGIN LIST       compares them with a list; status 1 where they differ

Whatever the callbacks that Slurm calls as root can reach is one of them: by a call, a jump, or the
address of a function taken. What a virtual function does is not seen (reading and setting a
variable of the step is all that the plugin has of that kind), and neither is what the compiler
inlined: the list is that of one compiler. What runs in a process that has become the user's is on
it too.
"""

import collections
import pathlib
import re
import subprocess
import sys

# Slurm calls user_init and task_init as the user, and everything else in slurmstepd as root.
CALLED_AS_ROOT = [
    "on_init_post_opt",
    "on_task_post_fork",
    "on_task_init_privileged",
    "on_task_exit",
]
# These read text that a user can forge.
READERS = re.compile(
    r"distgpu::(parse_spec|decode|read_layout_line|derive_layout|plan|collect_step"
    r"|collect_enabled_step|read_json|read_node_facts|find_layout|find_topology)$|nlohmann"
)

FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
REFERENCE = re.compile(r"<([^<>+]+)>$")
CLONE = re.compile(r"\.(part|isra|constprop|cold|lto_priv|localalias)(\.\d+)?")


def run(*command: str, text: str | None = None) -> str:
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout


def references(plugin: pathlib.Path) -> dict[str, set[str]]:
    """What each function of the plugin calls or takes the address of, by their symbols."""
    found: dict[str, set[str]] = collections.defaultdict(set)
    current = ""
    for line in run("objdump", "--disassemble", "--no-show-raw-insn", str(plugin)).splitlines():
        if function := FUNCTION.match(line):
            current = CLONE.sub("", function[1])
            found[current].update()
        elif reference := REFERENCE.search(line):
            found[current].add(CLONE.sub("", reference[1].removesuffix("@plt")))
    return found


def name_of(demangled: str) -> str:
    """Without parameters, template arguments and what the compiler added: "distgpu::a::b"."""
    name, depth = "", 0
    for character in demangled.replace("(anonymous namespace)::", "").replace("operator()", "call"):
        if character in "<(":
            depth += 1
        if depth == 0:
            name += character
        if character in ">)":
            depth -= 1
    name = re.sub(r"\[.*|::\{lambda.*", "", name).strip().removesuffix(" const")
    return name.split(" ")[-1]


def root_functions(plugin: pathlib.Path) -> list[str]:
    calls = references(plugin)
    symbols = sorted({*calls, *(each for all_of in calls.values() for each in all_of)})
    demangled = dict(zip(symbols, run("c++filt", text="\n".join(symbols)).splitlines()))
    reached = set()
    waiting = [
        symbol
        for symbol in calls
        if name_of(demangled[symbol]) in {f"distgpu::StepdSide::{name}" for name in CALLED_AS_ROOT}
    ]
    while waiting:
        symbol = waiting.pop()
        if symbol not in reached:
            reached.add(symbol)
            waiting += calls.get(symbol, ())
    names = {name_of(demangled[symbol]) for symbol in reached if symbol in calls}
    return sorted(name for name in names if name.startswith(("distgpu::", "nlohmann")))


def main() -> int:
    plugin, *lists = map(pathlib.Path, sys.argv[1:])
    now = root_functions(plugin)
    if not lists:
        print("\n".join(now))
        return 0
    listed = lists[0].read_text().split()
    for name in sorted({*now} - {*listed}):
        print(f"{name}: can run as root, and is not on the list")
    for name in sorted({*listed} - {*now}):
        print(f"{name}: is on the list, and cannot run as root")
    readers = [name for name in now if READERS.search(name)]
    for name in readers:
        print(f"{name}: reads what a user wrote, and can run as root")
    return 1 if readers or now != sorted(listed) else 0


if __name__ == "__main__":
    sys.exit(main())
