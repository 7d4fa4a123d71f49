"""Who can reach whom, by real sockets on this machine."""

from __future__ import annotations

import socket

from trainer.netcheck.connectivity import Mesh


def test_a_door_that_is_open_is_reached_and_one_that_is_not_is_named() -> None:
    here, there = Mesh("127.0.0.1"), Mesh("127.0.0.1")
    assert here.address and there.address and here.address[0] == "127.0.0.1"
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # a port of ours at which nobody listens
        found = here.unreachable({1: there.address, 2: ("127.0.0.1", closed.getsockname()[1])})
    assert found == {2: "Connection refused"}


def test_a_network_without_ipv4_has_no_place_to_knock_at() -> None:
    assert Mesh("::1").address is None
