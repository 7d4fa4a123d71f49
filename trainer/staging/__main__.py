"""`python -m trainer.staging --source s3://BUCKET/FOLDER --target DIR`: bring data to a folder,
once; again changes nothing."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from trainer.errors import TrainerError
from trainer.staging.source import Interrupted
from trainer.staging.sync_folder import Wish, stage

RESULT = "result "  # how the last line begins, for whoever follows
INTERRUPTED = 75


def main(arguments: list[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    wish = Wish(
        asked.source,
        Path(asked.target),
        asked.unpack,
        asked.files,
        asked.least,
        asked.bytes,
        asked.anonymous,
        asked.region,
    )
    try:
        told = stage(wish, lambda text: print(text, flush=True))
    except TrainerError as error:
        print(f"staging: {error}", flush=True)
        return error.exit_code
    except Interrupted as trouble:
        print(f"staging: {asked.source}: {trouble}; what came so far is kept", flush=True)
        return INTERRUPTED
    except OSError as error:
        print(f"staging: {error.filename or wish.target}: {error.strerror or error}", flush=True)
        return INTERRUPTED
    print(RESULT + json.dumps(told), flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("trainer.staging", description=__doc__)
    parser.add_argument(
        "--source", required=True, help="s3://, gs:// (a folder or a file), or https:// (a file)"
    )
    parser.add_argument("--target", required=True, help="the folder")
    parser.add_argument(
        "--unpack", action="store_true", help="unpack archives (tar, zip) instead of keeping them"
    )
    parser.add_argument(
        "--files", type=int, default=0, help="how many files there must be in the end"
    )
    parser.add_argument(
        "--least", type=int, default=0, help="how many files there must be at least"
    )
    parser.add_argument("--bytes", type=int, default=0, help="how large they must be together")
    parser.add_argument(
        "--anonymous", action="store_true", help="a public bucket: ask without credentials"
    )
    parser.add_argument(
        "--region", default="", help="the bucket's, where it is another than the cluster's"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
