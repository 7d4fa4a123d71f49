"""torch's rendezvous store, listening on one address: by itself torch listens on all."""

from __future__ import annotations

import os
import socket
import time
from datetime import timedelta
from typing import Any

from torch.distributed import TCPStore

from trainer.distributed.listening import hosting

_WAIT = timedelta(minutes=5)  # torch's default
# Each attempt may ask a name server, which all ranks of a run share
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.02, 0.1
_LEAST_SECONDS = 2.0  # for one attempt


class CannotListen(RuntimeError):
    """The address is not this machine's, or the port is taken."""


def store_at(
    host_name: str,
    port: int,
    world_size: int | None = None,
    is_master: bool = False,
    timeout: timedelta = _WAIT,
    **more: Any,
) -> TCPStore:
    """A TCPStore, with its arguments; RuntimeError, as from TCPStore, where it cannot listen."""
    if not is_master:
        deadline = time.monotonic() + timeout.total_seconds()
        await_listener(host_name, port, timeout.total_seconds())
        left = timedelta(seconds=max(_LEAST_SECONDS, deadline - time.monotonic()))
        store = TCPStore(host_name, port, world_size, False, left, **more)
        store.set_timeout(timeout)
        return store
    try:
        listener = hosting(host_name, port)
    except OSError as error:
        raise CannotListen(
            f"cannot listen at {host_name}:{port}: {error.strerror or error}"
        ) from None
    port = listener.getsockname()[1]
    return TCPStore(
        host_name, port, world_size, True, timeout, master_listen_fd=listener.detach(), **more
    )


def await_listener(host_name: str, port: int, seconds: float) -> None:
    """Until a process listens there, or so many seconds are over: torch itself waits longer with
    each attempt, half a second and more."""
    deadline, pause = time.monotonic() + seconds, _FIRST_PAUSE_SECONDS
    while (left := deadline - time.monotonic()) > 0:
        try:
            with socket.create_connection((host_name, port), min(_LEAST_SECONDS, left)):
                return
        except OSError:
            time.sleep(pause)
            pause = min(1.5 * pause, _LONGEST_PAUSE_SECONDS)


def init_group(backend: str, rank: int, size: int, timeout: timedelta) -> None:
    """Initialise the group of all ranks, at MASTER_ADDR and MASTER_PORT."""
    import torch.distributed as dist

    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":  # the launcher hosts it
        dist.init_process_group(backend, timeout=timeout, rank=rank, world_size=size)
        return
    store = store_at(
        os.environ["MASTER_ADDR"],
        int(os.environ["MASTER_PORT"]),
        size,
        rank == 0,
        timeout,
        multi_tenant=True,
    )
    dist.init_process_group(
        backend,
        timeout=timeout,
        rank=rank,
        world_size=size,
        store=dist.PrefixStore("default_pg", store),
    )
