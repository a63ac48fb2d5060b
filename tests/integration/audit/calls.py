#!/usr/bin/env python3
"""Tells from strace's output (-f -yy) what each process opened and whom it addressed.

Prints a line for each call: effective user id, program, call, path or address, parted by
tabs. strace shows neither the user id nor the program, so both are followed through
setresuid, execve and fork.
"""
import os
import re
import sys
from dataclasses import dataclass, field

OPENS = ("open", "openat", "creat", "execve")
SENDS = ("sendto", "sendmsg", "sendmmsg")
FORKS = ("fork", "vfork", "clone", "clone3")
USER_IDS = {"setuid": 0, "setreuid": 1, "setresuid": 1}  # where the effective one stands


@dataclass
class Call:
    start: int
    task: int
    name: str
    arguments: str
    result: int


@dataclass
class Task:
    """What a thread became, each with the line from which on it holds."""

    parent: "Task | None" = None
    born: int = 0
    user: list[tuple[int, str]] = field(default_factory=list)
    program: list[tuple[int, str]] = field(default_factory=list)

    def value(self, what: str, line: int) -> str:
        for since, value in reversed(getattr(self, what)):
            if since <= line:
                return str(value)
        return self.parent.value(what, self.born) if self.parent else "?"


def read_calls(lines: list[str]) -> list[Call]:
    """The calls in the order in which they began; strace splits those that others interrupt."""
    calls = []
    begun: dict[int, tuple[int, str]] = {}
    for number, line in enumerate(lines):
        task_text, _, text = line.strip().partition(" ")
        task, text, start = int(task_text), text.strip(), number
        if text.endswith("<unfinished ...>"):
            begun[task] = (number, text.removesuffix("<unfinished ...>"))
            continue
        if resumed := re.match(r"<\.\.\. \w+ resumed>", text):
            start, first = begun.pop(task, (number, ""))
            text = first + text[resumed.end() :]
        if match := re.match(r"(\w+)\((.*)\)\s+= (-?\d+)", text):
            calls.append(Call(start, task, match[1], match[2], int(match[3])))
    return sorted(calls, key=lambda call: call.start)


def follow(calls: list[Call], root: int) -> dict[int, Task]:
    tasks = {call.task: Task() for call in calls}
    for call in calls:
        task = tasks[call.task]
        if call.name in FORKS and call.result > 0:
            child = tasks.setdefault(call.result, Task())
            child.parent, child.born = task, call.start
        elif call.name == "execve" and call.result == 0:
            task.program.append((call.start + 1, os.path.basename(path_of(call))))
        elif call.name in USER_IDS and call.result == 0:
            user = call.arguments.split(", ")[USER_IDS[call.name]]
            if user != "-1":
                task.user.append((call.start, user))
    for task in tasks.values():
        if task.parent is None:
            task.user.insert(0, (0, str(root)))
            task.program.insert(0, (0, "slurmd"))
    return tasks


def path_of(call: Call) -> str:
    folder = re.match(r"[^,\"]*<(.*?)>, ", call.arguments)
    name = re.search(r'"([^"]*)"', call.arguments)
    return os.path.join(folder[1] if folder else "", name[1] if name else "?")


def address_of(call: Call) -> str:
    if path := re.search(r'sun_path=@?"([^"]*)"', call.arguments):
        return path[1]
    port = re.search(r"htons\((\d+)\)", call.arguments)
    host = re.search(r'inet_addr\("([^"]*)"\)|"([^"]*)", &sin6_addr', call.arguments)
    if port and host:
        return f"[{host[1] or host[2]}]:{port[1]}"
    descriptor = re.match(r"\d+<(.*?)>, ", call.arguments)
    return descriptor[1] if descriptor else "?"


def main() -> None:
    calls = read_calls(sys.stdin.read().splitlines())
    tasks = follow(calls, root=0)
    for call in calls:
        if call.name in OPENS:
            what = path_of(call)
        elif call.name in SENDS or call.name in ("connect", "bind"):
            what = address_of(call)
        else:
            continue
        task = tasks[call.task]
        print(task.value("user", call.start), task.value("program", call.start), end="\t", sep="\t")
        print(call.name, what, sep="\t")


main()
