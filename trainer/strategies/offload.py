"""Block inputs in host memory until the backward pass: copied on a stream of their own, out while
the next blocks compute, back while the block after is computed again.

Copies out and in are on one stream and thus in order; the compute stream waits for a copy only
where it needs the copy's result. On a CPU the same happens at once, without streams.
"""

from __future__ import annotations

import weakref
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor


class Offload:
    """The kept inputs of a model's blocks, last in, first out."""

    def __init__(self) -> None:
        self._stream: Any = None
        self._newest: weakref.ref[_Kept] | None = None
        self.fetched_ahead = self.fetched_late = 0  # copies that were ready when asked for, or not

    def keeping(self, hidden: Tensor) -> AbstractContextManager[Any]:
        """Within it, what autograd saves of this tensor goes to host memory; all else stays:
        weights, and tables that every block shares."""
        start, size = hidden.data_ptr(), hidden.numel()

        def pack(tensor: Tensor) -> Tensor | _Kept:
            whole = tensor.data_ptr() == start and tensor.numel() == size
            return self._out(tensor) if whole and size else tensor

        def unpack(kept: Tensor | _Kept) -> Tensor:
            return self._back(kept) if isinstance(kept, _Kept) else kept

        return torch.autograd.graph.saved_tensors_hooks(pack, unpack)

    def _out(self, tensor: Tensor) -> _Kept:
        tensor = tensor.detach()
        if tensor.is_cuda:
            host = torch.empty_like(tensor, device="cpu", pin_memory=True)
            stream = self._stream_of(tensor.device)
            stream.wait_stream(torch.cuda.current_stream(tensor.device))
            with torch.cuda.stream(stream):
                host.copy_(tensor, non_blocking=True)
            tensor.record_stream(stream)  # its memory is free for others once it is copied
        else:
            host = tensor.clone()
        kept = _Kept(host, tensor.device, self._newest)
        # Weak: the graph alone keeps it, so that a graph that is dropped takes its copies along
        self._newest = weakref.ref(kept)
        return kept

    def _back(self, kept: _Kept) -> Tensor:
        self.fetched_late += kept.there is None
        self.fetched_ahead += kept.there is not None
        tensor = kept.there if kept.there is not None else self._fetch(kept)
        kept.there = None
        if tensor.is_cuda:
            stream = torch.cuda.current_stream(tensor.device)
            stream.wait_event(kept.ready)
            tensor.record_stream(stream)
        # The block before is needed next: its copy runs while this one computes
        before = kept.before() if kept.before else None
        if before is not None and before.there is None:
            before.there = self._fetch(before)
        return tensor

    def _fetch(self, kept: _Kept) -> Tensor:
        if kept.device.type != "cuda":
            return kept.host.clone()
        stream = self._stream_of(kept.device)
        with torch.cuda.stream(stream):
            tensor = kept.host.to(kept.device, non_blocking=True)
            kept.ready = stream.record_event()
        return tensor

    def _stream_of(self, device: torch.device) -> Any:
        if self._stream is None:
            self._stream = torch.cuda.Stream(device)
        return self._stream


class _Kept:
    """A tensor in host memory, the one kept before it, and its copy on the device once fetched."""

    def __init__(
        self, host: Tensor, device: torch.device, before: weakref.ref[_Kept] | None
    ) -> None:
        self.host, self.device, self.before = host, device, before
        self.there: Tensor | None = None
        self.ready: Any = None
