"""Several runs one after another in the same processes: importing takes longer than a few steps of
each.

`python -m tests.support.trainer.several OUTPUT '[["name", "profile", ["train.steps=2"]], ...]'`; a
name that comes again resumes.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path


def main(output: str, runs: str) -> None:
    from trainer.distributed.process_group import join, leave
    from trainer.loop.loop import run
    from trainer.profile import read_profile
    from trainer.validate import check

    processes = None
    for name, profile, settings in json.loads(runs):
        one = read_profile(profile, settings)
        processes = processes or join(one.train)
        check(one, processes.world_size)
        folder = Path(output) / name
        folder.mkdir(parents=True, exist_ok=True)
        run(one, folder, processes)
    leave()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)  # a failed rank must not wait for peers that will never come
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # as the trainer does: torch's threads of several runs may still end
