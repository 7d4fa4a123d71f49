"""jumphost.inventory: an inventory file on this machine that names the jump host, to be given
beside one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from playrunner.errors import BadInput
from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.modules.jumphost._here import HereModule, folder, remove, write
from playrunner.text.documents import read_yaml

if TYPE_CHECKING:
    from playrunner.run.context import Context

HEADER = (
    "# The jump host; `jumphost.create` keeps this up to date. Give it after your own:"
    " --inventory {file}\n"
)


class Inventory(HereModule):
    """An inventory file that names the jump host and says which hosts are reached through it."""

    content: dict[str, Any]  # hosts and groups, as an inventory has them

    def observe(self, ctx: Context) -> State | None:
        file = file_of(ctx)
        try:
            content = read_yaml(file, plain=True) if file.exists() else None
        except BadInput as error:
            raise Failed(f"{error}; remove the file, and it is written again") from None
        if content is None:
            return None
        return {"path": str(file), "text": yaml.safe_dump(content, sort_keys=False)}

    def desired(self, ctx: Context, current: State | None) -> State:
        return {"text": yaml.safe_dump(self.content, sort_keys=False)}

    def apply(self, ctx: Context, change: Change) -> None:
        file = file_of(ctx)
        if change.after is None:
            remove(file)
        else:
            write(file, (HEADER.format(file=file) + change.after["text"]).encode(), 0o644)


def file_of(ctx: Context) -> Path:
    return folder(ctx) / "inventory.yaml"
