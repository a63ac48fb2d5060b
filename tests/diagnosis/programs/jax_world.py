"""The same with JAX. usage: jax_world.py PLAN"""

import functools
import sys

import fault_plan
import faults
import jax
import numpy as np
from jax.experimental import multihost_utils

jax.distributed.initialize()
world = faults.Rank(fault_plan.read_plan(sys.argv[1]), jax.process_index())
if world.plan.collective == "barrier":
    faults.train(world, functools.partial(multihost_utils.sync_global_devices, "step"))
else:
    ones = np.ones(world.plan.elements, np.float32)
    faults.train(world, functools.partial(multihost_utils.process_allgather, ones))
