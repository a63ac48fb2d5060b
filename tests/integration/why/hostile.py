"""A rank that waits in a function whose name, and whose file's, are markup."""

import signal
import types

MARKUP = "<img src=//127.0.0.1:9/x onerror=alert(1)>"


def wait() -> None:
    signal.pause()


def main() -> None:
    code = wait.__code__.replace(
        co_name=MARKUP, co_qualname=MARKUP, co_filename='"></code><script>alert(2)</script>.py'
    )
    print("waits", flush=True)
    types.FunctionType(code, globals())()


if __name__ == "__main__":
    main()
