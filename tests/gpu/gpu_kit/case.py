"""A case, and how it ended."""

import dataclasses
import enum
from collections.abc import Callable
from typing import Any

from gpu_kit.kit import Kit


class Status(enum.Enum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclasses.dataclass
class Outcome:
    """How a case ended: one line, and what is worth keeping."""

    status: Status
    line: str
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    text: str = ""  # as a machine printed it


def passed(line: str, **facts: Any) -> Outcome:
    return Outcome(Status.PASSED, line, facts)


def skipped(line: str) -> Outcome:
    return Outcome(Status.SKIPPED, line)


class Wrong(Exception):
    """What a case saw is not what it must be."""

    def __init__(self, line: str, text: str = "", **facts: Any) -> None:
        super().__init__(line)
        self.outcome = Outcome(Status.FAILED, line, facts, text)


def expect(condition: bool, line: str, text: str = "", **facts: Any) -> None:
    if not condition:
        raise Wrong(line, text, **facts)


@dataclasses.dataclass(frozen=True)
class Case:
    """One thing to find out. `limit`: the seconds that it may take."""

    name: str
    about: str
    limit: int
    run: Callable[[Kit], Outcome]
    # Of "gpu" (a real one), "torch" (one that sees the GPU) and "sanitizer"; a case for which one
    # is missing is skipped by name.
    needs: tuple[str, ...] = ()
