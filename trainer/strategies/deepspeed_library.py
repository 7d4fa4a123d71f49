"""DeepSpeed itself, imported without what a run of ours never calls."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from trainer.errors import BadInput


def imported(on_cpu: bool) -> Any:
    # It would go by the machine it was installed on, which may have been another.
    os.environ.setdefault("DS_ACCELERATOR", "cpu" if on_cpu else "cuda")
    try:
        import deepspeed
        import deepspeed.ops
    except ImportError as error:
        raise BadInput(
            f"strategy deepspeed needs the deepspeed library ({error}):"
            ' pip install "deepspeed>=0.19"'
        ) from None
    if on_cpu:
        # Kernels would be compiled at first use, which takes minutes and a compiler; none is needed
        # here.
        deepspeed.ops.__compatible_ops__ = {}
    deepspeed.utils.logger.setLevel("ERROR")
    _import_muon()
    return deepspeed


def _import_muon() -> None:
    """The engine imports this optimizer to ask whether it is the one in use, and that alone loads
    torch's whole compiler: seconds of every rank, for functions that no other optimizer calls."""
    try:
        with _compiling_at_first_call():
            import deepspeed.runtime.zero.muon.muon_optimizer  # noqa: F401
    except ImportError:
        pass  # one of another version, which the engine then does not import either


@contextmanager
def _compiling_at_first_call() -> Iterator[None]:
    """Functions that DeepSpeed marks to be compiled are compiled when they are first called."""
    from deepspeed.runtime import compiler

    usual = compiler.compile
    compiler.compile = lambda: compiled_at_first_call
    try:
        yield
    finally:
        compiler.compile = usual


def compiled_at_first_call(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.cache
    def compiled() -> Callable[..., Any]:
        import torch

        return torch.compile(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return compiled()(*args, **kwargs)

    return call
