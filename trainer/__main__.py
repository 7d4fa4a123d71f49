"""`python -m trainer --profile FILE-or-name [--set train.steps=100] [--output DIR]`: train what a
profile describes."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from trainer.errors import BadInput, TrainerError


def main(arguments: list[str] | None = None) -> int:
    """Train; the exit code says how it ended: 0 done, 5 bad input, 6 the loss went wrong."""
    options = _parser().parse_args(arguments)
    from trainer.profile import read_profile

    output = Path(options.output)
    try:
        profile = read_profile(options.profile, options.set)
        _check(profile, output)
        return _train(profile, output)
    except TrainerError as error:
        print(f"trainer: {error}", file=sys.stderr, flush=True)
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("trainer", description=__doc__)
    parser.add_argument(
        "--profile",
        required=True,
        metavar="FILE-or-name",
        help="a YAML file, or a name from trainer/profiles",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="as train.steps=100"
    )
    parser.add_argument(
        "--output",
        default="runs/default",
        metavar="DIR",
        help="metrics.jsonl and checkpoints/ go there",
    )
    # DeepSpeed's launcher adds it to every command line; the environment says the same.
    parser.add_argument("--local_rank", "--local-rank", type=int, help=argparse.SUPPRESS)
    return parser


def _check(profile: object, output: Path) -> None:
    """All that can be known to be wrong before torch is even imported."""
    from trainer.config import Profile
    from trainer.validate import check

    assert isinstance(profile, Profile)
    try:
        world_size = int(os.environ.get("WORLD_SIZE") or 1)
    except ValueError:
        raise BadInput(
            f"the environment's WORLD_SIZE is {os.environ['WORLD_SIZE']!r}, not a number"
        ) from None
    check(profile, world_size)
    stores = {
        "checkpoint.upload": profile.train.checkpoint.upload,
        "checkpoint.resume": profile.train.checkpoint.resume,
    }
    if any("://" in address for address in stores.values()):
        from trainer.checkpoint.store_upload import check_store

        for setting, address in stores.items():
            check_store(setting, address)
    existing = next(each for each in (output, *output.absolute().parents) if each.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise BadInput(
            f"--output {output}: cannot be written; {existing} is"
            f" {'not writable' if existing.is_dir() else 'a file'}"
        )


def _train(profile: object, output: Path) -> int:
    from trainer.config import Profile
    from trainer.distributed.process_group import join, leave
    from trainer.loop.loop import run

    assert isinstance(profile, Profile)
    if os.environ.get("TRAINER_GATE"):
        from trainer.netcheck.in_rank import prove_network

        code = prove_network()
        if code or os.environ.get("TRAINER_GATE_ALONE"):
            return code
    place = join(profile.train)
    made = not any(place.gathered(output.exists()))  # all have looked before any makes it
    try:
        output.mkdir(parents=True, exist_ok=True)
        run(profile, output, place)
        leave()
        return 0
    except BadInput:
        if made and place.first and not _began(output):
            import shutil

            shutil.rmtree(
                output, ignore_errors=True
            )  # nothing of a run that never began is left behind
        raise


def _began(output: Path) -> bool:
    """Whether there is anything to lose: data may turn out bad after days of training on what came
    before it."""
    metrics = output / "metrics.jsonl"
    return any((output / "checkpoints").glob("step-*")) or (
        metrics.exists() and metrics.stat().st_size > 0
    )


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # Straight out: a failed rank must not wait at exit for peers that will never come.
    os._exit(code)
