"""host.subversion: a working copy, or an export, of a Subversion repository."""

from __future__ import annotations

import os
import re

from playrunner.hostside.module import Failed, Module
from playrunner.modules.host._packages import needed
from playrunner.modules.host._paths import expanded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

_PLAIN = {"LC_ALL": "C"}
_REVISION = re.compile(r"^Revision: \d+$", re.MULTILINE)
_URL = re.compile(r"^URL: .*$", re.MULTILINE)


class Subversion(Module):
    """A working copy, or an export, of a Subversion repository."""

    aliases = {"name": "repo", "repository": "repo", "rev": "revision", "version": "revision"}
    repo: str  # where it comes from
    dest: str | None = None  # where the copy is
    revision: str = "HEAD"  # a number, a date in braces, or HEAD
    force: bool = False  # throw local changes away
    in_place: bool = False  # make a folder that is no working copy one
    username: str | None = None  # for the login
    password: str | None = None  # for the login; svn reads it from its standard input
    executable: str | None = None  # the svn to use
    checkout: bool = True  # make the copy when it is not there
    update: bool = True  # bring a copy that is there up to date
    export: bool = False  # only the files, without what svn keeps beside them
    switch: bool = True  # point a copy that is there at repo
    validate_certs: bool = False  # check the server's certificate

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        asked = [arguments.get("checkout", True), arguments.get("update", True)]
        if not arguments.get("dest") and (any(asked) or arguments.get("export")):
            return (
                "the destination directory must be specified unless checkout=no, update=no, and"
                " export=no"
            )
        return None

    def observe(self, ctx: HostContext) -> State | None:
        if not self.dest or self.export or not os.path.exists(self._folder()):
            return None
        if self._svn(ctx, "info", self._folder(), must=False).rc:
            if self.in_place:
                return None
            raise Failed(
                f"ERROR: {self._folder()} folder already exists, but its not a subversion"
                " repository."
            )
        if not self.update:
            return {}
        status = self._svn(ctx, "status", "--quiet", "--ignore-externals", self._folder()).out
        modified = any(line[:1] not in ("", "?", "X") for line in status.splitlines())
        if modified and not self.force:
            raise Failed("ERROR: modified files exist in the repository.")
        return {"at": self._at(ctx), "modified": modified}

    def desired(self, ctx: HostContext, current: State | None) -> State | None:
        if not (self.export or self.update or self.checkout):
            return None
        if current is None:
            wanted = self.export or self.checkout
            return {"at": [f"Revision: {self.revision}", f"URL: {self.repo}"]} if wanted else None
        if not self.update:
            return current
        url = f"URL: {self.repo}" if self.switch else current["at"][1]
        # What lies between two revisions may be outside of this folder: then nothing changes.
        there = self._svn(ctx, "info", "-r", self.revision, self.repo).out
        changed = _match(re.compile(r"^Last Changed Rev: (\d+)$", re.MULTILINE), there)
        here = _match(
            re.compile(r"^Last Changed Rev: (\d+)$", re.MULTILINE),
            self._svn(ctx, "info", self._folder()).out,
        )
        same = changed == here and url.rstrip("/") == current["at"][1].rstrip("/")
        ctx.memory["behind"] = not same
        at = current["at"] if same else [_match(_REVISION, there), url]
        return {"at": at, "modified": False}

    def apply(self, ctx: HostContext, change: Change) -> None:
        folder = self._folder()
        if change.after is None or ("modified" not in change.after and change.observed):
            raise Failed(f"{folder} cannot be taken back to what it was")
        if change.observed is None:
            verb = "export" if self.export else "checkout"
            forced = ["--force"] if (self.export and self.force) or os.path.exists(folder) else []
            self._svn(ctx, verb, *forced, "-r", self.revision, self.repo, folder)
            if not self.export and self.force and self.in_place:
                self._svn(ctx, "revert", "-R", folder)
            return
        if self.switch:
            self._svn(ctx, "switch", "--revision", self.revision, self.repo, folder)
        if change.touches("modified"):
            self._svn(ctx, "revert", "-R", folder)
        self._svn(ctx, "update", "-r", self.revision, folder)

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        if not (self.export or self.update or self.checkout):
            return {"after": _match(_REVISION, self._svn(ctx, "info", self.repo).out)}
        observed = change.observed
        if self.export or (observed is None and (not change or ctx.check)):
            return {}
        if observed is not None and not self.update:
            return {}
        before = (observed or {}).get("at")
        if ctx.check:
            # Only revisions are named as long as nothing is fetched.
            target = (change.after or {}).get("at") or [None]
            return {"before": before and before[0], "after": target[0]}
        return {"before": before, "after": self._at(ctx)}

    def _folder(self) -> str:
        return expanded(self.dest or "")

    def _at(self, ctx: HostContext) -> list[str]:
        text = self._svn(ctx, "info", self._folder()).out
        return [
            _match(_REVISION, text) or "Unable to get revision",
            _match(_URL, text) or "Unable to get URL",
        ]

    def _svn(self, ctx: HostContext, *words: str, must: bool = True) -> Any:
        tool = self.executable or needed("svn", "install the package subversion")
        command = [tool, "--non-interactive", "--no-auth-cache"]
        command += [] if self.validate_certs else ["--trust-server-cert"]
        command += ["--username", self.username] if self.username else []
        # Not in the command: arguments can be read by everyone on the host.
        command += ["--password-from-stdin"] if self.password else []
        ran = ctx.run([*command, *words], stdin=self.password or None, env=_PLAIN)
        if ran.rc and must:
            raise Failed((ran.err or ran.out).strip(), rc=ran.rc, stdout=ran.out, stderr=ran.err)
        return ran


def _match(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[match.lastindex or 0] if match else ""
