"""The trainer's code on nodes, for verbs that run a program of it without launching a run."""

from __future__ import annotations

from collections.abc import Mapping

from playrunner.ssh.fleet import Fleet
from playrunner.training.code import code_archive
from playrunner.training.request import refuse


def stage_code(fleet: Fleet, roots: Mapping[str, str]) -> dict[str, str]:
    """Where the code is on each host, given its train_root; sent only to those that do not have
    it."""
    name, archive = code_archive()
    places = {host: f"{root}/code/{name}" for host, root in roots.items()}
    there = fleet.ask(places, "host.stat", lambda host: {"path": places[host]})
    lacking = [host for host, answer in there.items() if not answer.get("stat", {}).get("exists")]
    if lacking:
        content = archive.read_bytes().decode("latin-1")
        done = fleet.ask(
            lacking, "train.code", lambda host: {"src": {"text": content}, "dest": places[host]}
        )
        refuse(
            [f"{host}: {answer['msg']}" for host, answer in done.items() if "msg" in answer],
            "staging",
        )
    return places
