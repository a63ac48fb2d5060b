"""All cases, the most valuable first: the minutes may end before the last."""

from gpu_kit.case import Case
from gpu_kit.cases import beside_torch, identity, launch, libraries, machine, many_ranks, one_rank

CASES: list[Case] = [
    *machine.CASES,
    *libraries.CASES,
    *identity.CASES,
    *launch.CASES,
    *one_rank.CASES,
    *many_ranks.CASES,
    *beside_torch.CASES,
]
