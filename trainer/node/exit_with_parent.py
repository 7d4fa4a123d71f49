"""A program that ends with whoever started it: `python -m trainer.node.exit_with_parent MODULE
ARGUMENTS`.

Over SSH a program outlives its connection; this one reads its input, and an end of that is its own.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading

LET_GO = 143  # as if it had been asked to end


def main() -> None:
    threading.Thread(target=_end_with_input, daemon=True).start()
    module = sys.argv[1]
    sys.argv = sys.argv[1:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _end_with_input() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os._exit(LET_GO)


if __name__ == "__main__":
    main()
