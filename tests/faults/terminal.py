#!/usr/bin/env python3
"""Runs a command on a terminal of its own, and answers it.

    terminal.py COMMAND [ARGUMENT...]

The terminal has 24 lines of 80 columns; "yes" is typed once the command has printed something.
Prints what the terminal shows, and ends with the command's status.
"""

import fcntl
import os
import pty
import struct
import sys
import termios


def main() -> int:
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(sys.argv[1], sys.argv[1:])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.write(terminal, b"yes\n")
    while True:
        try:
            shown = os.read(terminal, 4096)
        except OSError:  # the other end has closed it
            break
        if not shown:
            break
        os.write(1, shown)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(main())
