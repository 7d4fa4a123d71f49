"""doctor: whether this machine and the jump host meet the requirements of the roles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import options_from, pick, verb
from playrunner.output.json_output import print_json

if TYPE_CHECKING:
    from invoke.context import Context

MISSING = 6  # the exit code if a requirement is not met


@verb(
    flags=pick("inventory", "json"),
    help={
        "roles": "check for these roles, as eks,nccl-image (default: what the inventory uses)",
        "fix": "apply safe fixes: folders, file modes, packages in this environment",
    },
)
def doctor(context: Context, flags: dict[str, Any], roles: str = "", fix: bool = False) -> int:
    """Check this machine and the jump host for requirements, with fixes.

    The exit code is 6 if a requirement is not met."""
    from playrunner.doctor.examine import examine
    from playrunner.doctor.remedies import apply_fix
    from playrunner.doctor.table import as_data, show
    from playrunner.output.terminal import Terminal
    from playrunner.ssh.fleet import Fleet
    from playrunner.variables.asked_inventory import open_inventory

    named = [name for name in roles.split(",") if name.strip()]
    fixed: list[str] = []
    with Fleet(open_inventory(options_from(flags))) as fleet:
        findings = examine(fleet, named)
        fixable = (
            [finding for finding in findings if finding.remedy and not finding.ok] if fix else []
        )
        for finding in fixable:
            apply_fix(finding)
            fixed.append(finding.fix)
        if fixable:
            findings = examine(fleet, named)
    code = 0 if all(finding.ok for finding in findings) else MISSING
    if flags["json"]:
        print_json(as_data(findings, fixed, code))
        return code
    terminal = Terminal()
    for text in fixed:
        terminal.line(f"fixed: {text}")
    show(findings, terminal)
    return code
