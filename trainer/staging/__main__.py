"""`python -m trainer.staging --source s3://BUCKET/FOLDER --target DIR`: download data into a folder
(idempotent)."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from trainer.errors import TrainerError
from trainer.staging.source import Interrupted
from trainer.staging.sync_folder import StagingRequest, stage

RESULT = "result "  # the start of the last line, which the controller reads
INTERRUPTED = 75
STDIN = "stdin:"  # the address is the first line of the input


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    source = _address(options.source)
    request = StagingRequest(
        source,
        Path(options.target),
        options.unpack,
        options.files,
        options.least,
        options.bytes,
        options.anonymous,
        options.region,
        _names(options.file),
        options.sha256,
    )
    try:
        result = stage(request, lambda text: print(text, flush=True))
    except TrainerError as error:
        print(f"staging: {error}", flush=True)
        return error.exit_code
    except Interrupted as error:
        print(
            f"staging: {source.partition('?')[0]}: {error}; the part received is kept", flush=True
        )
        return INTERRUPTED
    except OSError as error:
        print(f"staging: {error.filename or request.target}: {error.strerror or error}", flush=True)
        return INTERRUPTED
    print(RESULT + json.dumps(result), flush=True)
    return 0


def _address(given: str) -> str:
    """As given, or from where no process list shows it: this program's input or a variable."""
    if given == STDIN:
        return sys.stdin.buffer.readline().decode().strip()
    kind, _, name = given.partition(":")
    return os.environ.get(name, "") if kind == "env" else given


def _names(given: list[str]) -> dict[str, str]:
    return dict(each.partition("=")[::2] for each in given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("trainer.staging", description=__doc__)
    parser.add_argument(
        "--source",
        required=True,
        help="s3://, gs://, hf:// (a folder or a file), https:// (a file, or a folder with"
        " SHA256SUMS), or pipe: (a folder at the other end of this program's input)",
    )
    parser.add_argument("--target", required=True, help="the folder to fill")
    parser.add_argument(
        "--unpack", action="store_true", help="unpack archives (tar, zip) instead of keeping them"
    )
    parser.add_argument("--files", type=int, default=0, help="expected number of files")
    parser.add_argument("--least", type=int, default=0, help="minimum number of files")
    parser.add_argument("--bytes", type=int, default=0, help="expected total size in bytes")
    parser.add_argument(
        "--anonymous", action="store_true", help="no credentials: the bucket is public"
    )
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        help="NAME or NAME=SHA256: only this file of the source's folder (may be repeated)",
    )
    parser.add_argument("--sha256", default="", help="the SHA-256 of the source's only file")
    parser.add_argument("--region", default="", help="the bucket's region, if not the cluster's")
    return parser


if __name__ == "__main__":
    sys.exit(main())
