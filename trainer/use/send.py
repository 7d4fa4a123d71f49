"""`python -m trainer.use.send RUN-or-CHECKPOINT [--have ORIGIN]`: an exported model on standard
output, for a caller on another machine.

Each file is a line of JSON with its name, size and checksum, then its bytes; the last line is the
result. With `--have`, a model of the same checkpoint is not sent again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import IO

from trainer.checkpoint.manifest import MARKER
from trainer.errors import TrainerError
from trainer.export import export, find_checkpoint

_CHUNK_BYTES = 1 << 20


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("trainer.use.send", description=__doc__)
    parser.add_argument("source")
    parser.add_argument("--have", default="")
    options = parser.parse_args(arguments)
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no part of it
    try:
        checkpoint = find_checkpoint(Path(options.source))
        origin = hashlib.sha256((checkpoint / MARKER).read_bytes()).hexdigest()
        sizes: dict[str, int] = {}
        if origin != options.have:
            with tempfile.TemporaryDirectory(dir=_room(checkpoint)) as folder:
                export(checkpoint, Path(folder))
                for path in sorted(path for path in Path(folder).iterdir() if path.is_file()):
                    sizes[path.name] = _send(path, out)
        result = {"checkpoint": checkpoint.name, "origin": origin, "files": sizes}
        out.write((json.dumps({"result": result}) + "\n").encode())
        out.flush()
    except TrainerError as error:
        print(f"export: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _room(checkpoint: Path) -> Path | None:
    """Beside the run, where there is room for a model; /tmp may be small."""
    run = checkpoint.parent.parent
    return run if os.access(run, os.W_OK) else None


def _send(path: Path, out: IO[bytes]) -> int:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
        size = file.tell()
        header = {"name": path.name, "size": size, "sha256": digest.hexdigest()}
        out.write((json.dumps(header) + "\n").encode())
        file.seek(0)
        while chunk := file.read(_CHUNK_BYTES):
            out.write(chunk)
    out.flush()
    return size


if __name__ == "__main__":
    sys.exit(main())
