"""The SSH key of an account: made once, in its home."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed
from playrunner.modules.host._conversation import Conversation
from playrunner.modules.host._packages import needed
from playrunner.modules.host._text import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext


class UserKey:
    """A key pair of a user: where it is, and what it is made of."""

    def __init__(self, home: str, kind: str, file: Optional[str]) -> None:
        path = os.path.expanduser(file) if file else os.path.join(".ssh", f"id_{kind}")
        self.kind, self.path = kind, os.path.join(home, path)

    def exists(self) -> bool:
        """Whether either half is there: a public key alone, or a link in its place, is kept."""
        return os.path.exists(self.path) or self.is_public_only()

    def is_public_only(self) -> bool:
        return os.path.exists(f"{self.path}.pub") and not os.path.exists(self.path)

    def make(
        self,
        ctx: HostContext,
        owner: tuple[int, int],
        bits: Optional[int],
        comment: Optional[str],
        passphrase: Optional[str],
    ) -> None:
        self._make_folder(owner)
        for path in (self.path, f"{self.path}.pub"):
            if os.path.lexists(path):
                os.unlink(path)
        command = [
            needed("ssh-keygen", "install the package openssh-client"),
            *("-t", self.kind, "-f", self.path),
            *(["-b", str(bits)] if bits else []),
            *(["-C", comment] if comment is not None else []),
        ]
        if passphrase is None:
            ran = ctx.run([*command, "-N", ""])
            rc, text = ran.rc, (ran.err or ran.out)
        else:
            # It asks on a terminal: a passphrase among the arguments could be read by everyone.
            question = (compiled("passphrase", "passphrase"), "passphrase", [passphrase], False)
            talk = Conversation([question], 60)
            status = talk.run(ctx, command, None, False)
            rc, text = 1 if status is None else status, talk.output.decode("utf-8", "replace")
        if rc:
            raise Failed(f"ssh-keygen: {text.strip()}", rc=rc)
        for path in (self.path, f"{self.path}.pub"):
            os.chown(path, *owner)

    def shown(self, ctx: HostContext) -> dict[str, Any]:
        """What results say of it."""
        shown: dict[str, Any] = {"ssh_key_file": self.path}
        if self.is_public_only():
            ctx.warn(f"no key was made: {self.path}.pub is there; force: true replaces it")
        if os.path.exists(self.path):
            tool = needed("ssh-keygen", "install the package openssh-client")
            shown["ssh_fingerprint"] = ctx.run([tool, "-l", "-f", self.path]).out.strip()
        try:
            with open(f"{self.path}.pub", encoding="utf-8", errors="replace") as file:
                shown["ssh_public_key"] = file.read().strip()
        except OSError:
            shown["ssh_public_key"] = None
        return shown

    def _make_folder(self, owner: tuple[int, int]) -> None:
        folder = os.path.dirname(self.path)
        if not os.path.isdir(folder):
            os.makedirs(folder, mode=0o700)
            os.chown(folder, *owner)
