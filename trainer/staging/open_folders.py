"""`python -m trainer.staging.open_folders --user 1000 FOLDER ...`: folders of a claim that the
images' user may write to; only these folders are made or given to that user, never what is in them.

It runs as root before the program that needs them: the root of an NFS or Lustre file system belongs
to root, and a pod's fsGroup does not apply there. With --verify it runs as the images' user and
says what still cannot be written.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

RESULT = "result "
NOT_WRITABLE = 5


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("trainer.staging.open_folders", description=__doc__)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--user", type=int, default=1000)
    parser.add_argument("--note", default="", help="a file that keeps which folders changed")
    parser.add_argument("--verify", action="store_true", help="change nothing")
    options = parser.parse_args(arguments)
    if options.verify:
        return _verify(options.folders, Path(options.note))
    changed = [folder for folder in options.folders if _opened(folder, options.user)]
    if options.note:
        Path(options.note).write_text(json.dumps(changed))
    return 0


def _opened(folder: str, user: int) -> bool:
    try:
        changed = open_folder(Path(folder), user)
    except OSError as error:
        # A server that maps users itself (EFS access points, squashed roots) decides who may
        # write; the next program says so if it may not.
        print(f"{folder} stays as it is: {error.strerror}", flush=True)
        return False
    if changed:
        print(f"{folder} is now writable for user {user}", flush=True)
    return changed


def open_folder(folder: Path, user: int) -> bool:
    """Whether anything changed. A folder that belongs to another user than root stays theirs."""
    made = not folder.is_dir()
    folder.mkdir(parents=True, exist_ok=True)
    status = folder.stat()
    if status.st_uid != 0 or user == 0 or status.st_mode & 0o002:
        return made
    os.chown(folder, user, user)
    return True


def _verify(folders: list[str], note: Path) -> int:
    refused = [folder for folder in folders if not os.access(folder, os.W_OK)]
    for folder in refused:
        print(
            f"{folder} cannot be written by user {os.getuid()}; on the file server: mkdir -p the"
            f" folder and chown it to {os.getuid()}",
            flush=True,
        )
    try:
        changed = json.loads(note.read_text())
    except (OSError, ValueError):
        changed = []
    print(RESULT + json.dumps({"changed": bool(changed), "opened": changed}), flush=True)
    return NOT_WRITABLE if refused else 0


if __name__ == "__main__":
    sys.exit(main())
