"""Each kind of wrong task must be found: one value of a right step is changed."""

import unittest

from task_check import check, parse_placement, parse_tasks

# Task, host, component, local rank, node id: as `-n2 -N1 : -n3 -N2` starts them,
# with the second component's second node the host of the first.
PLACES = [
    (0, "node03", 0, 0, 0),
    (1, "node03", 0, 1, 0),
    (2, "node01", 1, 0, 1),
    (3, "node01", 1, 1, 1),
    (4, "node03", 1, 0, 2),
]
LOCAL_SIZES = [2, 2, 2, 2, 1]
ADDRESSES = {"node01": "10.77.1.1", "node03": "10.77.1.3"}
PLACEMENT = "0-1,4:node03 2-3:node01"


def right_step() -> str:
    """The output of a step in which nothing is wrong."""
    return "srun: job 7 has been allocated resources\n" + "".join(
        f"task HOST={host} ADDRESS={ADDRESSES[host]} COMPONENT={component} RANK={task} WORLD_SIZE=5"
        f" LOCAL_RANK={local} LOCAL_WORLD_SIZE={local_size} NODE_RANK={node} GROUP_RANK={node}"
        f" GROUP_WORLD_SIZE=3 MASTER_ADDR=10.77.1.3 MASTER_PORT=29500 SLURM_PROCID={task}"
        f" SLURM_LOCALID={local} SLURM_NODEID={node} SLURM_STEP_NUM_TASKS=5 SLURM_JOB_ID=7"
        " SLURM_STEP_ID=0\n"
        for (task, host, component, local, node), local_size in zip(PLACES, LOCAL_SIZES)
    )


class Check(unittest.TestCase):
    """check() on a right step and on changed ones."""

    def problems(self, task: int, **changes: str | None) -> list[str]:
        """Those of the step in which one task has other values; None removes one."""
        tasks = parse_tasks(right_step())
        for name, value in changes.items():
            if value is None:
                del tasks[task][name]
            else:
                tasks[task][name] = value
        return check(tasks, 5, parse_placement(PLACEMENT))

    def test_right_step_has_no_problem(self) -> None:
        self.assertEqual(self.problems(0), [])

    def test_each_wrong_variable_is_named(self) -> None:
        for name, wanted, reason in [
            ("WORLD_SIZE", "5", "tasks seen"),
            ("LOCAL_WORLD_SIZE", "1", "tasks seen on its node"),
            ("GROUP_RANK", "2", "nodes by their lowest task"),
            ("GROUP_WORLD_SIZE", "3", "nodes seen"),
            ("MASTER_ADDR", "10.77.1.3", "eth0 of task 0's host"),
            ("MASTER_PORT", "29500", "that of task 0"),
            ("SLURM_STEP_NUM_TASKS", "5", "tasks seen"),
            ("SLURM_JOB_ID", "7", "that of task 0"),
            ("SLURM_STEP_ID", "0", "that of task 0"),
        ]:
            with self.subTest(name):
                expected = f"task 4: {name} is 9, not {wanted} ({reason})"
                self.assertEqual(self.problems(4, **{name: "9"}), [expected])
                expected = f"task 4: {name} is not set, not {wanted} ({reason})"
                self.assertEqual(self.problems(4, **{name: None}), [expected])

    def test_wrong_rank_is_named(self) -> None:
        self.assertEqual(
            self.problems(4, RANK="3"),
            [
                "task 4: RANK is 3, not 4 (SLURM_PROCID)",
                "RANK is not 0 to n-1, each once",
                "rank 3 is on node03, not node01",
                "rank 4 is on None, not node03",
            ],
        )

    def test_wrong_local_rank_is_named(self) -> None:
        self.assertEqual(
            self.problems(3, LOCAL_RANK="0"),
            [
                "task 3: LOCAL_RANK is 0, not 1 (SLURM_LOCALID)",
                "component 1 on node01: LOCAL_RANK is not 0 to n-1, each once",
            ],
        )

    def test_wrong_node_rank_is_named(self) -> None:
        self.assertEqual(
            self.problems(4, NODE_RANK="0"),
            [
                "task 4: NODE_RANK is 0, not 2 (nodes by their lowest task)",
                "NODE_RANK of the nodes is not 0 to n-1, each once",
            ],
        )

    def test_numbering_is_checked_apart_from_slurm(self) -> None:
        self.assertEqual(
            self.problems(3, LOCAL_RANK="0", SLURM_LOCALID="0"),
            ["component 1 on node01: LOCAL_RANK is not 0 to n-1, each once"],
        )
        self.assertEqual(
            self.problems(3, NODE_RANK="2"),
            [
                "task 3: NODE_RANK is 2, not 1 (nodes by their lowest task)",
                "component 1 on node01: NODE_RANK differs among its tasks",
            ],
        )

    def test_nodes_are_counted_by_their_lowest_task(self) -> None:
        # As Slurm counts them by name, or by anything else.
        tasks = parse_tasks(right_step())
        for task in tasks:
            task["SLURM_NODEID"] = str(2 - int(task["SLURM_NODEID"]))
        self.assertEqual(check(tasks, 5), [])

    def test_master_is_an_address_or_a_name_as_told(self) -> None:
        tasks = parse_tasks(right_step())
        self.assertEqual(len(check(tasks, 5, master="HOST")), 5)
        tasks = parse_tasks(right_step().replace("MASTER_ADDR=10.77.1.3", "MASTER_ADDR=node03"))
        self.assertEqual(check(tasks, 5, master="HOST"), [])

    def test_port_outside_the_range_is_found(self) -> None:
        tasks = parse_tasks(right_step().replace("29500", "65536"))
        self.assertEqual(check(tasks, 5), ["MASTER_PORT '65536' is not a port"])

    def test_missing_task_is_found(self) -> None:
        tasks = parse_tasks(right_step())[:4]
        self.assertEqual(check(tasks, 5), ["4 tasks printed, 5 were asked for"])

    def test_other_host_is_found(self) -> None:
        tasks = parse_tasks(right_step())
        placement = parse_placement("0-1:node03 2-4:node01")
        self.assertEqual(check(tasks, 5, placement), ["rank 4 is on node03, not node01"])


if __name__ == "__main__":
    unittest.main()
