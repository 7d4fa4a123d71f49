"""`python -m trainer.netcheck.all_reduce_perf`: all-reduce bandwidth by size, printed as
all_reduce_perf of nccl-tests prints it.

Started once per rank with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, optionally NODE_NAME and
LOCAL_RANK; over NCCL where there are GPUs, over gloo elsewhere. Rank 0 prints. Exit codes: 0 all
sums were right, 5 bad input or no torch, 6 a rank did not answer, or a sum was wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from datetime import timedelta
from typing import Any

from trainer.errors import BadInput, TrainerError
from trainer.netcheck.fork_server import run_forked
from trainer.netcheck.process_rank import ProcessRank, process_rank_from

_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        sizes, process = _sizes(options), process_rank_from(os.environ)
        try:
            return _measure(sizes, process, options)
        except RuntimeError as error:  # of torch
            reason = (str(error).splitlines() or [""])[0]
            print(
                f"bandwidth: {process.node} (rank {process.rank}): {reason}",
                file=sys.stderr,
                flush=True,
            )
            return 6
    except TrainerError as error:
        print(f"bandwidth: {error}", file=sys.stderr, flush=True)
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "trainer.netcheck.all_reduce_perf", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "-b",
        "--begin",
        default="8",
        metavar="SIZE",
        help="smallest message, as 8 or 1M (default: %(default)s)",
    )
    parser.add_argument(
        "-e", "--end", default="16M", metavar="SIZE", help="largest message (default: %(default)s)"
    )
    parser.add_argument(
        "-f",
        "--factor",
        type=int,
        default=2,
        help="multiply the size by this (default: %(default)s)",
    )
    parser.add_argument(
        "-n", "--repeats", type=int, default=5, help="repetitions per size (default: %(default)s)"
    )
    parser.add_argument(
        "--patience", type=float, default=60.0, help="seconds to wait for other ranks"
    )
    return parser


def _sizes(options: argparse.Namespace) -> list[int]:
    begin, end = size_of(options.begin), size_of(options.end)
    if options.factor < 2 or options.repeats < 1 or not 4 <= begin <= end:
        raise BadInput(
            f"--begin {options.begin} --end {options.end} --factor {options.factor}: no size to"
            " measure"
        )
    sizes = [begin]
    while sizes[-1] * options.factor <= end:
        sizes.append(sizes[-1] * options.factor)
    return sizes


def size_of(text: str) -> int:
    """`16M` in bytes."""
    number, unit = (
        (text[:-1], _UNITS[text[-1].upper()]) if text and text[-1].upper() in _UNITS else (text, 1)
    )
    if not number.isdigit():
        raise BadInput(f'"{text}" is not a size; write it as 8, 512K, 16M or 2G')
    return int(number) * unit


def _measure(sizes: list[int], process: ProcessRank, options: argparse.Namespace) -> int:
    try:
        import torch
        import torch.distributed as dist
    except (ImportError, OSError) as error:
        raise BadInput(
            f"{sys.executable} cannot import torch, which is needed to measure: {error}"
        ) from None
    device = (
        torch.device("cuda", process.local_rank)
        if torch.cuda.is_available()
        else torch.device("cpu")
    )
    if device.type == "cuda":
        torch.cuda.set_device(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    os.environ.setdefault("MASTER_ADDR", process.address)
    os.environ.setdefault("MASTER_PORT", str(process.port))
    from trainer.distributed.store import init_group

    init_group(backend, process.rank, process.size, timedelta(seconds=options.patience))
    table = _Table(process.rank == 0)
    names: list[Any] = [None] * process.size
    dist.all_gather_object(names, (process.node, process.local_rank, _device_name(device)))
    table.begin(sizes, options, names)
    wrong = sum(table.row(size, *_sum(size, process, device, options.repeats)) for size in sizes)
    table.end(wrong)
    dist.destroy_process_group()
    return 6 if wrong else 0


def _sum(size: int, process: ProcessRank, device: Any, repeats: int) -> tuple[float, int]:
    """Seconds for one sum of this size on the slowest rank, and the wrong values on all ranks."""
    import torch
    import torch.distributed as dist

    from trainer.netcheck.check_values import expected_sum, rank_values

    count = max(1, size // 4)
    mine, expected = (
        rank_values(count, process.rank, device),
        expected_sum(count, process.size, device),
    )
    buffer, taken = mine.clone(), []
    for turn in range(repeats + 1):
        buffer.copy_(mine)
        began = time.perf_counter()
        dist.all_reduce(buffer)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        if turn:  # the first one also makes connections and buffers
            taken.append(time.perf_counter() - began)
    wrong = int((buffer != expected).sum())
    slowest = torch.tensor([sorted(taken)[len(taken) // 2]], dtype=torch.float64, device=device)
    all_wrong = torch.tensor([wrong], device=device)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    dist.all_reduce(all_wrong)
    return float(slowest), int(all_wrong)


class _Table:
    """The lines that all_reduce_perf would print; nothing on other ranks than the first."""

    def __init__(self, prints: bool) -> None:
        self._prints = prints
        self._rates: list[float] = []
        self._size = 1

    def begin(self, sizes: list[int], options: argparse.Namespace, names: list[Any]) -> None:
        self._size = len(names)
        self._print(
            f"# minBytes {sizes[0]} maxBytes {sizes[-1]} step: {options.factor}(factor) iters:"
            f" {options.repeats}"
        )
        for rank, (node, local, device) in enumerate(names):
            self._print(f"#  Rank {rank:2d} on {node} device {local:2d} {device}")
        self._print(
            f"#{'size':>12}{'count':>14}{'type':>10}{'redop':>8}{'root':>8}{'time':>9}"
            f"{'algbw':>8}{'busbw':>8}{'#wrong':>7}"
        )
        self._print(f"#{'(B)':>12}{'(elements)':>14}{'':>26}{'(us)':>9}{'(GB/s)':>8}{'(GB/s)':>8}")

    def row(self, size: int, seconds: float, wrong: int) -> int:
        rate = size / seconds / 1e9
        self._rates.append(rate * 2 * (self._size - 1) / self._size)
        self._print(
            f"{size:13d}{max(1, size // 4):14d}{'float':>10}{'sum':>8}{-1:8d} {seconds * 1e6:8.1f}"
            f" {rate:7.3f} {self._rates[-1]:7.3f} {wrong:6d}"
        )
        return wrong

    def end(self, wrong: int) -> None:
        self._print(f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}")
        self._print(f"# Avg bus bandwidth    : {sum(self._rates) / len(self._rates):.4f}")

    def _print(self, text: str) -> None:
        if self._prints:
            print(text, flush=True)


def _device_name(device: Any) -> str:
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


def _load() -> None:
    try:
        import torch.distributed  # noqa: F401
    except (ImportError, OSError):
        pass  # reported where it is used


if __name__ == "__main__":
    code = run_forked(_load, main)
    sys.stdout.flush()
    os._exit(code)
