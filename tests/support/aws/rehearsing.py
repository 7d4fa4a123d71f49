"""A process that plays roles again and again, each time in a child of its own, and can have a child
killed at any event.

Everything is loaded once; a child costs a fork. Commands come as JSON lines on stdin, answers go to
stdout.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
# Those whose descriptions are read before the forks
SERVICES = (
    *("sts", "ssm", "ec2", "iam", "eks", "efs", "fsx", "ecr", "s3", "autoscaling", "elbv2"),
    *("elb", "logs", "service-quotas"),
)


class Rehearsal:
    """The process, seen from a test."""

    def __init__(
        self,
        inventories: Sequence[str],
        roles: Sequence[str],
        state: Path,
        speed: float = 1.0,
        kinds: Sequence[str] = (),
        with_kept: bool = True,
    ) -> None:
        """`speed`: how much faster the clock of its runs is; `kinds`: the events that count, and at
        which a run can be killed (all without any); `with_kept`: whether teardowns delete what is
        kept."""
        environment = {**os.environ, "PLAYRUNNER_STATE_HOME": str(state), "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.aws.rehearsing", *roles],
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self._every = {
            "inventories": list(inventories),
            "speed": speed,
            "since": time.time(),
            "kinds": list(kinds),
            "with_kept": with_kept,
        }

    def create(self, kill_at: int = 0, **extra: Any) -> dict[str, Any]:
        """`code` (minus the signal that ended it), `events` written, `changed` steps, `text` of
        what was said."""
        return self._ask(verb="create", kill_at=kill_at, extra=extra)

    def teardown(self, kill_at: int = 0, **extra: Any) -> dict[str, Any]:
        return self._ask(verb="teardown", kill_at=kill_at, extra=extra)

    def status(self) -> dict[str, Any]:
        return self._ask(verb="status", kill_at=0, extra={})

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(60)  # a busy machine ends it late

    def _ask(self, **command: Any) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({**self._every, **command}) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


def main() -> None:
    import boto3  # noqa: F401  loaded before the forks, like all that follows

    import playrunner.lifecycle.status_and_delete
    import playrunner.lifecycle.teardown
    import playrunner.run.execute  # noqa: F401
    from playrunner.lifecycle.clouds_of_inventory import cloud_roles
    from playrunner.playbook.playbook import roles_play

    roles_play(sys.argv[1:])
    roles_play(cloud_roles())  # those of a teardown
    _load_services()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_in_child(json.loads(line), sys.argv[1:])) + "\n")
        sys.stdout.flush()


def _load_services() -> None:
    """Make a client of each service, which reads all that its description consists of."""
    import botocore.session
    from botocore.exceptions import UnknownServiceError

    from playrunner.aws.session import service_loader

    session, loader = botocore.session.Session(), service_loader(None)
    session.register_component("data_loader", loader)
    for service in SERVICES:
        session.create_client(
            service, "us-west-2", aws_access_key_id="none", aws_secret_access_key="none"
        )
        with suppress(UnknownServiceError):  # some have no pages
            loader.load_service_model(service, "paginators-1")


def _in_child(command: dict[str, Any], roles: list[str]) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        code = 70
        try:
            code = _play(command, roles)
        except (
            BaseException
        ):  # the child ends here, whatever happens; its parent shows what it said
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {"code": status, "text": text, "events": text.count("\x1e"), "changed": _changed(text)}


def _play(command: dict[str, Any], roles: list[str]) -> int:
    from playrunner.lifecycle.status_and_delete import show_status
    from playrunner.lifecycle.teardown import tear_down
    from playrunner.options import Options
    from playrunner.playbook.playbook import roles_play
    from playrunner.record.ledger import Ledger
    from playrunner.run.run import run_plays
    from tests.support.aws.fast_clock import hasten

    numbers, told = itertools.count(1), Ledger.event

    def event(ledger: Ledger, kind: str, **facts: Any) -> None:
        told(ledger, kind, **facts)
        if command["kinds"] and kind not in command["kinds"]:
            return
        os.write(1, b"\x1e")
        if next(numbers) == command["kill_at"]:
            os.kill(os.getpid(), signal.SIGKILL)

    Ledger.event = event  # type: ignore[method-assign]
    if command["speed"] != 1.0:
        hasten(command["speed"], command["since"])
    extra = tuple(f"{name}={value}" for name, value in command["extra"].items())
    options = Options(inventory=tuple(command["inventories"]), extra_vars=extra, yes=True)
    if command["verb"] == "teardown":
        return tear_down(options, with_kept=command["with_kept"])
    if command["verb"] == "status":
        return show_status(roles, options, "status")
    return run_plays([roles_play(roles)], options, "create")


def _changed(text: str) -> list[str]:
    lines = text.replace("\x1e", "").splitlines()
    return [line for line in lines if line.startswith("changed ")]


if __name__ == "__main__":
    main()
