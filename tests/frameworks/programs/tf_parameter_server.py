#!/usr/bin/env python3
"""Trains with TensorFlow's ParameterServerStrategy: one chief, workers and parameter servers.

Each task prints its type and index as TensorFlow understood them. The chief gives the work out.
An evaluator stands outside the cluster and does nothing here.
"""

import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

import tensorflow as tf

STEPS = 60


def judge(spec: Any, resolver: Any) -> None:
    """Ends the program unless TensorFlow understood TF_CONFIG as it is meant."""
    config = json.loads(os.environ["TF_CONFIG"])
    found = {"cluster": spec, "task": {"type": resolver.task_type, "index": resolver.task_id}}
    if found != config:
        sys.exit(f"tf_parameter_server.py: TensorFlow has {found}, TF_CONFIG {config}")


def train(resolver: Any) -> int:
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        weight = tf.Variable(0.0)  # on a parameter server

    def step() -> Any:
        loss = (weight - 3.0) ** 2
        weight.assign_sub(0.1 * (weight - 3.0))
        return loss

    compiled = tf.function(step)
    losses = [coordinator.schedule(compiled) for _ in range(STEPS)]
    coordinator.join()
    first, last = float(losses[0].fetch()), float(losses[-1].fetch())
    where = weight.device.split("/job:")[1].split("/device")[0].replace("/replica:0/task:", " ")
    print(f"weight on {where}: {weight.numpy():.2f}, loss {first:.2f} -> {last:.2f}", flush=True)
    return 0 if last < 0.01 * first else 1


if __name__ == "__main__":
    # TensorFlow's servers never end by themselves: they wait here for the chief's file.
    done = Path(f"chief.{os.environ['SLURM_JOB_ID']}.{os.environ['SLURM_STEP_ID']}")
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    spec = resolver.cluster_spec().as_dict()
    judge(spec, resolver)
    rank, local = os.environ["SLURM_PROCID"], os.environ["SLURM_LOCALID"]
    me = f"{resolver.task_type} {resolver.task_id}"
    print(f"task {rank} {socket.gethostname()} {local} {me}", flush=True)
    if resolver.task_type == "evaluator":
        sys.exit(1 if "evaluator" in spec else 0)
    if resolver.task_type == "chief":
        status = train(resolver)
        done.touch()
    else:
        status = 0
        task = {"job_name": resolver.task_type, "task_index": resolver.task_id}
        server = tf.distribute.Server(spec, **task)
        while not done.exists():
            time.sleep(0.1)
    os._exit(status)  # an orderly end would wait for the other servers
