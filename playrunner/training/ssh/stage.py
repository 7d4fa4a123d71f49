"""train.stage over SSH: data on every node that trains. Nodes that share a folder get it once; a
second time nothing is fetched."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from playrunner.errors import PlayrunnerError, StepFailed
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.ssh.fleet import MOST_AT_ONCE, Fleet
from playrunner.ssh.sandbox_autostart import ensure_datasets_running, ensure_sandbox_running
from playrunner.training.code_staging import stage_code
from playrunner.training.data.request import STDIN, StageRequest, resolved, target_of
from playrunner.training.data.transfer import Folder, follow
from playrunner.training.node_shell import in_shell
from playrunner.training.screen.screen import LiveLine
from playrunner.training.ssh.nodes.hosts import DEFAULT_PYTHON, root_of, usable_hosts
from playrunner.variables.asked_inventory import open_inventory
from playrunner.variables.extra_vars import read_extra_vars

Outcome = tuple[dict[str, Any], str]  # what the program answered, and why it failed


def data_folder(root: str) -> str:
    """Where staged data is on a node."""
    return f"{root}/data"


def stage(request: StageRequest, overrides: tuple[str, ...], options: Options) -> int:
    inventory = open_inventory(options)
    ensure_sandbox_running(inventory)
    with Fleet(inventory, read_extra_vars(options.extra_vars)) as fleet:

        def variable(name: str) -> object:
            if name == "train_datasets":
                ensure_datasets_running(inventory)
            return fleet.variable("localhost", name)

        request = resolved(request, overrides, variable)
        if not request.source:
            return _tell_nothing(request, options)
        hosts = usable_hosts(fleet, options)
        targets = {host: target_of(request, data_folder(root_of(fleet, host))) for host in hosts}
        if options.check:
            return _tell_checked(request, targets, options)
        folder = Folder(Path(request.source).expanduser()) if request.is_folder else None
        line = LiveLine(0, quiet=options.json)
        outcomes = staged_on(fleet, request, targets, folder, line.say)
        line.end()
    return _tell(request, outcomes, options)


def staged_on(
    fleet: Fleet,
    request: StageRequest,
    targets: dict[str, str],
    folder: Folder | None,
    say: Callable[[str], None],
) -> dict[str, Outcome]:
    codes = stage_code(fleet, {host: root_of(fleet, host) for host in targets})

    def on(host: str) -> Outcome:
        words = ["-m", "trainer.staging", *request.words(targets[host], STDIN)]
        python = str(fleet.variable(host, "train_python", DEFAULT_PYTHON))
        command = " ".join(map(in_shell, [python, "-u", *words]))
        try:
            channel = fleet.start(host, f"PYTHONPATH={in_shell(codes[host])} exec {command}")
            if request.is_signed:
                channel.send(f"{request.source}\n".encode())
            return follow(channel, folder, lambda text: say(f"{host}: {text}"))
        except (PlayrunnerError, OSError) as error:
            return {}, str(error)

    # The first alone: the others may see its folder, and then have nothing to do.
    first, *others = targets
    outcomes = {first: on(first)}
    if others:
        with ThreadPoolExecutor(min(MOST_AT_ONCE, len(others))) as pool:
            outcomes |= dict(zip(others, pool.map(on, others), strict=True))
    return outcomes


def _tell(request: StageRequest, outcomes: dict[str, Outcome], options: Options) -> int:
    failed = {host: why for host, (_, why) in outcomes.items() if why}
    results = {host: result for host, (result, why) in outcomes.items() if not why}
    changed = any(result.get("changed") for result in results.values())
    if options.json:
        first = next(iter(results.values()), {})
        print_json(
            {
                "into": request.into,
                "source": request.shown_source,
                "state": "failed" if failed else "finished",
                "changed": changed,
                "folder": first.get("folder", ""),
                "files": first.get("files", 0),
                "bytes": first.get("bytes", 0),
                "hosts": {**results, **{host: {"reason": why} for host, why in failed.items()}},
            }
        )
        return 2 if failed else 0
    for host, result in results.items():
        word = "staged" if result.get("changed") else "complete already"
        files = int(result.get("files", 0))
        print(
            f"{host}: {result.get('folder')} is {word}: {files} file{'s' * (files != 1)},"
            f" {result.get('bytes')} bytes"
        )
    if failed:
        reasons = "; ".join(f"{host}: {why}" for host, why in failed.items())
        raise StepFailed(f"staging {request.into}: {reasons}")
    return 0


def _tell_nothing(request: StageRequest, options: Options) -> int:
    if options.json:
        print_json({"state": "finished", "changed": False, "title": request.title})
    else:
        print(f"{request.title} needs no staging")
    return 0


def _tell_checked(request: StageRequest, targets: dict[str, str], options: Options) -> int:
    if options.json:
        print_json({"state": "checked", "into": request.into, "hosts": targets})
        return 0
    for host, target in targets.items():
        print(f"{host}: would stage {request.title or request.shown_source} to {target}")
    return 0
