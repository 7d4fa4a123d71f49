"""`python -m trainer.torchrun FLAGS... -m trainer ...`: torchrun, with its store on this node's
address alone.

By itself torchrun has the store listen on all addresses and unpickles whatever is put there. Here
only the classes of its own rendezvous are unpickled. The rendezvous id comes from the run's token,
so that it is on no command line.
"""

from __future__ import annotations

import io
import pickle
import sys
from typing import Any

from trainer.checkpoint.pickles import read_pickle
from trainer.distributed.store import store_at
from trainer.distributed.token import run_token
from trainer.node.seal import mac

_STATE = "torch.distributed.elastic.rendezvous.dynamic_rendezvous"
_ALLOWED = {
    (_STATE, "_RendezvousState"),
    (_STATE, "_NodeDesc"),
    ("datetime", "datetime"),
    ("datetime", "timedelta"),
    ("datetime", "timezone"),
    ("builtins", "set"),
    ("copyreg", "_reconstructor"),
    ("builtins", "object"),
}


class RendezvousState:
    """The part of `pickle` that torch's rendezvous module uses."""

    PickleError = pickle.PickleError
    dumps = staticmethod(pickle.dumps)

    @staticmethod
    def loads(data: bytes) -> Any:
        return read_pickle(io.BytesIO(data), _ALLOWED)


def main(arguments: list[str]) -> None:
    from torch.distributed import run
    from torch.distributed.elastic.rendezvous import (
        c10d_rendezvous_backend,
        dynamic_rendezvous,
        static_tcp_rendezvous,
    )

    for module, name, ours in (
        (c10d_rendezvous_backend, "TCPStore", store_at),
        (static_tcp_rendezvous, "TCPStore", store_at),
        (dynamic_rendezvous, "pickle", RendezvousState),
    ):
        if not hasattr(module, name):  # an unknown version of torch
            print(
                f"torchrun: {module.__name__} has no {name}: the rendezvous store listens"
                " on all addresses",
                file=sys.stderr,
            )
        setattr(module, name, ours)
    run.main([*_rendezvous_id(), *arguments])


def _rendezvous_id() -> list[str]:
    token = run_token()
    return [f"--rdzv-id={mac(token, b'meeting').decode()[:32]}"] if token else []


if __name__ == "__main__":
    main(sys.argv[1:])
