"""`python -m trainer.netcheck.gate --output FILE`: prove the network between all ranks before a
real run needs it.

Started once per node (or per rank) with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and by
choice NODE_NAME, LOCAL_RANK and GATE_NODES (the nodes' names in rank order, to name one that never
comes). All ranks meet, sum known values together, then speak in pairs, one process per node. Rank 0
writes what it learnt to FILE as JSON and prints it as `GATE {json}`; a rank that cannot reach rank
0 does the same with what it knows, to FILE's name with `.rankN` in it. Bandwidths are in gigabits
per second. Exit codes: 0 all answered, 5 bad input or no torch, 6 somebody did not answer or a sum
was wrong. Whether a link is fast enough is for the reader of the result to say; with --judge it is
said here, as `verdict` of the result, and 6 is also the code of a network that is slow.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from trainer.errors import BadInput, TrainerError
from trainer.netcheck.connectivity import Mesh
from trainer.netcheck.coordinator import Lead, has_device, healthy, open_traffic, perform
from trainer.netcheck.fork_server import shared
from trainer.netcheck.process_rank import Seat, seat_from
from trainer.netcheck.verdict import Expected, judge

if TYPE_CHECKING:
    from trainer.netcheck.rendezvous import Meeting

_ENVIRONMENT = {
    "TORCH_CPP_LOG_LEVEL": "FATAL",  # a refused connection is told in one line of ours
    # torch looks up the name of every address it connects to; without this a name server that drops
    # the question costs 5 s.
    "RES_OPTIONS": "timeout:1 attempts:2",
    # An NCCL operation that gets no answer must raise here, not end the process from a thread.
    "TORCH_NCCL_BLOCKING_WAIT": "1",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0",
    "TORCH_NCCL_ENABLE_MONITORING": "0",
    "TORCH_NCCL_DUMP_ON_TIMEOUT": "0",
}


_STARTED = time.monotonic()  # loading counts, in whichever process it was done


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        sizes, seat = _sizes(options.sizes), seat_from(os.environ)
        _import_torch()
        from trainer.netcheck.rendezvous import Meeting, Unreachable

        try:
            meeting = Meeting(seat, options.join_seconds)
            if seat.rank:
                return _follow(meeting, seat, options)
            result = Lead(meeting, seat, options, sizes).result(
                lambda result: _opens(result, options)
            )
        except Unreachable as error:
            result = alone(seat, str(error))
        result["seconds"] = round(time.monotonic() - _STARTED, 3)
        publish(result, options.output if seat.rank == 0 else own_name(options.output, seat.rank))
        return 0 if _opens(result, options) else 6
    except TrainerError as error:
        print(f"gate: {error}", file=sys.stderr, flush=True)
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "trainer.netcheck.gate", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--output", required=True, type=Path, metavar="FILE", help="the result, as JSON"
    )
    parser.add_argument(
        "--sizes",
        default="4096,1048576",
        metavar="BYTES,...",
        help="what to all-reduce (default: %(default)s)",
    )
    parser.add_argument(
        "--seconds", type=float, default=4.0, help="time for measuring (default: %(default)s)"
    )
    parser.add_argument(
        "--join-seconds",
        type=float,
        default=15.0,
        help="time for all to appear (default: %(default)s)",
    )
    parser.add_argument(
        "--answer-seconds",
        type=float,
        default=5.0,
        help="time for one message (default: %(default)s)",
    )
    parser.add_argument(
        "--judge", action="store_true", help="say whether the network is as fast as it should be"
    )
    parser.add_argument(
        "--expected-gbps",
        type=float,
        metavar="GBPS",
        help="what a link should carry (default: as the others)",
    )
    parser.add_argument(
        "--expected-latency-us", type=float, metavar="US", help="how soon it should answer"
    )
    parser.add_argument(
        "--life", default="", metavar="ID", help="whose gate it is, kept in the result"
    )
    return parser


def _sizes(text: str) -> list[int]:
    words = [each.strip() for each in text.split(",") if each.strip()]
    if not words or not all(each.isdigit() and int(each) >= 4 for each in words):
        raise BadInput(f"--sizes {text}: not a list of byte counts of at least 4, as 4096,1048576")
    return sorted(int(each) for each in words)


def _import_torch() -> None:
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import torch.distributed
    except (ImportError, OSError) as error:  # OSError: one of its libraries does not load
        raise BadInput(
            f"{sys.executable} cannot import torch, which the gate measures with: {error}"
        ) from None
    if not torch.distributed.is_available():
        raise BadInput(f"{sys.executable}: this torch was built without torch.distributed")


def _follow(meeting: Meeting, seat: Seat, options: argparse.Namespace) -> int:
    """Any other rank: do what rank 0 says until it says that this was all."""
    mesh = Mesh(seat.address)
    meeting.answer("join", {"node": seat.node, "device": has_device(seat), "place": mesh.place})
    patience = options.join_seconds + 6 * options.answer_seconds + 2 * options.seconds
    traffic = None
    step = 0
    while True:
        task = meeting.hear(step, patience)
        if task["do"] == "end":
            meeting.answer(step, None)
            return 0 if task["healthy"] else 6
        traffic = traffic or open_traffic(meeting, seat, task["backend"], options)
        meeting.answer(step, perform(task, step, traffic, seat.rank, mesh))
        step += 1


def _opens(result: dict[str, Any], options: argparse.Namespace) -> bool:
    """Whether training may begin, as far as it is for the gate to say."""
    if options.life:
        result["life"] = options.life
    if options.judge and "verdict" not in result:
        verdict = judge(result, Expected(options.expected_gbps, options.expected_latency_us))
        result["verdict"] = {"ok": verdict.ok, "lines": verdict.lines}
    return healthy(result) and bool(result.get("verdict", {"ok": True})["ok"])


def alone(seat: Seat, problem: str) -> dict[str, Any]:
    """The result of a rank that has no meeting place."""
    missing = [{"rank": 0, "node": seat.node_of(0), "when": "joining"}] if seat.rank else []
    return {
        "world_size": seat.size,
        "backend": None,
        "nodes": [seat.node],
        "all_reduce": [],
        "pairs": [],
        "missing": missing,
        "without_device": [],
        "rounds": {"planned": 0, "done": 0},
        "problem": problem,
    }


def own_name(output: Path, rank: int) -> Path:
    """Beside rank 0's: nodes may share the folder."""
    return output.with_name(f"{output.stem}.rank{rank}{output.suffix}")


def publish(result: dict[str, Any], output: Path) -> None:
    text = json.dumps(result)
    print(
        f"GATE {text}\n", end="", flush=True
    )  # in one piece: torchrun's tail of it may read in between
    verdict = result.get("verdict", {"ok": True})
    for line in verdict["lines"] if not verdict["ok"] else filter(None, [result["problem"]]):
        print(f"gate: {line}", file=sys.stderr, flush=True)
    scrap = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        scrap.write_text(text + "\n")
        os.replace(scrap, output)
    except OSError as error:
        raise BadInput(f"--output {output}: cannot be written: {error.strerror}") from None


def load_light() -> None:
    """Import torch in two thirds of the time, in a process that ends soon."""
    gc.disable()
    # Shapes of operations for its compiler, which is not used here.
    sys.modules["torch._meta_registrations"] = ModuleType("torch._meta_registrations")
    try:
        _import_torch()
    except BadInput:
        pass  # whoever needs it says so


if __name__ == "__main__":
    code = shared(load_light, main)
    sys.stdout.flush()
    # Straight out: connections to a peer that is gone would be waited for at exit.
    os._exit(code)
