"""`python -m trainer.torchrun FLAGS... -m trainer ...`: torchrun, with its store on this node's
address alone, and with the restarts that the launch has left (TRAINER_RESTARTS).

By itself torchrun has the store listen on all addresses and unpickles whatever is put there. Here
only the classes of its own rendezvous are unpickled. The rendezvous id comes from the run's token,
so that it is on no command line.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
from functools import partial
from typing import Any

from trainer.checkpoint.pickles import read_pickle
from trainer.distributed.store import store_at
from trainer.distributed.token import run_token
from trainer.errors import NotRestarted
from trainer.node.restart import NOT_AGAIN
from trainer.node.seal import mac
from trainer.node.starts import VARIABLE, Starts, starts_of

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


def main(arguments: list[str]) -> int:
    from torch.distributed import run
    from torch.distributed.elastic.rendezvous import (
        c10d_rendezvous_backend,
        dynamic_rendezvous,
        static_tcp_rendezvous,
    )

    changes: list[tuple[Any, str, Any]] = [
        (c10d_rendezvous_backend, "TCPStore", store_at),
        (static_tcp_rendezvous, "TCPStore", store_at),
        (dynamic_rendezvous, "pickle", RendezvousState),
    ]
    if starts := _starts():
        from torch.distributed.launcher import api

        from trainer.distributed.agent import RestartingAgent

        changes.append((api, "LocalElasticAgent", partial(RestartingAgent, starts)))
    for module, name, ours in changes:
        if not hasattr(module, name):  # an unknown version of torch
            print(
                f"torchrun: {module.__name__} has no {name}: the rendezvous store may listen on all"
                " addresses, and restarts be torch's own",
                file=sys.stderr,
            )
        setattr(module, name, ours)
    try:
        run.main([*_rendezvous_id(), *arguments])
    except NotRestarted as refusal:
        print(f"{NOT_AGAIN}{refusal}", flush=True)
        return refusal.exit_code
    return 0


def _starts() -> Starts | None:
    """Those of this launch; None where something else counts its restarts."""
    setting = os.environ.get(VARIABLE)
    try:
        return starts_of(setting) if setting else None
    except OSError as error:
        print(f"torchrun: restarts are counted here alone: {error}", file=sys.stderr)
        return None


def _rendezvous_id() -> list[str]:
    token = run_token()
    return [f"--rdzv-id={mac(token, b'meeting').decode()[:32]}"] if token else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
