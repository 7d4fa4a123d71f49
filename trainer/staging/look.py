"""`python -m trainer.staging.look --path DIR --source hdf5`: whether data is where it will be read,
before anything is launched; of several paths the first that exists counts."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from trainer.errors import BadInput

RESULT = "result "
_PATTERNS = {"hdf5": ("*.hdf5",), "mnist": ("*-ubyte", "*-ubyte.gz")}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("trainer.staging.look", description=__doc__)
    parser.add_argument("--path", action="append", required=True, help="may be repeated")
    parser.add_argument("--source", required=True, help="data.source of the profile")
    parser.add_argument("--least", type=int, default=0, help="minimum number of files")
    parser.add_argument("--optional", action="store_true", help="none need be there")
    options = parser.parse_args(arguments)
    try:
        result = look(options.path, options.source, options.least, options.optional)
    except BadInput as error:
        print(f"data: {error}", flush=True)
        return error.exit_code
    print(RESULT + json.dumps(result), flush=True)
    return 0


def look(paths: list[str], source: str, least: int, optional: bool) -> dict[str, object]:
    path = next((each for each in paths if Path(each).expanduser().exists()), None)
    if path is None:
        if optional:
            return {"path": "", "files": 0}
        raise BadInput(f"data.path {paths[0]}: no such file or folder")
    files = _files(Path(path).expanduser(), source)
    if not files:
        raise BadInput(f"data.path {path}: there are no files of data.source {source} in it")
    if files < least:
        raise BadInput(
            f"data.path {path}: {files} files, but each of {least} processes needs one of its own"
        )
    return {"path": path, "files": files}


def _files(path: Path, source: str) -> int:
    if path.is_file():
        return 1
    if source == "hdf5":  # its reader looks in the folder itself
        return len(list(path.glob("*.hdf5")))
    if source in _PATTERNS:
        return sum(len(list(path.rglob(pattern))) for pattern in _PATTERNS[source])
    if source == "tokens":
        return len(list(path.glob("*.bin")))
    from trainer.data.documents import files_of

    return len(files_of(path, "train"))


if __name__ == "__main__":
    sys.exit(main())
