"""Whether an answer of `distgpu why` or of the watch is right: whom it accuses, and of being where."""

import dataclasses
import json
import re
from collections.abc import Iterable, Sequence

from cases import Case, Expected

SUBJECT = re.compile(r"ranks? (\d[\d,-]*) ")
ENDED = re.compile(r"\b(has|have) ended\b|\b(was|were) killed\b")
SAME_RANK = re.compile(r"RANK=0|same rank|(several|[2-4]) (tasks|processes) .*rank 0")
# Kinds of an answer that accuse nobody, whomever its sentences are about.
NEUTRAL = ("moving", "unmoved", "unknown", "undecided", "waiting")


@dataclasses.dataclass(frozen=True)
class Answer:
    kind: str  # empty if it is not known, as of the watch's text
    findings: tuple[str, ...]
    notes: tuple[str, ...]
    raw: str  # all of it

    def sentences(self) -> str:
        return "\n".join(self.findings + self.notes)

    def accusations(self) -> list[tuple[frozenset[int], str]]:
        """The ranks that each accusing sentence names, and the sentence; the first one first."""
        if self.kind in NEUTRAL:
            return []
        named = ((SUBJECT.match(finding), finding) for finding in self.findings)
        return [(ranks_of(match.group(1)), finding) for match, finding in named if match]


def ranks_of(text: str) -> frozenset[int]:
    """Of "0,2-3"."""
    ranks: set[int] = set()
    for part in text.strip(",").split(","):
        first, _, last = part.partition("-")
        ranks.update(range(int(first), int(last or first) + 1))
    return frozenset(ranks)


def answer_of_json(text: str) -> Answer:
    fields = json.loads(text)
    if fields["schema"] != "distgpu.why/1":
        raise ValueError(f"unknown schema {fields['schema']}")
    return Answer(fields["kind"], tuple(fields["findings"]), tuple(fields["notes"]), text)


@dataclasses.dataclass(frozen=True)
class Place:
    """The lines of the function in which the fault left a rank."""

    rank: int
    name: str
    file: str
    first: int
    last: int

    def is_in(self, text: str) -> bool:
        lines = re.findall(rf"\b{re.escape(self.file)}:(\d+)", text)
        named = re.search(rf"\b{re.escape(self.name)}\b", text)
        return bool(named) or any(self.first <= int(line) <= self.last for line in lines)


RIGHT = ("right", "")


@dataclasses.dataclass(frozen=True)
class Verdict:
    result: str  # right, wrong, missed or broken
    why: str = ""  # it is not right
    accusations: int = 0  # ranks accused
    right_accusations: int = 0


def verdict_on(
    case: Case, struck: Sequence[int], places: Sequence[Place], answer: Answer
) -> Verdict:
    accusations = answer.accusations()
    accused = union(ranks for ranks, _ in accusations)
    wanted = wanted_ranks(case, frozenset(struck), accused)
    # That a living rank has ended is wrong of any.
    falsely = union(ranks for ranks, text in accusations if ENDED.search(text) and not case.ends)
    right = accused & wanted - falsely
    if accused - right:
        of = "of having ended" if falsely else ""
        verdict = "wrong", f"accused {sorted(accused - right)} {of}".strip()
    elif wanted - accused:
        verdict = "missed", f"not accused {sorted(wanted - accused)}"
    else:
        verdict = complaint(case, places, answer)
    return Verdict(*verdict, accusations=len(accused), right_accusations=len(right))


def union(sets: Iterable[frozenset[int]]) -> frozenset[int]:
    return frozenset().union(*sets)


def wanted_ranks(case: Case, struck: frozenset[int], accused: frozenset[int]) -> frozenset[int]:
    everyone = frozenset(range(4))
    if case.expected is Expected.RANKS:
        return struck
    if case.expected is Expected.PAIRS:
        # They wait for each other, so that either may be named.
        return accused if accused in (everyone, everyone - struck) else struck
    if case.expected is Expected.SAME_RANK:
        return accused
    return frozenset()


def complaint(case: Case, places: Sequence[Place], answer: Answer) -> tuple[str, str]:
    """What is wrong with an answer that accuses the right ranks."""
    sentences = answer.sentences()
    if case.expected is Expected.SAME_RANK:
        is_reported = bool(SAME_RANK.search(sentences))
        return RIGHT if is_reported else ("missed", "the shared rank is not reported")
    if case.expected is Expected.ALL_WAIT:
        if answer.kind == "moving" or "nothing hangs" in sentences:
            return "missed", "reported as moving"
        is_reported = bool(re.search(r"\ball (4|four)\b", sentences))
        if not (is_reported and places[0].is_in(sentences)):
            return "missed", "not reported that all wait there"
    if case.expected is Expected.PAIRS and answer.kind not in ("", "other_collective"):
        return "wrong", f"reported as {answer.kind}"
    for word in case.words:
        if word not in sentences:
            return "wrong", f"does not say {word!r}"
    if case.ends and not ENDED.search(sentences):
        return "wrong", "not reported to have ended"
    for place in places if case.has_place and case.expected is Expected.RANKS else ():
        about = [text for ranks, text in answer.accusations() if place.rank in ranks]
        if not place.is_in(" ".join(about)):
            return "wrong", f"rank {place.rank} is not reported to be in {place.name}"
    return RIGHT
