"""modules: the modules that steps can use, and their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import JSON_FLAG, verb
from playrunner.output.json_output import print_json

if TYPE_CHECKING:
    from invoke.context import Context


@verb(flags=JSON_FLAG, name="list")
def list_modules(context: Context, flags: dict[str, Any]) -> int:
    """List every module with its purpose."""
    from playrunner.playbook.module_docs import summaries

    modules = summaries()
    if flags["json"]:
        print_json(modules)
        return 0
    width = max(map(len, modules))
    for name, summary in modules.items():
        print(f"{name:<{width}}  {summary}")
    return 0


@verb(flags=JSON_FLAG, positional=["name"], help={"name": "the module's name"})
def show(context: Context, name: str, flags: dict[str, Any]) -> int:
    """Show a module's arguments: types, defaults and meaning."""
    from playrunner.playbook.module_docs import describe, page

    description = describe(name)
    print_json(description) if flags["json"] else print(page(description))
    return 0
