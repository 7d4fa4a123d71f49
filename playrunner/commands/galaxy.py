"""galaxy: roles and collections that a project needs, from folders, git, tarballs or a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import JSON_FLAG, verb
from playrunner.output.json_output import print_json

if TYPE_CHECKING:
    from invoke.context import Context


@verb(
    flags=JSON_FLAG,
    help={
        "requirements": "the file that lists them",
        "force": "install again what is already there",
    },
)
def install(
    context: Context,
    flags: dict[str, Any],
    requirements: str = "requirements.yml",
    force: bool = False,
) -> int:
    """Install the roles and collections of requirements.yml into roles/ and collections/."""
    from playrunner.plugins.galaxy import install_requirements

    installed = install_requirements(requirements, force)
    if flags["json"]:
        print_json({"installed": installed, "exit_code": 0})
        return 0
    for kind, lines in installed.items():
        for line in lines:
            print(f"{kind}: {line}")
    return 0
