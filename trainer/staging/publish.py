"""`python -m trainer.staging.publish RUN s3://BUCKET/FOLDER`: upload a run's model to a store
(idempotent; its description is written last).

Credentials come from the environment: in a pod, from its service account's role.
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
from trainer.staging.retryable_errors import is_retryable

RESULT = "result "
DESCRIPTION = "exported.json"
INTERRUPTED = 75


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("trainer.staging.publish", description=__doc__)
    parser.add_argument(
        "source", help="a run's output folder (its newest checkpoint), or one checkpoint"
    )
    parser.add_argument("to", help="s3://BUCKET/FOLDER, gs://BUCKET/FOLDER")
    options = parser.parse_args(arguments)
    from trainer.export import find_checkpoint  # needs torch

    try:
        check_store("--to", options.to)
        checkpoint = find_checkpoint(Path(options.source))
        result = publish(checkpoint, options.to)
    except TrainerError as error:
        print(f"export: {error}", flush=True)
        return error.exit_code
    except Exception as error:  # every store's library has errors of its own
        print(f"export: {options.to}: {reason(error)}", flush=True)
        return INTERRUPTED if is_retryable(error) else BadInput.exit_code
    print(RESULT + json.dumps(result), flush=True)
    return 0


def publish(checkpoint: Path, to: str) -> dict[str, Any]:
    import fsspec

    from trainer.export import export

    files, base = fsspec.core.url_to_fs(to.rstrip("/"))
    origin = hashlib.sha256((checkpoint / MARKER).read_bytes()).hexdigest()
    earlier = _description(files, base)
    summary = {"to": to, "checkpoint": checkpoint.name}
    if earlier and earlier.get("origin") == origin and not _missing(files, base, earlier["files"]):
        return {**summary, "changed": False, "files": earlier["files"]}
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
        f"{base}/{DESCRIPTION}", json.dumps({**summary, "origin": origin, "files": sizes}).encode()
    )
    return {**summary, "changed": True, "files": sizes}


def _description(files: Any, base: str) -> dict[str, Any] | None:
    try:
        description = json.loads(files.cat_file(f"{base}/{DESCRIPTION}"))
    except (FileNotFoundError, ValueError):
        return None
    return description if isinstance(description, dict) else None


def _missing(files: Any, base: str, sizes: dict[str, int]) -> str:
    """The first file that is missing in the store or has another size; "" when none is."""
    files.invalidate_cache()
    for name, size in sizes.items():
        try:
            stored = int(files.info(f"{base}/{name}")["size"])
        except FileNotFoundError:
            return f"{name} is missing"
        if stored != size:
            return f"{name} has {stored} bytes there, not {size}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
