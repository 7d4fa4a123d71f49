"""host.tempfile: a temporary file or directory with a name of its own."""

from __future__ import annotations

import os

from playrunner.hostside.module import Action, Failed
from playrunner.modules.host._content import refuse
from playrunner.modules.host._paths import expanded, facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from playrunner.hostside.host_context import HostContext


class Tempfile(Action):
    """A temporary file or directory with a name of its own; the playbook removes it."""

    state: Literal["file", "directory"] = "file"  # what to make
    # The folder to make it in; the host's own for temporary files when not given
    path: str | None = None
    prefix: str = "ansible."  # how the name begins
    suffix: str = ""  # how the name ends

    def act(self, ctx: HostContext) -> dict[str, Any]:
        import tempfile

        for name in ("prefix", "suffix"):
            if os.path.basename(getattr(self, name)) != getattr(self, name):
                raise Failed(f"{name} must be a valid file name component: {getattr(self, name)}")
        folder = expanded(self.path) if self.path else None
        try:
            if self.state == "directory":
                made = tempfile.mkdtemp(self.suffix, self.prefix, folder)
            else:
                fd, made = tempfile.mkstemp(self.suffix, self.prefix, folder)
                os.close(fd)
        except OSError as error:
            refuse(error, os.path.join(folder or tempfile.gettempdir(), self.prefix))
        return {"path": made, **facts(made)}
