"""`python -m trainer.netcheck.gate --output FILE`: check the network between all ranks before
training starts (the gate).

Started once per node (or per rank) with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and
optionally NODE_NAME, LOCAL_RANK and GATE_NODES (the nodes' names in rank order, to name one that
never joins). All ranks sum known values together, then measure in pairs, one process per node. Rank
0 writes the result to FILE as JSON and prints it as `GATE {json}`; a rank that cannot reach rank 0
does the same with what it knows, to FILE's name with `.rankN` in it. Bandwidths are in gigabits per
second. Exit codes: 0 all answered, 5 bad input or no torch, 6 a rank did not answer or a sum was
wrong. With --judge the result has a `verdict` whether links are fast enough, and 6 is also the
code of a slow network.
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
from trainer.netcheck.coordinator import Coordinator, has_device, healthy, open_traffic, perform
from trainer.netcheck.findings import Expected
from trainer.netcheck.fork_server import run_forked
from trainer.netcheck.process_rank import ProcessRank, process_rank_from
from trainer.netcheck.verdict import judge

if TYPE_CHECKING:
    from trainer.netcheck.rendezvous import Rendezvous

_ENVIRONMENT = {
    "TORCH_CPP_LOG_LEVEL": "FATAL",  # a refused connection is reported in one line of ours
    # torch looks up the name of every address it connects to; without this a name server that drops
    # the question costs 5 s.
    "RES_OPTIONS": "timeout:1 attempts:2",
    # An NCCL operation that gets no answer must raise here, not end the process from a thread.
    "TORCH_NCCL_BLOCKING_WAIT": "1",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0",
    "TORCH_NCCL_ENABLE_MONITORING": "0",
    "TORCH_NCCL_DUMP_ON_TIMEOUT": "0",
}


_STARTED = time.monotonic()  # imports count, also those of the fork server


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        sizes, process = _sizes(options.sizes), process_rank_from(os.environ)
        _import_torch()
        from trainer.netcheck.rendezvous import Rendezvous, Unreachable

        try:
            rendezvous = Rendezvous(process, options.join_seconds)
            if process.rank:
                return _follow(rendezvous, process, options)
            coordinator = Coordinator(rendezvous, process, options, sizes)
            # Published before the other ranks are told: when they end, this one is ended with them
            result = coordinator.result(lambda result: _publish(result, process, options))
            return 0 if _passed(result, options) else 6
        except Unreachable as error:
            _publish(failed_result(process, str(error)), process, options)
            return 6
    except TrainerError as error:
        print(f"gate: network check could not run: {error}", file=sys.stderr, flush=True)
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "trainer.netcheck.gate", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--output",
        required=True,
        type=Path,
        metavar="FILE",
        help="file for the JSON result",
    )
    parser.add_argument(
        "--sizes",
        default="4096,1048576",
        metavar="BYTES,...",
        help="message sizes to all-reduce (default: %(default)s)",
    )
    parser.add_argument(
        "--seconds", type=float, default=4.0, help="time for measuring (default: %(default)s)"
    )
    parser.add_argument(
        "--join-seconds",
        type=float,
        default=15.0,
        help="time for all ranks to join (default: %(default)s)",
    )
    parser.add_argument(
        "--answer-seconds",
        type=float,
        default=5.0,
        help="timeout of one message (default: %(default)s)",
    )
    parser.add_argument(
        "--judge", action="store_true", help="also fail when a link is slower than expected"
    )
    parser.add_argument(
        "--expected-gbps",
        type=float,
        metavar="GBPS",
        help="expected bandwidth of a link (default: compare links with each other)",
    )
    parser.add_argument(
        "--expected-latency-us", type=float, metavar="US", help="expected latency of a link"
    )
    parser.add_argument("--life", default="", metavar="ID", help="the run's id, kept in the result")
    return parser


def _sizes(text: str) -> list[int]:
    sizes = [size.strip() for size in text.split(",") if size.strip()]
    if not sizes or not all(size.isdigit() and int(size) >= 4 for size in sizes):
        raise BadInput(f"--sizes {text}: not a list of byte counts of at least 4, as 4096,1048576")
    return sorted(int(size) for size in sizes)


def _import_torch() -> None:
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import torch.distributed
    except (ImportError, OSError) as error:  # OSError: one of its libraries does not load
        raise BadInput(
            f"{sys.executable} cannot import torch, which the network check needs: {error}"
        ) from None
    if not torch.distributed.is_available():
        raise BadInput(f"{sys.executable}: this torch was built without torch.distributed")


def _follow(rendezvous: Rendezvous, process: ProcessRank, options: argparse.Namespace) -> int:
    """Any other rank: perform rank 0's tasks until the last one."""
    mesh = Mesh(process.address)
    rendezvous.answer(
        "join", {"node": process.node, "device": has_device(process), "address": mesh.address}
    )
    patience = options.join_seconds + 6 * options.answer_seconds + 2 * options.seconds
    traffic = None
    step = 0
    while True:
        task = rendezvous.next_task(step, patience)
        if task["do"] == "end":
            rendezvous.answer(step, None)
            return 0 if task["healthy"] else 6
        traffic = traffic or open_traffic(rendezvous, process, task["backend"], options)
        rendezvous.answer(step, perform(task, step, traffic, process.rank, mesh))
        step += 1


