"""`python -m trainer.staging.code --store DIR --work DIR`: the files of a user's script in the
working folder of a run on a claim.

The other end of input and output lists the files as [path, sha256, executable] and sends an
archive of the contents that the store lacks; each content is copied once. Files that came earlier
and are not listed any more go, what the script itself wrote stays.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import sys
import tarfile
from pathlib import Path
from typing import Any

from trainer.staging.pipe import SEND

LIST = ".playrunner-files.json"  # in the working folder: what came from here, path to hash
_RESULT = "result "

File = tuple[str, str, bool]


def main() -> int:
    parser = argparse.ArgumentParser("trainer.staging.code", description=__doc__)
    parser.add_argument("--store", required=True, help="folder of contents, each named by its hash")
    parser.add_argument("--work", required=True, help="the run's working folder")
    options = parser.parse_args()
    store, work = Path(options.store), Path(options.work)
    try:
        files = [_file(each) for each in _asked({"list": True})]
        store.mkdir(parents=True, exist_ok=True)
        lacking = sorted({digest for _, digest, _ in files} - set(os.listdir(store)))
        size = _receive(lacking, store) if lacking else 0
        changed = _fill(files, store, work)
    except (OSError, ValueError) as error:
        print(f"code: {error}", flush=True)
        return 2
    print(f"{_RESULT}{json.dumps({'changed': changed, 'bytes': size})}", flush=True)
    return 0


def _file(entry: Any) -> File:
    path, digest, executable = entry
    if not isinstance(path, str) or path.startswith("/") or ".." in path.split("/"):
        raise ValueError(f"{path!r} leaves the folder of the script")
    return path, str(digest), bool(executable)


def _asked(request: dict[str, Any]) -> Any:
    print(SEND + json.dumps(request), flush=True)
    return json.loads(sys.stdin.buffer.readline())


def _receive(digests: list[str], store: Path) -> int:
    size = int(_asked({"contents": digests}))
    data = sys.stdin.buffer.read(size)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            file = archive.extractfile(member)
            content = file.read() if file else b""
            if hashlib.sha256(content).hexdigest() != member.name:
                raise ValueError(f"{member.name} is not the content of that hash")
            _write(store / member.name, content, 0o644)
    return size


def _fill(files: list[File], store: Path, work: Path) -> bool:
    before = _listed(work)
    wanted = {path: digest for path, digest, _ in files}
    work.mkdir(parents=True, exist_ok=True)
    for path in set(before) - set(wanted):
        (work / path).unlink(missing_ok=True)
    for path, digest, executable in files:
        target = work / path
        if before.get(path) == digest and target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(target, (store / digest).read_bytes(), 0o755 if executable else 0o644)
    _write(work / LIST, json.dumps(wanted).encode(), 0o644)
    return before != wanted


def _listed(work: Path) -> dict[str, str]:
    try:
        found = json.loads((work / LIST).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(path: Path, content: bytes, mode: int) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    draft.write_bytes(content)
    draft.chmod(mode)
    draft.replace(path)


if __name__ == "__main__":
    sys.exit(main())
