"""What is at a path, and the one way to create, update, remove and restore it, for all modules
that write files.

A state names `kind`, `mode`, `owner`, `group`, and `sha1` (also `content` when asked for diffs) or
a link's `target`.
"""

from __future__ import annotations

import os
import stat

from playrunner.hostside.module import Failed
from playrunner.modules.host._content import (
    CHUNK,
    TEXT_LIMIT,
    chunks_of,
    read_bytes,
    refuse,
    sha1_of,
    stat_of,
    text_of,
    write,
)
from playrunner.modules.host._drafts import scrap_beside
from playrunner.modules.host._labels import set_labels
from playrunner.modules.host._modes import default_bits, mode_bits, octal
from playrunner.modules.host._owners import group_name, set_attributes, user_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State
    from playrunner.modules.host._content import Source


class Looked(dict):  # type: ignore[type-arg]
    """The state of a path that still knows the path, since flags and contexts are only read when
    a step asks for them."""

    def __init__(self, path: str, **state: Any) -> None:
        super().__init__(state)
        self.path = path


def mode_state(mode: Any, found: Optional[State], kind: str) -> State:
    """The desired mode, when one is asked for, of something that is now as `found` says."""
    if mode is None or kind == "link":
        return {}
    current = int(found["mode"], 8) if found and found["kind"] == kind else default_bits(kind)
    return {"mode": octal(mode_bits(mode, current, kind == "directory"))}


def expanded(path: str) -> str:
    return os.path.expandvars(os.path.expanduser(path)) if "~" in path or "$" in path else path


def look(
    ctx: HostContext, path: str, content: bool = True, data: Optional[bytes] = None
) -> Optional[State]:
    """The state of what is at `path`, or None when nothing is; `data` spares reading it a second
    time."""
    info = stat_of(path)
    if info is None:
        return None
    kind = kind_of(info)
    state = Looked(
        path,
        kind=kind,
        mode=octal(info.st_mode),
        owner=user_name(info.st_uid),
        group=group_name(info.st_gid),
    )
    if kind == "link":
        state["target"] = os.readlink(path)
    elif kind == "directory" and ctx.diff:
        state["entries"] = len(os.listdir(path))
    elif kind == "file" and content:
        if data is None and info.st_size <= CHUNK:
            data = read_bytes(path)
        state["sha1"] = sha1_of((data,) if data is not None else chunks_of(path))
        if ctx.diff:
            state["content"] = None if data is None else text_of(data)
    return state


def kind_of(info: os.stat_result) -> str:
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}
    return kinds.get(stat.S_IFMT(info.st_mode), "special")


def file_state(
    ctx: HostContext, sha1: str, current: Optional[State], data: Optional[bytes] = None
) -> State:
    """The desired state of a file with this content; `data` is shown in diffs."""
    target: State = {"kind": "file", "sha1": sha1}
    if ctx.diff and not (current and current.get("sha1") == sha1):
        target["content"] = None if data is None else text_of(data)
    return replacing(current, target)


def replacing(current: Optional[State], target: State) -> State:
    """`wanted`, also naming all that goes when something of another kind is there, so that it can
    be put back."""
    if current and current["kind"] != target["kind"]:
        return {**dict.fromkeys(current), **target}
    return target


def apply_change(
    ctx: HostContext,
    path: str,
    change: Change,
    chunks: Iterable[bytes] | Source | None = None,
    validate: Optional[str] = None,
    unsafe: bool = False,
) -> None:
    """Create, update or remove what is at `path`, as `change` says; `chunks` are a file's content
    when the state does not hold it."""
    after, before = change.after, change.observed
    if before is not None and before["kind"] == "absent":
        before = None
    try:
        if after is None or after["kind"] == "absent":
            remove(path)
            remove_folders(os.path.dirname(path), after.get("above") if after else None)
            return
        if (
            before
            and before["kind"] != after["kind"]
            and "directory"
            in (
                before["kind"],
                after["kind"],
            )
        ):
            remove(path)
        if after["kind"] == "file" and _content_differs(before, after):
            _write_as(ctx, path, after, before, chunks, validate, unsafe)
        elif after["kind"] == "directory" and not _is_kind(before, "directory"):
            _make_directory(path, after)
        else:
            if after["kind"] == "link" and not _is_link_to(before, after["target"]):
                _swap_in(ctx, path, lambda scrap: os.symlink(after["target"], scrap))
            elif after["kind"] == "hard" and not _is_kind(before, "hard"):
                _swap_in(ctx, path, lambda scrap: os.link(after["source"], scrap))
            set_attributes(path, after)
        if "attributes" in after or "secontext" in after:
            set_labels(ctx, path, after)
    except OSError as error:
        refuse(error, path)


