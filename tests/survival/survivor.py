"""A training that goes on from its checkpoint: five steps after that it is over.

Each rank writes its process ID and node to rank.RANK, and does what a file named oom.RANK or
hang.RANK asks for. Rank 0 saves after each step and then appends a line to history.jsonl."""

import json
import os
import pathlib
import socket
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CHECKPOINT = pathlib.Path("checkpoint.pt")
FURTHER = 5  # steps
LONGEST = 3000  # steps without a fault


def suffer(rank: int) -> None:
    if os.path.exists(f"hang.{rank}"):
        os.remove(f"hang.{rank}")
        while True:
            time.sleep(3600)
    if os.path.exists(f"oom.{rank}"):
        os.remove(f"oom.{rank}")
        hog = []
        while True:
            hog.append(b"x" * (1 << 24))


def note(step: int, is_begin: bool, nodes: list[str]) -> None:
    entry = {"time": time.time(), "step": step, "is_begin": is_begin, "nodes": nodes}
    with open("history.jsonl", "a") as history:
        history.write(json.dumps(entry) + "\n")


def main() -> None:
    rank = int(os.environ["RANK"])
    place = pathlib.Path(f"rank.{rank}")
    place.with_suffix(f".{rank}.new").write_text(f"{os.getpid()} {socket.gethostname()}")
    place.with_suffix(f".{rank}.new").rename(place)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    module = nn.Linear(16, 1)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9)
    begin, end = 0, LONGEST
    if CHECKPOINT.exists():
        state = torch.load(CHECKPOINT)
        module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        begin = state["step"]
        end = begin + FURTHER
    model = DistributedDataParallel(module)
    nodes = [""] * dist.get_world_size()
    dist.all_gather_object(nodes, socket.gethostname())
    if rank == 0:
        note(begin, True, nodes)
    for step in range(begin + 1, end + 1):
        optimizer.zero_grad()
        model(torch.randn(8, 16)).pow(2).mean().backward()
        optimizer.step()
        time.sleep(0.2)
        if rank == 0:
            state = {"model": module.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save({**state, "step": step}, "checkpoint.new")
            os.replace("checkpoint.new", CHECKPOINT)
            note(step, False, nodes)
        suffer(rank)


main()
