#!/usr/bin/env python3
"""Trains a small model with Megatron Core's tensor parallelism and checks that all ranks agree.

    srun -N4 --ntasks-per-node=4 --gres=gpu:4 --distgpu=megatron python3 examples/megatron_train.py

One process per GPU; without GPUs it trains on the CPUs. Each layer is split over two ranks
(--tensor-parallel=N), and each such group trains on its own share of the data.
Exit status: 0 all ranks agree and the loss fell, 1 they do not, 2 wrong usage.
"""

# mypy: allow-subclassing-any
import argparse
import hashlib
import os
import socket
import sys
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from megatron.core import ModelParallelConfig, parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import Tensor, nn

SAMPLES, FEATURES, HIDDEN, BATCH, EPOCHS = 4096, 16, 32, 32, 5


def require_launcher() -> None:
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        print(
            f"megatron_train.py: {', '.join(missing)}: not set; start it with "
            "'srun --distgpu=megatron python3 megatron_train.py'",
            file=sys.stderr,
        )
        sys.exit(2)


def choose_device() -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    # A task that sees only one GPU (--gpus-per-task=1) numbers it 0.
    index = int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count()
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


def gather(value: Any, group: Any = None) -> list[Any]:
    """The value of every rank of the group, by default of all, in the order of the ranks."""
    values = [None] * dist.get_world_size(group)
    dist.all_gather_object(values, value, group=group)
    return values


def print_ranks(device: torch.device) -> int:
    """Prints the table of ranks and returns the number of nodes."""
    tensor = parallel_state.get_tensor_model_parallel_rank()
    data = parallel_state.get_data_parallel_rank()
    row = (dist.get_rank(), socket.gethostname(), os.environ["LOCAL_RANK"], tensor, data, device)
    rows = gather([str(cell) for cell in row])
    if dist.get_rank() == 0:
        for cells in [["rank", "host", "local", "tensor", "data", "device"], *rows]:
            print("{:>4}  {:<12} {:>5} {:>6} {:>4}  {}".format(*cells))
    return len({host for _, host, *_ in rows})


class Classifier(nn.Module):
    """Learns on which side of a plane points are; its hidden units are split over ranks."""

    def __init__(self, config: ModelParallelConfig) -> None:
        super().__init__()
        init = nn.init.xavier_uniform_
        self.wide = ColumnParallelLinear(FEATURES, HIDDEN, config=config, init_method=init)
        self.narrow = RowParallelLinear(
            HIDDEN,
            1,
            config=config,
            init_method=init,
            bias=True,
            input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, points: Tensor) -> Tensor:
        hidden, _ = self.wide(points)
        logits, _ = self.narrow(torch.relu(hidden))
        return logits  # type: ignore[no-any-return]


def make_data(seed: int) -> tuple[Tensor, Tensor]:
    """Points that a random plane separates: those of this rank's data-parallel group."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(SAMPLES, FEATURES, generator=generator)
    labels = (points @ torch.randn(FEATURES, 1, generator=generator) > 0).float()
    share = parallel_state.get_data_parallel_rank()
    step = parallel_state.get_data_parallel_world_size()
    return points[share::step], labels[share::step]


def train_epoch(
    model: nn.Module, optimizer: torch.optim.Optimizer, points: Tensor, labels: Tensor
) -> float:
    """One pass over the data; the mean loss over all ranks."""
    group, losses = parallel_state.get_data_parallel_group(), []
    for batch, truth in zip(points.split(BATCH), labels.split(BATCH)):
        optimizer.zero_grad()
        loss: Tensor = nn.functional.binary_cross_entropy_with_logits(model(batch), truth)
        loss.backward()
        # Megatron's own wrapper, which averages the gradients as well, needs GPUs.
        for gradient in [part.grad for part in model.parameters() if part.grad is not None]:
            dist.all_reduce(gradient, group=group)
            gradient.div_(group.size())
        optimizer.step()
        losses.append(loss.detach())
    mean = torch.stack(losses).mean()
    dist.all_reduce(mean)
    return float(mean) / dist.get_world_size()


def checksum(model: nn.Module) -> str:
    """Checksum of all ranks' parts of the parameters, in the order of the tensor-parallel group."""
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().cpu().numpy().tobytes())
    parts = gather(digest.hexdigest(), parallel_state.get_tensor_model_parallel_group())
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:12]


def finish(succeeded: bool) -> NoReturn:
    """Ends the process without torch's clean-up, in which torch 2.15 sometimes aborts."""
    dist.destroy_process_group()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if succeeded else 1)


def main() -> NoReturn:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--tensor-parallel", type=int, default=2, help="ranks that share a layer")
    tensor_parallel = parser.parse_args().tensor_parallel
    require_launcher()
    device = choose_device()
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=tensor_parallel)
    nodes = print_ranks(device)

    torch.manual_seed(1)  # the same on each rank, as Megatron's layers expect
    config = ModelParallelConfig(
        tensor_model_parallel_size=tensor_parallel, use_cpu_initialization=True
    )
    model = Classifier(config).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    points, labels = (part.to(device) for part in make_data(seed=1))
    losses = []
    for epoch in range(EPOCHS):
        losses.append(train_epoch(model, optimizer, points, labels))
        if dist.get_rank() == 0:
            print(f"epoch {epoch + 1}: loss {losses[-1]:.3f}", flush=True)

    checksums = gather(checksum(model))
    same, fell = len(set(checksums)) == 1, losses[-1] < losses[0]
    if dist.get_rank() == 0:
        who = f"{len(checksums)} ranks on {nodes} node{'s' if nodes > 1 else ''}"
        fall = f"loss {losses[0]:.3f} -> {losses[-1]:.3f}{'' if fell else ' DID NOT FALL'}"
        found = " ".join(sorted(set(checksums)))
        print(f"{who} {'agree' if same else 'DISAGREE'}: {fall}, parameters {found}")
    finish(same and fell)


if __name__ == "__main__":
    main()
