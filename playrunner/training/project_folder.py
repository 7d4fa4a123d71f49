"""Which folders are a project, whose files travel with a script: not those that hold everything
else of a user or of the machine."""

from __future__ import annotations

import tempfile
from pathlib import Path

from playrunner.errors import BadInput


def is_project(folder: Path) -> bool:
    """A home, the temporary folder and the root of all files are none, unless git keeps them."""
    whole = folder.expanduser().resolve()
    catch_all = {Path("/"), Path.home().resolve(), Path(tempfile.gettempdir()).resolve()}
    return whole not in catch_all or (whole / ".git").exists()


def check_project(folder: str, script: str) -> None:
    """Before any file is looked at: such a folder takes minutes to read, and is private."""
    if not is_project(Path(folder)):
        own = Path(folder) / Path(script).stem
        raise BadInput(
            f"script {script}: every file of its folder would be copied to the nodes, and {folder}"
            f" is no project's folder; put the script in one of its own, as {own}/"
        )
