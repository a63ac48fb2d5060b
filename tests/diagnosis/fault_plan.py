"""What one run does: the harness draws it from a seed, and every rank of the job reads it."""

import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Plan:
    kind: str
    waiters: str  # how ranks wait for each other: plain, spin or heartbeat
    ranks: tuple[int, ...]  # that the fault strikes, ascending
    step: int  # before which it strikes
    names: tuple[str, ...]  # of the functions in which the struck ranks are then, one for each
    collective: str  # of each step
    elements: int  # of its tensor
    ddp: bool  # the step's collective is DDP's, in backward()
    seconds: float  # between two looks of what polls; of a healthy pause, in some unit
    choice: int  # among the ways that a kind has
    folder: str  # this run's own
    service: str  # HOST:PORT of a server outside the job: see programs/service.py
    dead: str  # a folder whose file server is away

    def to_text(self) -> str:
        return json.dumps(dataclasses.asdict(self))


def read_plan(text: str) -> Plan:
    fields = json.loads(text)
    fields["ranks"], fields["names"] = tuple(fields["ranks"]), tuple(fields["names"])
    return Plan(**fields)
