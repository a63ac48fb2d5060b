#!/usr/bin/env python3
"""Denies device files to the processes of a control group of version 2.

    device_group.py GROUP MAJOR MINOR...

Of the devices with this major number the group's processes may use these minors only. A program of
the kernel's says so, as one does for Slurm's ConstrainDevices; no controller is needed.
"""

import ctypes
import os
import struct
import sys

BPF = 321  # the number of bpf(2) on x86_64
PROG_LOAD, PROG_ATTACH = 5, 8
TYPE_CGROUP_DEVICE, ATTACH_CGROUP_DEVICE = 15, 6
LOAD_WORD, MOVE, IF_EQUAL, GO, EXIT = 0x61, 0xB7, 0x15, 0x05, 0x95
MAJOR_AT, MINOR_AT = 4, 8  # in struct bpf_cgroup_dev_ctx


def instruction(code: int, to: int = 0, of: int = 0, offset: int = 0, value: int = 0) -> bytes:
    return struct.pack("<BBhi", code, of << 4 | to, offset, value)


def program(major: int, minors: list[int]) -> bytes:
    """Returns 1, which allows, unless the major is this one and the minor none of these."""
    steps = [
        instruction(LOAD_WORD, 2, 1, MAJOR_AT),
        instruction(LOAD_WORD, 3, 1, MINOR_AT),
        instruction(MOVE, 0, value=1),
        instruction(IF_EQUAL, 2, offset=1, value=major),
        instruction(EXIT),
    ]
    for minor in minors:
        steps += [instruction(IF_EQUAL, 3, offset=len(minors) - minors.index(minor), value=minor)]
    steps += [instruction(MOVE, 0, value=0), instruction(EXIT)]
    return b"".join(steps)


def bpf(command: int, attributes: bytes) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(BPF, command, attributes, len(attributes))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


def main() -> int:
    group, major, *minors = sys.argv[1:]
    text = ctypes.create_string_buffer(program(int(major), [int(minor) for minor in minors]))
    licence = ctypes.create_string_buffer(b"GPL")
    addresses = ctypes.addressof(text), ctypes.addressof(licence)
    count = (len(text) - 1) // 8
    loaded = bpf(PROG_LOAD, struct.pack("<IIQQ", TYPE_CGROUP_DEVICE, count, *addresses))
    folder = os.open(group, os.O_RDONLY)
    bpf(PROG_ATTACH, struct.pack("<IIII", folder, loaded, ATTACH_CGROUP_DEVICE, 0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
