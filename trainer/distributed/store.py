"""torch's rendezvous store, listening on one address: by itself torch listens on all."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from torch.distributed import TCPStore

from trainer.distributed.listening import hosting

_WAIT = timedelta(minutes=5)  # torch's default


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
        return TCPStore(host_name, port, world_size, False, timeout, **more)
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
