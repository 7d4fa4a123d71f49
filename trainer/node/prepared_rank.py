"""`python -m trainer.node.prepared_rank MODULE`: an interpreter that imports what MODULE will need,
then waits for one line of input, with the arguments, folder and last variables to run it with."""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import sys

# By the program; nothing of it touches a device, or is the user's own
IMPORTS = {
    "trainer": (
        "trainer.profile",
        "trainer.validate",
        "trainer.data.own",
        "trainer.distributed.process_group",
        "trainer.loop.loop",
        "trainer.netcheck.in_rank",
    ),
    "trainer.torchrun": ("torch.distributed.run",),
}


def main() -> None:
    module = sys.argv[1]
    gc.disable()  # what is imported stays
    try:
        for name in IMPORTS[module]:
            importlib.import_module(name)
    # A broad catch: the process that is started in its place meets the same error, and shows it
    except Exception:
        os._exit(1)
    line = sys.stdin.buffer.readline()
    if not line:
        os._exit(0)
    order = json.loads(line)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    gc.freeze()  # looking torch over for garbage takes a tenth of a second
    gc.enable()
    os.chdir(order["folder"])
    os.environ.update(order["environment"])
    sys.path[0] = order["folder"]  # as `python -m MODULE` has it there
    sys.argv = [module, *order["arguments"]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
