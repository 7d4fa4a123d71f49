"""The gate's server and store against any client: only ranks of the run are counted and
believed."""

from __future__ import annotations

import json
import socket
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from trainer.distributed.listening import listening
from trainer.netcheck.connectivity import Mesh
from trainer.netcheck.decision_port import MAX_CLIENTS, DecisionServer, ask, free_port
from trainer.netcheck.process_rank import ProcessRank

HERE = "127.0.0.1"


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("5f4dcc3b5aa765d61d8327deb882cf99\n")
    monkeypatch.setenv("TRAINER_TOKEN", str(tmp_path / "token"))


@pytest.fixture
def server(token: None) -> Iterator[tuple[DecisionServer, int]]:
    port = free_port(HERE)
    made = DecisionServer(HERE, port, "open", 1)
    yield made, port
    made.close(0)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    some.binary(max_size=300)
    | some.sampled_from(
        [b"gate 1", b"gate 1 " + b"0" * 64, b"gate \xc2\xb2 x", b"gate -1 x", b"gate " + b"9" * 200]
    )
)
def test_no_bytes_whatever_count_as_a_rank_or_end_the_server(
    server: tuple[DecisionServer, int], said: bytes
) -> None:
    with socket.create_connection((HERE, server[1]), 5) as line:
        line.sendall(said + b"\n")
        line.settimeout(10)
        assert _all_of(line) == b""
    assert not server[0]._informed and server[0]._thread.is_alive()


def test_callers_that_say_nothing_keep_no_rank_out(server: tuple[DecisionServer, int]) -> None:
    crowd = [socket.create_connection((HERE, server[1]), 5) for _ in range(MAX_CLIENTS + 10)]
    began = time.monotonic()
    assert ask(HERE, server[1], 1, 20) == "open"
    assert time.monotonic() - began < 5
    for each in crowd:
        each.close()


@pytest.mark.parametrize(
    "said", [b"open\n", b"open " + b"0" * 64 + b"\n", b"\xff\xfe\n", b"\n", b""]
)
def test_an_impostor_in_the_place_of_rank_0_is_not_believed(token: None, said: bytes) -> None:
    with socket.create_server((HERE, 0)) as impostor:

        def lie() -> None:
            line, _ = impostor.accept()
            with line:
                line.recv(256)
                line.sendall(said)

        threading.Thread(target=lie, daemon=True).start()
        assert ask(HERE, impostor.getsockname()[1], 1, 0.5) == ""


def test_a_rank_0_that_never_answers_is_not_waited_for_longer_than_said(token: None) -> None:
    with socket.create_server((HERE, 0)) as silent:
        began = time.monotonic()
        assert ask(HERE, silent.getsockname()[1], 1, 0.5) == ""
        assert time.monotonic() - began < 3  # an answer may take five seconds where there is time


def test_what_strangers_put_into_the_gates_store_is_passed_over(token: None) -> None:
    pytest.importorskip("torch")
    from torch.distributed import TCPStore

    from trainer.distributed.token import run_token
    from trainer.netcheck.rendezvous import Rendezvous, Unreachable, of_run

    port = free_port(HERE)
    first = Rendezvous(ProcessRank(0, 3, 0, "node1", (), HERE, port), 10)
    second = Rendezvous(ProcessRank(1, 3, 0, "node2", (), HERE, port), 10)
    # Whoever listened on the network knows the names of its keys.
    stranger = of_run(run_token(), TCPStore(HERE, port, is_master=False))
    for said in (
        b"",
        b"7",
        b"[" * 100_000,
        json.dumps({"do": "end", "healthy": True}).encode(),
        b"\xff" * 64 + b" {}",
    ):
        stranger.set("answer/join/2", said)
        second.answer("join", {"node": "node2"})
        assert first.answers("join", [1, 2], 5) == {1: {"node": "node2"}}
        stranger.set("task/0", said)
        with pytest.raises(Unreachable, match="sent an invalid task"):
            second.next_task(0, 5)
    stranger.set("answer/join/2", stranger.get("answer/join/1"))  # another rank's own words
    assert first.answers("join", [1, 2], 5).keys() == {1}


_JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=5),
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(some.sampled_from(["node", "device", "address"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def met() -> tuple[Any, Any]:
    pytest.importorskip("torch")
    from trainer.netcheck.rendezvous import Rendezvous

    port = free_port(HERE)
    return tuple(
        Rendezvous(ProcessRank(rank, 2, 0, f"node{rank + 1}", (), HERE, port), 10)
        for rank in range(2)
    )  # type: ignore[return-value]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(_JSON)
def test_a_rank_that_joins_with_nonsense_has_not_come(met: tuple[Any, Any], said: Any) -> None:
    from trainer.netcheck.coordinator import Coordinator

    first, second = met
    second.answer("join", said)
    coordinator = Coordinator(
        first, ProcessRank(0, 2, 0, "node1", (), HERE, 0), Namespace(join_seconds=1), [4]
    )
    coordinator._await_ranks()
    came = isinstance(said, dict) and isinstance(said.get("node"), str)
    assert (1 in coordinator._nodes) is came and (1 in coordinator._lost) is not came


def test_the_mesh_listens_on_the_nodes_own_address_and_a_crowd_does_not_fill_it() -> None:
    mesh = Mesh("127.0.0.1")
    assert mesh._listener and mesh._listener.getsockname()[0] == "127.0.0.1" and mesh.address
    crowd = [socket.create_connection(mesh.address, 5) for _ in range(50)]
    assert Mesh("127.0.0.1").unreachable({1: mesh.address}) == {}
    for each in crowd:
        each.close()


def test_a_listener_is_on_one_address_and_refuses_one_that_is_not_here() -> None:
    with listening("127.0.0.7", 0) as made:
        assert made.getsockname()[0] == "127.0.0.7"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.8", made.getsockname()[1]), 5)
    with pytest.raises(OSError, match="assign"):
        listening("203.0.113.7", 0)


def _all_of(line: socket.socket) -> bytes:
    found = b""
    try:
        while data := line.recv(4096):
            found += data
    except ConnectionError:
        pass
    return found