def _publish(result: dict[str, Any], process: ProcessRank, options: argparse.Namespace) -> bool:
    """Whether training may begin."""
    passed = _passed(result, options)
    result["seconds"] = round(time.monotonic() - _STARTED, 3)
    publish(result, rank_file(options.output, process.rank) if process.rank else options.output)
    return passed


def _passed(result: dict[str, Any], options: argparse.Namespace) -> bool:
    """Whether training may begin; with --judge, adds the verdict to the result."""
    if options.life:
        result["life"] = options.life
    if os.environ.get("TRAINER_REHEARSAL"):
        result["one_machine"] = True
    if options.judge and "verdict" not in result:
        verdict = judge(result, Expected(options.expected_gbps, options.expected_latency_us))
        result["verdict"] = {"ok": verdict.ok, "lines": verdict.lines}
    return healthy(result) and bool(result.get("verdict", {"ok": True})["ok"])


def failed_result(process: ProcessRank, problem: str) -> dict[str, Any]:
    """The result of a rank that could not reach rank 0."""
    missing = [{"rank": 0, "node": process.node_of(0), "when": "joining"}] if process.rank else []
    return {
        "world_size": process.size,
        "backend": None,
        "nodes": [process.node],
        "all_reduce": [],
        "pairs": [],
        "missing": missing,
        "without_device": [],
        "rounds": {"planned": 0, "done": 0},
        "problem": problem,
    }


def rank_file(output: Path, rank: int) -> Path:
    """Another rank's result file: nodes may share the folder."""
    return output.with_name(f"{output.stem}.rank{rank}{output.suffix}")


def publish(result: dict[str, Any], output: Path) -> None:
    text = json.dumps(result)
    print(f"GATE {text}\n", end="", flush=True)  # one write: torchrun's tail may read in between
    verdict = result.get("verdict", {"ok": True})
    for line in verdict["lines"] if not verdict["ok"] else filter(None, [result["problem"]]):
        print(f"gate: network check failed: {line}", file=sys.stderr, flush=True)
    draft = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text + "\n")
        os.replace(draft, output)
    except OSError as error:
        raise BadInput(f"--output {output}: cannot be written: {error.strerror}") from None


def load_light() -> None:
    """Import torch in two thirds of the time, for a short-lived process."""
    gc.disable()
    # Only torch's compiler needs these.
    sys.modules["torch._meta_registrations"] = ModuleType("torch._meta_registrations")
    try:
        _import_torch()
    except BadInput:
        pass  # reported where it is used


if __name__ == "__main__":
    code = run_forked(load_light, main)
    sys.stdout.flush()
    # Without cleanup, which would wait for connections to lost peers.
    os._exit(code)