def _is_kind(state: Optional[State], kind: str) -> bool:
    return state is not None and state["kind"] == kind


def _is_link_to(state: Optional[State], target: str) -> bool:
    return state is not None and state["kind"] == "link" and state["target"] == target


def _content_differs(before: Optional[State], after: State) -> bool:
    if before is None or before["kind"] != "file":
        return True
    return bool(after.get("sha1", before.get("sha1")) != before.get("sha1"))


def _make_directory(path: str, state: State) -> None:
    make_folders(path, state)
    if state.get("entries"):
        raise Failed(
            f"{path} is back, but empty: the {state['entries']} entries it held were not kept"
        )


def make_folders(path: str, attributes: State) -> None:
    """A folder and those above it that are missing, all with the same attributes."""
    above = os.path.dirname(path.rstrip("/"))
    if above and not os.path.isdir(above):
        make_folders(above, attributes)
    try:
        os.mkdir(path)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
    set_attributes(path, attributes)


def first_missing(path: str) -> Optional[str]:
    """The highest folder above `path` that is not there, or None when all are."""
    missing = None
    above = os.path.dirname(path.rstrip("/"))
    while above and not os.path.lexists(above):
        missing, above = above, os.path.dirname(above)
    return missing


def remove_folders(path: str, highest: Optional[str]) -> None:
    """Remove folders that were created above a file, from the lowest up to `highest`, as long as
    they are empty."""
    while highest and path.startswith(highest):
        try:
            os.rmdir(path)
        except FileNotFoundError:
            pass
        except OSError:
            return
        path = os.path.dirname(path)


def remove(path: str) -> None:
    """A file, link or whole tree."""
    info = stat_of(path)
    if info is None:
        return
    if stat.S_ISDIR(info.st_mode):
        with os.scandir(path) as entries:
            for entry in list(entries):
                if entry.is_dir(follow_symlinks=False):
                    remove(entry.path)
                else:
                    os.unlink(entry.path)
        os.rmdir(path)
    else:
        os.unlink(path)


def paths_below(folder: str) -> dict[str, list[str]]:
    """The paths of everything below a folder that goes with it."""
    content: dict[str, list[str]] = {"directories": [], "files": []}
    for above, folders, files in os.walk(folder):
        content["directories"] += [os.path.join(above, name) for name in folders]
        content["files"] += [os.path.join(above, name) for name in files]
    return content


def facts(path: str, follow: bool = False) -> dict[str, Any]:
    """What results say of a path: mode, owner, group, uid, gid, size, state."""
    info = stat_of(path, follow)
    if info is None:
        return {}
    kind = kind_of(info)
    return {
        "mode": octal(info.st_mode),
        "owner": user_name(info.st_uid),
        "group": group_name(info.st_gid),
        "uid": info.st_uid,
        "gid": info.st_gid,
        "size": info.st_size,
        "state": (
            "hard"
            if kind == "file" and info.st_nlink > 1
            else "file"
            if kind == "special"
            else kind
        ),
    }


def _write_as(
    ctx: HostContext,
    path: str,
    after: State,
    before: Optional[State],
    chunks: Iterable[bytes] | Source | None,
    validate: Optional[str],
    unsafe: bool,
) -> None:
    if chunks is None:
        if after.get("content") is None and after.get("sha1") != sha1_of(()):
            raise Failed(
                f"{path} cannot be put back: what was in it was not kept, since it was binary or"
                f" longer than {TEXT_LIMIT} bytes"
            )
        chunks = ((after.get("content") or "").encode(),)
    write(ctx, path, chunks, after, validate, unsafe)


def _swap_in(ctx: HostContext, path: str, make: Any) -> None:
    scrap = scrap_beside(path)
    ctx.scrap(scrap)
    make(scrap)
    os.replace(scrap, path)
    if os.path.lexists(scrap):  # two hard links to one file: the rename does nothing
        os.unlink(scrap)
    ctx.kept(scrap)
