"""host.mount: a file system, mounted now and at every start."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed, Module
from playrunner.modules.host import _fstab
from playrunner.modules.host._content import backup_of
from playrunner.modules.host._packages import needed
from playrunner.modules.host._paths import expanded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State


class Mount(Module):
    """A file system, mounted now and at every start."""

    aliases = {"name": "path"}
    path: str  # where it is mounted
    src: str | None = None  # what is mounted: a device, host:/folder, tmpfs
    fstype: str | None = None  # its kind: ext4, xfs, nfs4, tmpfs
    opts: str = "defaults"  # how it is mounted
    # mounted: in fstab and mounted; present: in fstab; unmounted: not mounted, fstab kept; absent:
    # neither, and the folder goes; ephemeral: mounted, fstab kept; absent_from_fstab: not in fstab;
    # remounted: mounted afresh
    # mounted afresh
    state: Literal[
        "mounted", "unmounted", "present", "absent", "absent_from_fstab", "remounted", "ephemeral"
    ]
    fstab: str = "/etc/fstab"  # the table of file systems
    boot: bool = True  # mount it at every start
    dump: str = "0"  # whether dump saves it
    passno: str = "0"  # when fsck checks it
    backup: bool = False  # keep a copy of the table

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        state = arguments.get("state")
        missing = [name for name in ("src", "fstype") if not arguments.get(name)]
        if state in ("mounted", "present", "ephemeral") and missing:
            return f"state is {state} but all of the following are missing: {', '.join(missing)}"
        return None

    @property
    def _path(self) -> str:
        return os.path.realpath(expanded(self.path)) if self.path != "none" else self.path

    def observe(self, ctx: HostContext) -> State | None:
        complaint = self.check({name: getattr(self, name) for name in ("state", "src", "fstype")})
        if complaint:
            raise Failed(complaint)
        return {
            "entry": _fstab.entry(self.fstab, self._entry()[1]),
            "mounted": _fstab.is_mounted(self._path),
            "folder": os.path.isdir(self._path),
            "fresh": False,
        }

    def desired(self, ctx: HostContext, found: State | None) -> State | None:
        mounted = found or {}
        if self.state == "present":
            return {"entry": self._entry()}
        if self.state == "mounted":
            return {"entry": self._entry(), "mounted": True, "folder": True}
        if self.state == "ephemeral":
            return {"mounted": True, "folder": True, "fresh": True}
        if self.state == "remounted":
            return {"mounted": True, "fresh": True}
        if self.state == "unmounted":
            return {"mounted": False}
        gone: State = {"entry": None}
        # A place that the table does not know stays as it is, mounted or not, as with Ansible.
        return (
            {**gone, "mounted": False, "folder": False}
            if self.state == "absent" and mounted["entry"]
            else gone
        )

    def apply(self, ctx: HostContext, change: Change) -> None:
        before, after = change.observed or {}, change.after or {}
        if self.state == "remounted" and not before["mounted"]:
            raise Failed(f"Error remounting {self._path}: it is not mounted; use state: mounted")
        if after.get("folder") and not before["folder"]:
            os.makedirs(self._path, exist_ok=True)
        if change.touches("entry"):
            if self.backup and os.path.exists(self.fstab):
                ctx.memory["backup_file"] = backup_of(ctx, self.fstab)
            _fstab.put(ctx, self.fstab, self._entry()[1], after["entry"])
        try:
            self._apply_mount(ctx, change, before, after)
        except Failed:
            if change.touches("entry"):
                _fstab.put(ctx, self.fstab, self._entry()[1], before["entry"])
            raise
        if after.get("folder") is False and before["folder"]:
            os.rmdir(self._path)

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        values: dict[str, Any] = {
            "name": self.path,
            "fstab": self.fstab,
            "opts": self._entry()[3],
            "boot": self.boot,
            "dump": self.dump,
            "passno": self.passno,
            "backup_file": ctx.memory.get("backup_file", ""),
        }
        return {
            **values,
            **{name: getattr(self, name) for name in ("src", "fstype") if getattr(self, name)},
        }

    def _apply_mount(self, ctx: HostContext, change: Change, before: State, after: State) -> None:
        if after.get("mounted") is False and before["mounted"]:
            self._run(ctx, ["umount", self._path], "unmounting")
        elif (
            after.get("mounted")
            and before["mounted"]
            and (after.get("fresh") or change.touches("entry"))
        ):
            self._remount(ctx)
        elif after.get("mounted") and not before["mounted"]:
            self._run(ctx, self._mount_words(), "mounting")

    def _remount(self, ctx: HostContext) -> None:
        table = _fstab.entry(self.fstab, self._entry()[1])
        options = self._entry()[3] if self.src else table[3] if table else ""
        try:
            self._run(
                ctx,
                ["mount", "-o", ",".join(["remount", *filter(None, [options])]), self._path],
                "remounting",
            )
        except Failed:
            if not table and not self.src:
                raise
            # Some kinds cannot take new options while mounted.
            self._run(ctx, ["umount", self._path], "remounting")
            self._run(ctx, self._mount_words(), "remounting")

    def _mount_words(self) -> list[str]:
        source, path, kind, options = (
            self._entry()[:4] if self.src else _fstab.entry(self.fstab, self._entry()[1])[:4]
        )
        return [
            "mount",
            "-t",
            _fstab.plain(kind),
            "-o",
            options,
            _fstab.plain(source),
            _fstab.plain(path),
        ]

    def _entry(self) -> list[str]:
        """The fields of the line in fstab."""
        options = self.opts
        if not self.boot and "noauto" not in options.split(","):
            options += ",noauto"
        return [
            _fstab.escaped(self.src or ""),
            _fstab.escaped(self.path.rstrip("/") or "/"),
            self.fstype or "",
            options,
            self.dump,
            self.passno,
        ]

    def _run(self, ctx: HostContext, words: list[str], doing: str) -> None:
        ran = ctx.run(
            [needed(words[0], "it belongs to util-linux"), *words[1:]], env={"LC_ALL": "C"}
        )
        if ran.rc:
            raise Failed(f"Error {doing} {self._path}: {(ran.err or ran.out).strip()}", rc=ran.rc)
