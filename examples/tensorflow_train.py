#!/usr/bin/env python3
"""Trains a small model with MultiWorkerMirroredStrategy and checks that all workers agree.

    srun -N4 --ntasks-per-node=1 --gres=gpu:4 --distgpu=tensorflow \\
        python3 examples/tensorflow_train.py

One worker per task, with all the GPUs that it sees, or on its CPUs.
Exit status: 0 all ranks agree and the loss fell, 1 they do not, 2 wrong usage.
"""

import hashlib
import json
import os
import socket
import sys
from typing import Any

if "TF_CONFIG" not in os.environ:
    print(
        "tensorflow_train.py: TF_CONFIG: not set; start it with "
        "'srun --distgpu=tensorflow python3 tensorflow_train.py'",
        file=sys.stderr,
    )
    sys.exit(2)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
import tensorflow as tf  # noqa: E402

SAMPLES, FEATURES, HIDDEN, STEPS = 4096, 16, 32, 100


class Ranks:
    """Gathers texts from all workers with the strategy's own collective."""

    def __init__(self, strategy: Any) -> None:
        resolver = strategy.cluster_resolver
        self.strategy = strategy
        self.rank: int = resolver.task_id
        self.addresses: list[str] = resolver.cluster_spec().as_dict()["worker"]

    def gather(self, text: str) -> list[str]:
        """The text of every worker, in the order of the ranks, on every worker."""
        letters = tf.constant(list(text.encode().ljust(128)[:128]), shape=(1, 128))
        per_replica = self.strategy.experimental_distribute_values_from_function(lambda _: letters)
        rows = self.strategy.gather(per_replica, axis=0).numpy()
        texts = [bytes(row.astype("uint8")).decode().rstrip() for row in rows]
        return texts[:: len(texts) // len(self.addresses)]  # a worker has a replica for each GPU

    def print_table(self) -> int:
        """Prints the table of ranks and returns the number of nodes."""
        host, local = socket.gethostname(), os.environ.get("SLURM_LOCALID", "0")
        address, gpus = self.addresses[self.rank], len(tf.config.list_logical_devices("GPU"))
        rows = self.gather(f"{self.rank:>4}  {host:<12} {local:>5} {gpus:>4}  {address}")
        if self.rank == 0:
            print("rank  host         local gpus  address", *rows, sep="\n")
        return len(set(self.gather(host)))

    def are_planned(self) -> bool:
        """Whether each worker has the rank of its TF_CONFIG, and all have its cluster."""
        config = json.loads(os.environ["TF_CONFIG"])
        mine = config["task"] == {"type": "worker", "index": self.rank}
        mine = mine and config["cluster"] == {"worker": self.addresses}
        answers = self.gather(f"{mine} {self.rank}")
        return answers == [f"True {rank}" for rank in range(len(self.addresses))]


def make_data(seed: int) -> tuple[Any, Any]:
    """Points that a random plane separates, the same on every rank."""
    points = tf.random.stateless_normal((SAMPLES, FEATURES), seed=(seed, 0))
    plane = tf.random.stateless_normal((FEATURES, 1), seed=(seed, 1))
    return points, tf.cast(points @ plane > 0, tf.float32)


def train(strategy: Any) -> bool:
    ranks = Ranks(strategy)
    rank, count = ranks.rank, len(ranks.addresses)
    nodes = ranks.print_table()

    def variable(shape: tuple[int, int], number: int) -> Any:
        # Different on each worker, until the strategy copies worker 0's. Replicas'
        # changes are averaged, which is the all-reduce of data-parallel training.
        start = tf.random.stateless_normal(shape, seed=(rank, number)) / shape[0] ** 0.5
        return tf.Variable(start, aggregation=tf.VariableAggregation.MEAN)

    with strategy.scope():
        weights = [variable((FEATURES, HIDDEN), 1), variable((HIDDEN, 1), 2)]

    def replica_step(points: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = tf.nn.relu(points @ weights[0]) @ weights[1]
            losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = tf.reduce_mean(losses)
        for weight, gradient in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(0.5 * gradient)
        return loss

    def step(points: Any, labels: Any) -> Any:
        losses = strategy.run(replica_step, args=(points, labels))
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)

    compiled = tf.function(step)
    share = tuple(part[rank::count] for part in make_data(seed=1))
    losses = []
    for number in range(STEPS):
        losses.append(float(compiled(*share)))
        if rank == 0 and number % 20 == 19:
            print(f"step {number + 1}: loss {losses[-1]:.3f}", flush=True)

    own = b"".join(weight.numpy().tobytes() for weight in weights)
    checksums = set(ranks.gather(hashlib.sha256(own).hexdigest()[:12]))
    same, fell = ranks.are_planned() and len(checksums) == 1, losses[-1] < losses[0]
    if rank == 0:
        who = f"{count} ranks on {nodes} node{'s' if nodes > 1 else ''}"
        fall = f"loss {losses[0]:.3f} -> {losses[-1]:.3f}{'' if fell else ' DID NOT FALL'}"
        found = " ".join(sorted(checksums))
        print(f"{who} {'agree' if same else 'DISAGREE'}: {fall}, parameters {found}", flush=True)
    return same and fell


if __name__ == "__main__":
    succeeded = train(tf.distribute.MultiWorkerMirroredStrategy())
    sys.exit(0 if succeeded else 1)
