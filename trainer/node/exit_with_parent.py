"""Run a module that exits with its parent: `python -m trainer.node.exit_with_parent MODULE
ARGUMENTS`.

Over SSH a program outlives its connection; this one reads standard input and exits at its end.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading

EXIT_PARENT_GONE = 143  # as after SIGTERM


def main() -> None:
    threading.Thread(target=_end_with_input, daemon=True).start()
    module = sys.argv[1]
    sys.argv = sys.argv[1:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _end_with_input() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os._exit(EXIT_PARENT_GONE)


if __name__ == "__main__":
    main()
