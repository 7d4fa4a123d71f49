"""doctor: whether this machine and the jump host have what the roles need."""

from __future__ import annotations

from typing import Any

from playrunner.commands.flags import INVENTORY_FLAGS, verb
from playrunner.output.json_output import print_json

MISSING = 6  # the exit code when something is

_FLAGS = {name: INVENTORY_FLAGS[name] for name in ("inventory", "json")}


@verb(
    flags=_FLAGS,
    help={
        "roles": "what these roles need, as eks,nccl-image (default: what the inventory is about)",
        "fix": "do what is safe: folders, modes of files, packages in this environment",
    },
)
def doctor(context: Any, flags: dict[str, Any], roles: str = "", fix: bool = False) -> int:
    """Look whether this machine and the jump host have what is needed; one line each, with the fix.
    Exit code 6 when not."""
    from pathlib import Path

    from playrunner.doctor.examine import examine
    from playrunner.doctor.remedies import mend
    from playrunner.doctor.table import as_data, show
    from playrunner.options import Options
    from playrunner.output.terminal import Terminal
    from playrunner.run.run import open_inventory
    from playrunner.ssh.fleet import Fleet

    named = [name for name in roles.split(",") if name.strip()]
    mended: list[str] = []
    with Fleet(open_inventory(Options(inventory=tuple(flags["inventory"])))) as fleet:
        findings = examine(fleet, named, Path.cwd())
        curable = (
            [finding for finding in findings if finding.remedy and not finding.there] if fix else []
        )
        for finding in curable:
            mend(finding)
            mended.append(finding.fix)
        if curable:
            findings = examine(fleet, named, Path.cwd())
    code = 0 if all(finding.there for finding in findings) else MISSING
    if flags["json"]:
        print_json(as_data(findings, mended, code))
        return code
    terminal = Terminal()
    for text in mended:
        terminal.line(f"done: {text}")
    show(findings, terminal)
    return code
