"""modules: which modules there are, and what each takes."""

from __future__ import annotations

from typing import Any

from playrunner.commands.flags import verb
from playrunner.output.json_output import print_json

_JSON = {"json": (False, "print JSON on stdout, and nothing else there")}


@verb(flags=_JSON, name="list")
def list_modules(context: Any, flags: dict[str, Any]) -> int:
    """Every module with what it is for."""
    from playrunner.playbook.module_docs import summaries

    found = summaries()
    if flags["json"]:
        print_json(found)
        return 0
    width = max(map(len, found))
    for name, summary in found.items():
        print(f"{name:<{width}}  {summary}")
    return 0


@verb(flags=_JSON, positional=["name"], help={"name": "the module"})
def show(context: Any, name: str, flags: dict[str, Any]) -> int:
    """One module's arguments, their types, defaults and meaning."""
    from playrunner.playbook.module_docs import describe, page

    found = describe(name)
    print_json(found) if flags["json"] else print(page(found))
    return 0
