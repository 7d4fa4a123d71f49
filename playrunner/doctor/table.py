"""Prints findings, one line each, with the fix where something is missing; or as JSON data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from playrunner.doctor.finding import HERE, Finding
from playrunner.output.terminal import Painted, Terminal

_SHOWN_ROLES = 4


def show(findings: Sequence[Finding], terminal: Terminal) -> None:
    """Grouped by machine; missing ones last."""
    for where in dict.fromkeys(finding.where for finding in findings):
        terminal.line(Painted(where, "bold"))
        own = [finding for finding in findings if finding.where == where]
        for finding in sorted(own, key=lambda finding: not finding.ok):
            terminal.line("  ", *_parts(finding))
    missing = [finding for finding in findings if not finding.ok]
    terminal.line(
        f"{len(missing)} of {len(findings)} missing" if missing else f"all {len(findings)} ok"
    )


def as_data(findings: Sequence[Finding], fixed: Sequence[str], code: int) -> dict[str, Any]:
    return {
        "findings": [_row(finding) for finding in findings],
        "missing": [finding.what for finding in findings if not finding.ok],
        "mended": list(fixed),
        "exit_code": code,
    }


def _row(finding: Finding) -> dict[str, Any]:
    return {
        "what": finding.what,
        "there": finding.ok,
        "said": finding.detail,
        "needed_by": finding.needed_by,
        "fix": finding.fix,
        "where": finding.where,
        "safe": finding.remedy is not None,
    }


def _parts(finding: Finding) -> tuple[Painted, str]:
    if finding.ok:
        return Painted("ok", "ok"), f"       {finding.what}: {finding.detail}"
    roles = [role.replace("_", "-") for role in finding.needed_by]
    more = f" and {len(roles) - _SHOWN_ROLES} more" if len(roles) > _SHOWN_ROLES else ""
    who = f" (needed by {', '.join(roles[:_SHOWN_ROLES])}{more})" if roles else ""
    place = "" if finding.where == HERE else f" on {finding.where}"
    return Painted(
        "missing", "failed"
    ), f"  {finding.what}: {finding.detail}{who}; fix{place}: {finding.fix}"
