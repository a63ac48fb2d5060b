#!/usr/bin/env python3
"""Starts examples/lightning_train.py as a Lightning script for Azure ML's MPI jobs starts itself.

One task per node, and Lightning starts the processes: --devices=N. Such scripts set Lightning's
variables from those of the job; process_count_per_node=1 there, so the rank is the node's.
"""

import os
import sys

sys.path.insert(0, "examples")
import lightning_train  # noqa: E402


def set_environment_from_mpi(single_node: bool) -> None:
    if single_node:
        os.environ["MASTER_ADDR"] = os.environ["AZ_BATCHAI_MPI_MASTER_NODE"]
        os.environ["MASTER_PORT"] = "54965"
    else:
        os.environ["MASTER_ADDR"] = os.environ["AZ_BATCH_MASTER_NODE"].split(":")[0]
        os.environ.setdefault("MASTER_PORT", "6105")
    os.environ["NODE_RANK"] = os.environ["OMPI_COMM_WORLD_RANK"]


if __name__ == "__main__":
    set_environment_from_mpi(single_node=os.environ["OMPI_COMM_WORLD_SIZE"] == "1")
    lightning_train.main()
