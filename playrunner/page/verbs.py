"""page, runs.report and train.report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import JSON_FLAG, options_from, pick, positional_if_given, verb
from playrunner.output.json_output import print_json

if TYPE_CHECKING:
    from invoke.context import Context

_TO = "the file to write (default: the run's name, with .html, in this folder)"


@verb(
    flags=pick("inventory", "kubeconfig", "limit", "json"),
    help={
        "port": "the port on this machine; 0 takes a free one",
        "allow-actions": "allow to stop, resume and scale runs and to quarantine nodes",
        "open": "open the link in this machine's browser",
        "interval": "seconds between two looks at the nodes of runs in progress; 0 never asks them",
        "via": "show the page of this host of the inventory, where playrunner is installed",
    },
)
def page(
    context: Context,
    flags: dict[str, Any],
    port: int = 0,
    allow_actions: bool = False,
    open: bool = False,
    interval: float = 5.0,
    via: str = "",
) -> int:
    """Show runs, training, clusters and costs in a browser, until Ctrl-C.

    The page is served on loopback, to those who have the link that is printed."""
    from playrunner.page.server import PageSettings, serve

    settings = PageSettings(port, allow_actions, open, interval)
    if via:
        from playrunner.page.via import serve_via

        return serve_via(via, settings, options_from(flags))
    return serve(settings, options_from(flags))


@verb(
    flags=JSON_FLAG,
    name="report",
    positional=positional_if_given("runs.report", "id"),
    help={"id": "the run's ID, or its beginning (default: the latest)", "to": _TO},
)
def runs_report(
    context: Context, flags: dict[str, Any], id: str | None = None, to: str = ""
) -> int:
    """Write a run as one HTML file: recap, failures, timeline, every step's output and diff."""
    from playrunner.cloud.extras import packages_of

    with packages_of("page", "reports need starlette"):
        from playrunner.page.reports import run_report
    from playrunner.page.records.run_list import RunList
    from playrunner.page.records.run_steps import read_steps

    row = RunList().find(id or "")
    report = run_report(row, read_steps(row.record.folder))
    return _written(report, Path(to or f"{row.run_id}.html"), flags)


@verb(
    flags=JSON_FLAG,
    name="report",
    positional=positional_if_given("train.report", "name"),
    help={"name": "the run's name (default: the newest)", "to": _TO},
)
def train_report(
    context: Context, flags: dict[str, Any], name: str | None = None, to: str = ""
) -> int:
    """Write a training run as one HTML file, with its curves, network, environment and log."""
    from playrunner.cloud.extras import packages_of
    from playrunner.errors import BadInput

    with packages_of("page", "reports need starlette and plotly"):
        from playrunner.page.reports import training_report
        from playrunner.page.training_pages import run_curves, run_values
    from playrunner.page.records.training_runs import TrainingRuns
    from playrunner.text.safe_path import file_name

    runs = TrainingRuns()
    run = runs.find(name) if name else next(iter(runs.all({})), None)
    if run is None:
        raise BadInput("no training run is recorded on this machine yet")
    report = training_report({**run_values(run), "curves": [run_curves(run)]})
    return _written(report, Path(to or f"{file_name(run.name)}.html"), flags)


def _written(report: str, path: Path, flags: dict[str, Any]) -> int:
    from playrunner.errors import BadInput
    from playrunner.text import atomic_write

    try:
        atomic_write.write_text(path, report, 0o600)  # it holds the output of hosts
    except OSError as error:
        raise BadInput(f"--to {path}: {error.strerror}; name a file that can be written") from None
    if flags["json"]:
        print_json({"file": str(path), "bytes": len(report.encode()), "exit_code": 0})
    else:
        print(path)
    return 0
