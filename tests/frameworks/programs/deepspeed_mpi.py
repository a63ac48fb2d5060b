#!/usr/bin/env python3
"""Runs examples/deepspeed_train.py with the ranks that DeepSpeed finds for an MPI job.

Where RANK and its like are missing, init_distributed() sets them: from OMPI_COMM_WORLD_* in
an Azure ML job, which AZUREML_EXPERIMENT_ID tells, else from MPI itself through mpi4py.
"""

import sys

sys.path.insert(0, "examples")
import deepspeed  # noqa: E402
import deepspeed_train  # noqa: E402

if __name__ == "__main__":
    deepspeed.init_distributed()
    deepspeed_train.main()
