#!/usr/bin/env python3
"""Runs a command on a terminal of its own, and answers it.

    terminal.py [--interrupt-at TEXT] COMMAND [ARGUMENT...]

The terminal has 24 lines of 80 columns; "yes" is typed at the start, or Ctrl-C twice when the command
has printed TEXT.
Prints what the terminal shows, and ends with the command's status.
"""

import fcntl
import os
import pty
import struct
import sys
import termios
import time


def main() -> int:
    command, awaited = sys.argv[1:], b""
    if command[0] == "--interrupt-at":
        awaited, command = command[1].encode(), command[2:]
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    if not awaited:
        os.write(terminal, b"yes\n")
    while True:
        try:
            shown = os.read(terminal, 4096)
        except OSError:  # the other end has closed it
            break
        if not shown:
            break
        os.write(1, shown)
        if awaited and awaited in shown:
            awaited = b""
            for _ in range(2):
                os.write(terminal, b"\x03")
                time.sleep(0.3)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(main())
