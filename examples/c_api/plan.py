#!/usr/bin/env python3
"""Prints what each task of a node gets, as a launcher in Python would apply it.

    plan.py SPEC NODELIST TASKS_PER_NODE NODE      plan.py pytorch 'n[1-2]' 4 n2

It calls libdistgpu.so through ctypes; the structs are those of distgpu/mapping.h.
Exit status: 0 printed, 1 refused, 2 wrong usage.
"""

import ctypes
import sys
from ctypes import POINTER, byref, c_char, c_char_p, c_size_t, c_uint32, c_void_p
from typing import Any

distgpu = ctypes.CDLL("libdistgpu.so.0")


class Error(ctypes.Structure):
    _fields_ = [("text", c_char * 1024)]


class LayoutText(ctypes.Structure):
    _fields_ = [("size", c_size_t)] + [
        (name, c_char_p)
        for name in ("nodelist", "nodes", "ntasks", "tasks_per_node", "distribution")
    ]


class Variable(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class Task(ctypes.Structure):
    _fields_ = [
        ("rank", c_uint32),
        ("local_rank", c_uint32),
        ("node_rank", c_uint32),
        ("unset", POINTER(c_char_p)),
        ("variable_count", c_size_t),
        ("variables", POINTER(Variable)),
        ("cpus", c_char_p),
        ("gpu_count", c_size_t),
        ("gpus", POINTER(c_uint32)),
    ]


class NodePlan(ctypes.Structure):
    _fields_ = [
        ("node_name", c_char_p),
        ("node_count", c_uint32),
        ("world_size", c_uint32),
        ("address", c_char_p),
        ("port", c_uint32),
        ("task_count", c_uint32),
        ("tasks", POINTER(POINTER(Task))),
        ("warnings", POINTER(c_char_p)),
    ]


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a status, and exits with the reason if it failed."""
    error = Error()
    if getattr(distgpu, name)(*arguments, byref(error)) != 0:
        sys.exit(error.text.decode())


def texts(array: Any) -> list[str]:
    """Reads a list of texts that ends with NULL."""
    found: list[bytes] = []
    while array[len(found)] is not None:
        found.append(array[len(found)])
    return [text.decode() for text in found]


def print_task(node: str, task: Task) -> None:
    print(f"rank {task.rank} on {node}")
    for name in texts(task.unset):
        print(f"  unset {name}")
    for variable in task.variables[: task.variable_count]:
        print(f"  {variable.name.decode()}={variable.value.decode()}")


def main(spec: str, nodelist: str, tasks_per_node: str, name: str) -> None:
    request, layout, node, plan = c_void_p(), c_void_p(), c_uint32(), POINTER(NodePlan)()
    text = LayoutText(
        ctypes.sizeof(LayoutText),
        nodelist=nodelist.encode(),
        tasks_per_node=tasks_per_node.encode(),
    )
    call("distgpu_request_create", spec.encode(), byref(request))
    call("distgpu_layout_create", byref(text), byref(layout))
    call("distgpu_layout_find_node", layout, name.encode(), byref(node))
    call("distgpu_node_plan_create", request, layout, None, node, byref(plan))
    for line in texts(plan.contents.warnings):
        print(line, file=sys.stderr)
    for task in plan.contents.tasks[: plan.contents.task_count]:
        print_task(plan.contents.node_name.decode(), task.contents)
    distgpu.distgpu_node_plan_destroy(plan)
    distgpu.distgpu_layout_destroy(layout)
    distgpu.distgpu_request_destroy(request)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        print("usage: plan.py SPEC NODELIST TASKS_PER_NODE NODE", file=sys.stderr)
        sys.exit(2)
    main(*sys.argv[1:])
