"""What dnf and yum know of packages, as rows."""

from __future__ import annotations

from playrunner.hostside.module import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playrunner.hostside.host_context import HostContext

_PLAIN = {"LC_ALL": "C", "LANG": "C"}
_FIELDS = ("name", "epoch", "version", "release", "arch", "repo")
_FORM = "%{name}\\t%{epoch}\\t%{version}\\t%{release}\\t%{arch}\\t%{repoid}\n"
_CHOICES = {
    "installed": ["--installed"],
    "updates": ["--upgrades"],
    "upgrades": ["--upgrades"],
    "available": ["--available"],
}


def listed(ctx: HostContext, command: list[str], asked: str) -> list[dict[str, Any]]:
    """`installed`, `updates`, `available`, `repos`, or packages whose names match."""
    if asked in ("repos", "repositories"):
        lines = _run(ctx, [*command, "repolist", "--enabled"])[1:]
        return [{"repoid": line.split()[0], "state": "enabled"} for line in lines if line.split()]
    if asked in _CHOICES:
        return _rows(_run(ctx, [*command, "repoquery", *_CHOICES[asked], "--qf", _FORM]))
    rows = []
    for choice in ("--installed", "--available"):
        rows += _rows(_run(ctx, [*command, "repoquery", choice, "--qf", _FORM, asked]))
    return rows


def _rows(lines: list[str]) -> list[dict[str, Any]]:
    rows = []
    for line in lines:
        row: dict[str, Any] = dict(zip(_FIELDS, line.replace("\\t", "\t").split("\t")))  # noqa: B905
        if len(row) == len(_FIELDS):
            installed = row["repo"].startswith("@")
            row["repo"] = "installed" if installed else row["repo"]
            row["yumstate"] = "installed" if installed else "available"
            row["envra"] = row["nevra"] = (
                f"{row['epoch']}:{row['name']}-{row['version']}-{row['release']}.{row['arch']}"
            )
            rows.append(row)
    return rows


def _run(ctx: HostContext, command: list[str]) -> list[str]:
    ran = ctx.run(command, env=_PLAIN)
    if ran.rc:
        raise Failed(f"'{' '.join(command)}' failed: {ran.err.strip()}", rc=ran.rc)
    return [line for line in ran.out.splitlines() if line.strip()]
