"""host.file: a file, directory or link, with its mode and owner; or nothing at all."""

from __future__ import annotations

import os
import time

from playrunner.hostside.module import Failed
from playrunner.modules.host._content import refuse, stat_of
from playrunner.modules.host._labels import set_labels
from playrunner.modules.host._owners import set_attributes, warn_of_unknown
from playrunner.modules.host._paths import (
    Looked,
    apply_change,
    expanded,
    facts,
    first_missing,
    kind_of,
    look,
    paths_below,
    replacing,
)
from playrunner.modules.host._placed import Placed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State


class File(Placed):
    """A file, directory or link, with its mode and owner."""

    former = ("context",)
    aliases = {"dest": "path", "name": "path"}
    path: str  # where it is
    # What should be there
    state: Literal["file", "directory", "link", "hard", "touch", "absent"] | None = None
    src: str | None = None  # what a link points to
    recurse: bool = False  # mode and owner for all below a directory too
    force: bool = False  # put a link where something else is, or to where nothing is
    follow: bool = True  # mode and owner are meant for what a link points to
    access_time: str | None = None  # preserve, now, or a time
    modification_time: str | None = None  # preserve, now, or a time
    access_time_format: str = "%Y%m%d%H%M.%S"  # how access_time is written
    modification_time_format: str = "%Y%m%d%H%M.%S"  # how modification_time is written
    _diff_peek: bool | None = None  # given by action plugins of Ansible that only look

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        state = arguments.get("state")
        if arguments.get("recurse") and state not in (None, "directory"):
            return "recurse option requires state to be 'directory'"
        if arguments.get("src") and state not in ("link", "hard"):
            return "src option requires state to be 'link' or 'hard'"
        return None

    def observe(self, ctx: HostContext) -> Optional[State]:
        path, target = self._place()
        # Only what may have to be put back is read: looking leaves the access time alone.
        state = look(ctx, path, content=ctx.diff and target in ("absent", "link", "hard"))
        if state is None and target == "directory":
            missing = first_missing(path)
            return {"kind": "absent", "above": missing} if missing else None
        pointed = self._pointed(path, target)
        if pointed and os.path.exists(pointed):
            state = {
                **(state or {"kind": "absent"}),
                "pointed": Looked(os.path.realpath(pointed), kind="file", **_attributes(pointed)),
            }
        if state is None or state["kind"] == "absent":
            return state
        info = stat_of(path)
        if info:
            state["atime"], state["mtime"] = info.st_atime, info.st_mtime
        if (
            target == "hard"
            and self.src
            and state["kind"] == "file"
            and _same(path, expanded(self.src))
        ):
            state.update(kind="hard", source=expanded(self.src))
        if target == "absent" and ctx.diff and state["kind"] == "directory":
            state["path_content"] = paths_below(path)
        if self.recurse and state["kind"] == "directory":
            state["below"] = self._below(path, set())
        return state

    def desired(self, ctx: HostContext, current: Optional[State]) -> Optional[State]:
        path, state = self._place()
        if state == "absent" or self._diff_peek is not None:
            return current if self._diff_peek is not None else None
        existing = None if current is None or current["kind"] == "absent" else current
        if ctx.check:
            warn_of_unknown(ctx, self.owner, self.group)
        kinds = {"link": self._link, "hard": self._hard, "touch": self._touch}
        kinds["directory"] = self._directory
        target = kinds.get(state, self._file)(path, existing)
        if state == "directory" and current and not existing:
            target["above"] = None
        target.update(self._times(state))
        if current and "pointed" in current:
            target["pointed"] = self.access_state(ctx, current["pointed"])
        else:
            target.update(self.access_state(ctx, existing, target["kind"]))
        below = (existing or {}).get("below", {})
        changes = {
            name: self.access_state(ctx, entry, entry["kind"]) for name, entry in below.items()
        }
        changes = {
            name: want
            for name, want in changes.items()
            if any(below[name][key] != want[key] for key in want)
        }
        if changes:
            target["below"] = changes
        return replacing(existing, target)

    def apply(self, ctx: HostContext, change: Change) -> None:
        path, state = self._place()
        apply_change(ctx, path, change, (b"",) if state == "touch" else None)
        after = change.after or {}
        pointed = self._pointed(path, state)
        try:
            if pointed and after.get("pointed") and os.path.exists(pointed):
                _set_access(ctx, os.path.realpath(pointed), after["pointed"])
            for name, wanted in (after.get("below") or {}).items():
                _set_access(ctx, name, wanted)
            _set_times(path, after)
        except OSError as error:
            refuse(error, path)

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        path, state = self._place()
        if state in ("link", "hard"):
            shown = {"dest": path, "src": self.src or (change.after or {}).get("target")}
        elif state == "touch":
            path = expanded(self.path)
            shown = {"dest": path}
        else:
            shown = {"path": path}
        return {**shown, **(facts(path) or {"state": "absent"})}

    def _place(self) -> tuple[str, str]:
        """The path to work on, and what should be there when the step does not say."""
        complaint = self.check(self.__dict__)
        if complaint:
            raise Failed(complaint)
        path, state = expanded(self.path).rstrip("/") or "/", self.state
        if state is None:
            info = stat_of(path)
            there = kind_of(info) if info else "directory" if self.recurse else "file"
            state = there if there in ("link", "directory") else "file"  # type: ignore[assignment]
        if self.follow and state in ("file", "directory", "touch") and os.path.islink(path):
            path = os.path.realpath(path)
        if state == "hard" and self.src and os.path.isdir(path) and not os.path.islink(path):
            path = os.path.join(path, os.path.basename(self.src))
        return path, str(state)

    def _pointed(self, path: str, state: str) -> Optional[str]:
        """Where mode and owner go when they are meant for the other end of a link."""
        if (self.mode, self.owner, self.group) == (None, None, None) and not self.labels():
            return None
        if state == "hard" or (state == "link" and self.follow):
            return os.path.join(os.path.dirname(path), expanded(self.src)) if self.src else path
        return None

    def _file(self, path: str, there: Optional[State]) -> State:
        kind = there["kind"] if there else "absent"
        if kind not in ("file", "special"):
            raise Failed(
                f"file ({path}) is {kind}, cannot continue; state says what should be there",
                path=path,
                state=kind,
            )
        return {"kind": kind}

    def _touch(self, path: str, there: Optional[State]) -> State:
        return {"kind": there["kind"]} if there else {"kind": "file"}

    def _directory(self, path: str, there: Optional[State]) -> State:
        if there and there["kind"] != "directory":
            raise Failed(
                f"{path} already exists as a {there['kind']}; remove it first (state: absent)",
                path=path,
            )
        return {"kind": "directory"}

    def _link(self, path: str, there: Optional[State]) -> State:
        kind = there["kind"] if there else "absent"
        if self.src is None:
            if there is None or kind != "link":
                raise Failed("src is required for creating new symlinks", dest=path)
            return {"kind": "link", "target": there["target"]}
        target = expanded(self.src)
        pointed = os.path.join(os.path.dirname(path), target)
        if not self.force and not os.path.exists(pointed):
            raise Failed(
                "src file does not exist, use 'force=yes' if you really want to create the link:"
                f" {pointed}",
                path=path,
                src=target,
            )
        if kind not in ("absent", "link"):
            if not self.force:
                raise Failed(
                    f"refusing to convert from {kind} to symlink for {path}; use force: true to"
                    " replace it",
                    path=path,
                )
            if kind == "directory" and os.listdir(path):
                raise Failed(
                    f"the directory {path} is not empty, refusing to convert it; empty it first",
                    path=path,
                )
        return {"kind": "link", "target": target}

    def _hard(self, path: str, existing: Optional[State]) -> State:
        if self.src is None:
            raise Failed("src is required for creating new hardlinks", dest=path)
        source = expanded(self.src)
        if not os.path.exists(source):
            raise Failed("src does not exist", dest=path, src=source)
        if existing and existing["kind"] not in ("hard", "link") and not self.force:
            raise Failed(
                f"Cannot link, file exists at destination: {path}; use force: true to replace it",
                dest=path,
                src=source,
            )
        return {"kind": "hard", "source": source}

    def _times(self, state: str) -> State:
        default = "now" if state == "touch" else "preserve"
        times: State = {}
        for key, given, shape in (
            ("atime", self.access_time, self.access_time_format),
            ("mtime", self.modification_time, self.modification_time_format),
        ):
            value = given or default
            if value == "preserve":
                continue
            if value == "now":
                times[key] = "now"
                continue
            try:
                times[key] = time.mktime(time.strptime(value, shape))
            except ValueError as error:
                raise Failed(
                    f"Error while obtaining timestamp for time {value} using format {shape}: "
                    f"{error}"
                ) from None
        return times

    def _below(self, folder: str, seen: set[str]) -> State:
        """Mode and owner of everything in a folder; through links when they are followed."""
        states: State = {}
        seen.add(os.path.realpath(folder))
        for name in sorted(os.path.join(folder, entry) for entry in os.listdir(folder)):
            if os.path.islink(name) and self.follow:
                name = os.path.realpath(name)
            info = stat_of(name)
            if info is None:
                continue
            states[name] = Looked(name, kind=kind_of(info), **_attributes(name))
            if states[name]["kind"] == "directory" and name not in seen:
                states.update(self._below(name, seen))
        return states


def _set_access(ctx: HostContext, path: str, wanted: State) -> None:
    set_attributes(path, wanted)
    set_labels(ctx, path, wanted)


def _attributes(path: str) -> State:
    shown = facts(path, follow=True)
    return {key: shown[key] for key in ("mode", "owner", "group")}


def _same(one: str, other: str) -> bool:
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def _set_times(path: str, wanted: State) -> None:
    if wanted.get("atime") is None and wanted.get("mtime") is None:
        return
    info, now = os.stat(path), time.time()
    access, modified = wanted.get("atime"), wanted.get("mtime")
    if access == modified == "now":
        os.utime(path)  # which also users may who can write to the file and do not own it
        return
    os.utime(
        path,
        (
            now if access == "now" else info.st_atime if access is None else access,
            now if modified == "now" else info.st_mtime if modified is None else modified,
        ),
    )
