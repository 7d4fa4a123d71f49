"""`python -m trainer --profile FILE-or-name [--set train.steps=100] [--output DIR]`: train what a
profile describes."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.errors import BadInput, TrainerError

if TYPE_CHECKING:
    from trainer.config import Profile
    from trainer.distributed.process_group import ProcessGroup


def main(arguments: list[str] | None = None) -> int:
    """Train; exit codes: 0 done, 5 bad input, 6 bad loss or failed network check."""
    options = _parser().parse_args(arguments)
    from trainer.compile_cache import keep_compiled_kernels
    from trainer.data.own import with_own_data
    from trainer.profile import read_profile

    keep_compiled_kernels(os.environ)
    output = Path(options.output)
    try:
        profile = _rehearsed(with_own_data(read_profile(options.profile, options.set)))
        _check(profile, output)
        return _train(profile, output, options.explain)
    except TrainerError as error:
        print(f"trainer: {error}", file=sys.stderr, flush=True)
        return error.exit_code


def _rehearsed(profile: Profile) -> Profile:
    """Made small where this is a rehearsal; rank 0 says how."""
    if not os.environ.get("TRAINER_REHEARSAL"):
        return profile
    from trainer.rehearsal import rehearsal_steps, rehearsed

    profile, lines = rehearsed(profile, rehearsal_steps(os.environ), _world_size())
    if os.environ.get("RANK", "0") == "0":
        print(*lines, sep="\n", file=sys.stderr, flush=True)
    return profile


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("trainer", description=__doc__)
    parser.add_argument(
        "--profile",
        required=True,
        metavar="FILE-or-name",
        help="a YAML file, or a name from trainer/profiles",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="override a setting, as train.steps=100",
    )
    parser.add_argument(
        "--output",
        default="runs/default",
        metavar="DIR",
        help="folder for metrics.jsonl and checkpoints/",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="print what the fast path decides on this device and why, and train nothing",
    )
    # DeepSpeed's launcher adds it to every command line; the environment says the same.
    parser.add_argument("--local_rank", "--local-rank", type=int, help=argparse.SUPPRESS)
    return parser


def _check(profile: object, output: Path) -> None:
    """Everything that can be checked before torch is imported."""
    from trainer.config import Profile
    from trainer.validate import check

    assert isinstance(profile, Profile)
    check(profile, _world_size())
    from trainer.loop.trackers import check_trackers

    check_trackers(profile.train)
    stores = {
        "checkpoint.upload": profile.train.checkpoint.upload,
        "checkpoint.resume": profile.train.checkpoint.resume,
    }
    if any("://" in address for address in stores.values()):
        from trainer.checkpoint.store_upload import check_store

        for setting, address in stores.items():
            check_store(setting, address)
    existing = next(path for path in (output, *output.absolute().parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise BadInput(
            f"--output {output}: cannot be written; {existing} is"
            f" {'not writable' if existing.is_dir() else 'a file'}"
        )


def _world_size() -> int:
    try:
        return int(os.environ.get("WORLD_SIZE") or 1)
    except ValueError:
        raise BadInput(
            f"the environment's WORLD_SIZE is {os.environ['WORLD_SIZE']!r}, not a number"
        ) from None


def _train(profile: object, output: Path, explain: bool = False) -> int:
    from trainer.config import Profile
    from trainer.distributed.process_group import join, leave
    from trainer.loop.loop import run

    assert isinstance(profile, Profile)
    if os.environ.get("TRAINER_GATE"):
        from trainer.netcheck.in_rank import check_network

        code = check_network()
        if code or os.environ.get("TRAINER_GATE_ALONE"):
            return code
    processes = join(profile.train)
    profile = _decided(profile, processes, explain)
    if explain:
        leave()
        return 0
    if _compiles_nothing(profile, processes):
        from trainer.compiler_on_use import import_on_use

        import_on_use()
    # All ranks look before any creates it
    is_new = not any(processes.gathered(output.exists()))
    try:
        output.mkdir(parents=True, exist_ok=True)
        run(profile, output, processes)
        leave()
        return 0
    except BadInput:
        if is_new and processes.first and not _began(output):
            import shutil

            shutil.rmtree(output, ignore_errors=True)  # a run that never began leaves nothing
        raise


def _decided(profile: Profile, processes: ProcessGroup, explain: bool) -> Profile:
    """The profile with nothing left to `auto`; all ranks decide by the smallest device."""
    from dataclasses import replace

    from trainer import fast

    chip = min(processes.gathered(fast.chip_of(processes.device)), key=lambda each: each.memory)
    train, decisions = fast.decided(profile.train, processes.world_size, chip)
    if explain:
        for each in decisions or [fast.Decision("train.fast", "nothing", f"on {chip.name}")]:
            processes.say(f"{each.setting}={each.value}: {each.reason}")
    elif decisions:
        processes.say(fast.line(decisions, chip))
    return replace(profile, train=train)


def _compiles_nothing(profile: Profile, processes: ProcessGroup) -> bool:
    """Whether this is sure to do without torch's compiler; sharded tensors and blocks that are
    computed again ask for its settings."""
    strategy = profile.train.strategy
    return (
        processes.device.type == "cpu"
        and profile.train.fast.compile not in ("blocks", "model")
        and strategy.name in ("ddp", "deepspeed")
        and strategy.activation_checkpointing is not True
    )


def _began(output: Path) -> bool:
    """Whether training has begun: bad data may be found after days of it."""
    metrics = output / "metrics.jsonl"
    return any((output / "checkpoints").glob("step-*")) or (
        metrics.exists() and metrics.stat().st_size > 0
    )


if __name__ == "__main__":
    gc.disable()  # what is imported stays: looking it over for garbage takes a tenth of the start
    code = main()
    sys.stdout.flush()
    # Without cleanup: a failed rank must not wait for its peers at exit.
    os._exit(code)
