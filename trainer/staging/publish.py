"""`python -m trainer.staging.publish RUN s3://BUCKET/FOLDER`: a run's model in a store, described
last; again changes nothing.

Credentials are those of whoever runs it: in a pod, of its service account's role.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from trainer.checkpoint.manifest import MARKER
from trainer.checkpoint.store_upload import check_store, reason
from trainer.errors import BadInput, TrainerError
from trainer.export import export, find_checkpoint
from trainer.staging.retryable_errors import may_pass

RESULT = "result "
DESCRIPTION = "exported.json"
INTERRUPTED = 75


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("trainer.staging.publish", description=__doc__)
    parser.add_argument(
        "source", help="a run's output folder (its newest checkpoint), or one checkpoint"
    )
    parser.add_argument("to", help="s3://BUCKET/FOLDER, gs://BUCKET/FOLDER")
    asked = parser.parse_args(arguments)
    try:
        check_store("--to", asked.to)
        checkpoint = find_checkpoint(Path(asked.source))
        told = publish(checkpoint, asked.to)
    except TrainerError as error:
        print(f"export: {error}", flush=True)
        return error.exit_code
    except Exception as error:  # every store's library has errors of its own
        print(f"export: {asked.to}: {reason(error)}", flush=True)
        return INTERRUPTED if may_pass(error) else BadInput.exit_code
    print(RESULT + json.dumps(told), flush=True)
    return 0


def publish(checkpoint: Path, to: str) -> dict[str, Any]:
    import fsspec

    files, base = fsspec.core.url_to_fs(to.rstrip("/"))
    origin = hashlib.sha256((checkpoint / MARKER).read_bytes()).hexdigest()
    earlier = _description(files, base)
    told = {"to": to, "checkpoint": checkpoint.name}
    if earlier and earlier.get("origin") == origin and not _missing(files, base, earlier["files"]):
        return {**told, "changed": False, "files": earlier["files"]}
    with tempfile.TemporaryDirectory() as folder:
        export(checkpoint, Path(folder))
        paths = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        sizes = {str(path.relative_to(folder)): path.stat().st_size for path in paths}
        for name, size in sizes.items():
            print(f"{name} ({size} bytes) -> {to}", flush=True)
            files.put_file(str(Path(folder, name)), f"{base}/{name}")
    missing = _missing(files, base, sizes)
    if missing:
        raise BadInput(f"{to}: {missing}")
    files.pipe_file(
        f"{base}/{DESCRIPTION}", json.dumps({**told, "origin": origin, "files": sizes}).encode()
    )
    return {**told, "changed": True, "files": sizes}


def _description(files: Any, base: str) -> dict[str, Any] | None:
    try:
        found = json.loads(files.cat_file(f"{base}/{DESCRIPTION}"))
    except (FileNotFoundError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _missing(files: Any, base: str, sizes: dict[str, int]) -> str:
    """What is not there as it should be, as the store tells."""
    files.invalidate_cache()
    for name, size in sizes.items():
        try:
            there = int(files.info(f"{base}/{name}")["size"])
        except FileNotFoundError:
            return f"{name} is not there"
        if there != size:
            return f"{name} has {there} bytes there, not {size}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
