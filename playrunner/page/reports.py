"""Reports: one HTML file that needs no network, opens from disk and prints well."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup
from starlette.responses import HTMLResponse

from playrunner.errors import BadInput
from playrunner.page.records.run_list import RunRow
from playrunner.page.records.run_steps import Steps, outputs_of
from playrunner.page.records.timeline import WIDTH, lanes
from playrunner.page.rendering import STATIC, render
from playrunner.project import install_extra, version

MOST_STEPS = 5000  # the file stays of a size that a browser opens at once


def plotly_script() -> Path:
    """Plotly's own script in its package, which is not imported: that takes seconds."""
    found = importlib.util.find_spec("plotly")
    folders = list(found.submodule_search_locations or ()) if found else []
    script = Path(folders[0]) / "package_data" / "plotly.min.js" if folders else None
    if script is None or not script.is_file():
        raise BadInput(f"charts need plotly; install it with: {install_extra('page')}")
    return script


def run_report(row: RunRow, steps: Steps) -> str:
    """A run of a playbook: recap, failures, timeline and every step with output and diff."""
    outputs: dict[int, tuple[str, str]] = {}
    for host, results in steps.by_host().items():
        outputs.update(outputs_of(row.record.folder, host, results))
    drawn, left_out = lanes(steps)
    shown = sorted(steps.results, key=lambda result: result.status not in ("failed", "unreachable"))
    return render(
        "run_report.html",
        **_report_values([]),
        row=row,
        steps=steps,
        lanes=drawn,
        lanes_left_out=left_out,
        width=WIDTH,
        failures=[
            (result, *outputs.get(result.number, ("", "")))
            for result in steps.failures[:MOST_STEPS]
        ],
        failure_count=len(steps.failures),
        results=[(result, *outputs.get(result.number, ("", ""))) for result in shown[:MOST_STEPS]],
        left_out=max(0, len(shown) - MOST_STEPS),
    )


def training_report(values: dict[str, Any]) -> str:
    """A training run, with the same charts as its page."""
    scripts = [plotly_script().read_text(encoding="utf-8"), _static("page.js")]
    data = json.dumps(values["curves"], allow_nan=False)
    return render(
        "training_report.html",
        **{**values, **_report_values(scripts)},
        curve_data=Markup(in_script(data)),
    )


def in_script(text: str) -> str:
    """JSON that cannot end the script element it stands in."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def download(report: str, name: str) -> HTMLResponse:
    header = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    return HTMLResponse(report, headers={"content-disposition": header})


def _report_values(scripts: list[str]) -> dict[str, Any]:
    style = _static("page.css")
    allowed = " ".join(_fingerprint(script) for script in scripts) or "'none'"
    return {
        "report": True,
        "allow_actions": False,
        "path": "",
        "style": Markup(style),
        "scripts": [Markup(script) for script in scripts],
        # Only these scripts run, should text of a host ever be taken for markup
        "policy": (
            f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:"
        ),
        "written": time.time(),
        "version": version(),
    }


def _fingerprint(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _static(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")
