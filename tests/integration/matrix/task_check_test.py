"""Each kind of wrong task must be found: one value of a right step is changed."""

import unittest

from task_check import check, parse_placement, parse_tasks

# Task, host, component, local rank, node rank, local size: as `-n2 -N1 : -n3 -N2` starts them, with
# the second component's second node the host of the first.
PLACES = [
    (0, "node03", 0, 0, 0, 2),
    (1, "node03", 0, 1, 0, 2),
    (2, "node01", 1, 0, 1, 2),
    (3, "node01", 1, 1, 1, 2),
    (4, "node03", 1, 0, 2, 1),
]
# As Slurm counts the nodes in SLURM_NODEID, which is another way.
STEP = "srun: job 7 has been allocated resources\n" + "".join(
    f"task HOST={host} ADDRESS=10.77.1.{host[-1]} COMPONENT={component} RANK={task} WORLD_SIZE=5"
    f" LOCAL_RANK={local} LOCAL_WORLD_SIZE={size} NODE_RANK={node} GROUP_RANK={node}"
    f" GROUP_WORLD_SIZE=3 MASTER_ADDR=10.77.1.3 MASTER_PORT=29500 SLURM_PROCID={task}"
    f" SLURM_LOCALID={local} SLURM_NODEID={2 - node} SLURM_STEP_NUM_TASKS=5 SLURM_JOB_ID=7"
    " SLURM_STEP_ID=0\n"
    for task, host, component, local, node, size in PLACES
)
PLACEMENT = "0-1,4:node03 2-3:node01"
LOCAL_RANKS = "component 1 on node01: LOCAL_RANK is not 0 to n-1, each once"


class Check(unittest.TestCase):
    """check() on a right step and on changed ones."""

    def problems(self, number: int, **changes: str) -> list[str]:
        """Of the step in which one task has these other values."""
        tasks = parse_tasks(STEP)
        tasks[number].update(changes)
        return check(tasks, 5, parse_placement(PLACEMENT))

    def test_each_wrong_variable_is_named(self) -> None:
        self.assertEqual(self.problems(0), [])
        for name in "WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE MASTER_ADDR".split():
            problems = self.problems(4, **{name: "9"})
            self.assertEqual([text.split(",")[0] for text in problems], [f"task 4: {name} is 9"])
        for name in "RANK MASTER_PORT SLURM_STEP_NUM_TASKS SLURM_JOB_ID SLURM_STEP_ID".split():
            self.assertIn(f"task 4: {name} is 9", self.problems(4, **{name: "9"})[0])
        self.assertEqual(self.problems(3, LOCAL_RANK="0", SLURM_LOCALID="0"), [LOCAL_RANKS])
        mismatch = "task 3: LOCAL_RANK is 0, not 1 (SLURM_LOCALID)"
        self.assertEqual(self.problems(3, LOCAL_RANK="0"), [mismatch, LOCAL_RANKS])
        self.assertIn("NODE_RANK differs", self.problems(3, NODE_RANK="2")[1])
        self.assertIn("rank 4 is on None, not node03", self.problems(4, RANK="3"))
        self.assertIn("RANK is not 0 to n-1, each once", self.problems(4, RANK="3"))

    def test_missing_values_and_tasks_are_found(self) -> None:
        tasks = parse_tasks(STEP)
        del tasks[4]["WORLD_SIZE"]
        self.assertEqual(check(tasks, 5), ["task 4: WORLD_SIZE is not set, not 5 (tasks seen)"])
        self.assertEqual(check(tasks[:4], 5), ["4 tasks printed, 5 were asked for"])
        tasks = parse_tasks(STEP.replace("29500", "65536"))
        self.assertEqual(check(tasks, 5), ["MASTER_PORT '65536' is not a port"])

    def test_master_is_an_address_or_a_name_as_told(self) -> None:
        self.assertEqual(len(check(parse_tasks(STEP), 5, master="HOST")), 5)
        tasks = parse_tasks(STEP.replace("MASTER_ADDR=10.77.1.3", "MASTER_ADDR=node03"))
        self.assertEqual(check(tasks, 5, master="HOST"), [])
