"""Findings as they are told: one line each, with the fix where something is missing; or as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from playrunner.doctor.finding import HERE, Finding
from playrunner.output.terminal import Painted, Terminal

_SHOWN_ROLES = 4


def show(findings: Sequence[Finding], terminal: Terminal) -> None:
    """By machine; what is missing after what is there."""
    for where in dict.fromkeys(finding.where for finding in findings):
        terminal.line(Painted(where, "bold"))
        own = [finding for finding in findings if finding.where == where]
        for finding in sorted(own, key=lambda each: not each.there):
            terminal.line("  ", *_parts(finding))
    missing = [finding for finding in findings if not finding.there]
    terminal.line(
        f"{len(missing)} of {len(findings)} missing" if missing else f"all {len(findings)} there"
    )


def as_data(findings: Sequence[Finding], mended: Sequence[str], code: int) -> dict[str, Any]:
    plain = [
        {name: value for name, value in asdict(each).items() if name != "remedy"}
        | {"safe": each.remedy is not None}
        for each in findings
    ]
    return {
        "findings": plain,
        "missing": [each.what for each in findings if not each.there],
        "mended": list(mended),
        "exit_code": code,
    }


def _parts(finding: Finding) -> tuple[Painted, str]:
    if finding.there:
        return Painted("ok", "ok"), f"       {finding.what}: {finding.said}"
    roles = [role.replace("_", "-") for role in finding.needed_by]
    more = f" and {len(roles) - _SHOWN_ROLES} more" if len(roles) > _SHOWN_ROLES else ""
    who = f" (needed by {', '.join(roles[:_SHOWN_ROLES])}{more})" if roles else ""
    there = "" if finding.where == HERE else f" on {finding.where}"
    return Painted(
        "missing", "failed"
    ), f"  {finding.what}: {finding.said}{who}; fix{there}: {finding.fix}"
