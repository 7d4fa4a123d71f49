"""init: a small project in the working folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import pick, verb
from playrunner.output.json_output import print_json

if TYPE_CHECKING:
    from invoke.context import Context

TEMPLATES = Path(__file__).parent / "new_project"
FILES = {"inventory.yaml": "inventory.yaml", "site.yaml": "site.yaml", ".gitignore": "gitignore"}


@verb(flags=pick("check", "json"))
def init(context: Context, flags: dict[str, Any]) -> int:
    """Create a project here: inventory.yaml, site.yaml and .gitignore (existing files are kept)."""
    from playrunner.project import program

    folder, check = Path.cwd(), flags["check"]
    missing = [name for name in FILES if not (folder / name).exists()]
    created = [name for name in missing if check or _create(folder / name, FILES[name])]
    kept = [name for name in FILES if name not in created]
    if flags["json"]:
        print_json({"folder": str(folder), "created": created, "kept": kept, "exit_code": 0})
        return 0
    for name in FILES:
        print(f"{('would create' if check else 'created') if name in created else 'kept'} {name}")
    if not check:
        print(f"next: {program()} play site.yaml")
    return 0


def _create(file: Path, template: str) -> bool:
    """Write a file that does not exist; False if another process has created it meanwhile."""
    from playrunner.errors import BadInput

    try:
        with file.open("x") as stream:
            stream.write((TEMPLATES / template).read_text())
    except FileExistsError:
        return False
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {error.strerror}") from None
    return True
