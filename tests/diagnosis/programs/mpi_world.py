"""The same with MPI, whose ranks spin where they wait. usage: mpi_world.py PLAN"""

import functools
import sys

import fault_plan
import faults
from mpi4py import MPI

world = faults.Rank(fault_plan.read_plan(sys.argv[1]), MPI.COMM_WORLD.Get_rank())
if world.plan.collective == "barrier":
    faults.train(world, MPI.COMM_WORLD.Barrier)
else:
    faults.train(world, functools.partial(MPI.COMM_WORLD.allreduce, 1))
