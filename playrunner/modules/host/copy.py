"""host.copy: a file or a folder of the controller (or of the host itself), copied to the host."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed
from playrunner.modules.host._content import chunks_of, sha1_of, stat_of
from playrunner.modules.host._delivery import Delivered, entry_of
from playrunner.modules.host._modes import octal
from playrunner.modules.host._paths import (
    apply_change,
    expanded,
    facts,
    first_missing,
    kind_of,
    look,
    make_folders,
    mode_state,
    remove_folders,
    replacing,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State
    from playrunner.modules.host._delivery import Entry


class Copy(Delivered):
    """A file or folder copied to the host, or a file with the given content."""

    ships = "src"
    aliases = {"thirsty": "force"}

    src: Any = None  # the file or folder; a folder that ends in / gives its contents only
    content: str | None = None  # the file's text, in place of src
    remote_src: bool = False  # src is on the host already
    directory_mode: Any = None  # the mode of folders that are made
    local_follow: bool = True  # links in a folder are copied as what they point to
    checksum: str | None = None  # the SHA-1 that src must have
    # No sends a file that is encrypted with vault as it is; otherwise it is decrypted
    decrypt: bool = True

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        # An empty src is none, as from a variable that is empty.
        missing = arguments.get("src") in (None, "")
        if missing == (arguments.get("content") is None):
            return (
                "src (or content) is required"
                if missing
                else "src and content are mutually exclusive"
            )
        if arguments.get("content") is not None and str(arguments.get("dest", "")).endswith("/"):
            return "can not use content with a dir as dest"
        return None

    def entry(self, ctx: HostContext) -> Entry:
        complaint = self.check(self.__dict__)
        if complaint:
            raise Failed(complaint)
        if self.content is not None:
            if os.path.isdir(expanded(self.dest)):
                raise Failed(f"can not use content with a dir as dest: {self.dest}")
            return entry_of("content", self.content.encode("utf-8", "surrogateescape"))
        entry = self.src if isinstance(self.src, dict) else self._on_host(expanded(self.src))
        if self.checksum and not entry.get("folder") and self.checksum != entry["sha1"]:
            raise Failed(
                f"Copied file does not match the expected checksum: wanted {self.checksum}, "
                f"src has {entry['sha1']}",
                expected_checksum=self.checksum,
                checksum=entry["sha1"],
            )
        return entry

    def folder_mode(self) -> Any:
        return self.directory_mode

    def observe(self, ctx: HostContext) -> Optional[State]:
        if not self._is_folder():
            state = super().observe(ctx)
            folder = os.path.dirname(ctx.memory["path"])
            if self.remote_src and not self.dest.endswith("/") and not os.path.isdir(folder or "."):
                raise Failed(
                    f"Destination directory {folder} does not exist; create it first",
                    dest=ctx.memory["path"],
                )
            return state
        entry = ctx.memory["entry"] = self.entry(ctx)
        dest = expanded(self.dest).rstrip("/") or "/"
        path = dest if entry["trailing_slash"] else os.path.join(dest, entry["name"])
        ctx.memory["path"] = path
        if os.path.lexists(dest) and not os.path.isdir(dest):
            raise Failed(
                f"Cannot copy a directory over the file {dest}; remove it first", dest=dest
            )
        below = {piece["path"]: look(ctx, self._at(ctx, piece)) for piece in self._pieces(ctx)}
        return {"kind": "directory", "above": first_missing(path + "/x"), "below": below}

    def desired(self, ctx: HostContext, current: Optional[State]) -> Optional[State]:
        if current is None or "below" not in current:
            return super().desired(ctx, current)
        targets = {
            piece["path"]: self._piece_state(ctx, piece, current["below"][piece["path"]])
            for piece in self._pieces(ctx)
        }
        changes = {name: state for name, state in targets.items() if state is not None}
        return {
            "kind": "directory",
            "above": None if changes else current["above"],
            "below": changes,
        }

    def apply(self, ctx: HostContext, change: Change) -> None:
        after = change.after or {}
        if "below" not in after:
            super().apply(ctx, change)
            return
        pieces = {piece["path"]: piece for piece in self._pieces(ctx)}
        targets = after["below"]
        going = {name for name, state in targets.items() if state is None}
        folder = os.path.dirname(ctx.memory["path"])
        if self.remote_src and going != set(targets) and not os.path.isdir(folder):
            # The copied folder has its own mode; those above it are made as usual.
            make_folders(folder, mode_state(self.directory_mode, None, "directory"))
        # What goes, goes from the inside out; what comes, comes from the outside in.
        for name in sorted(going, reverse=True) + [
            name for name in pieces if name in targets and name not in going
        ]:
            self._apply_piece(
                ctx,
                pieces[name],
                type(change).between(look(ctx, self._at(ctx, pieces[name])), targets[name]),
            )
        if after.get("above"):
            remove_folders(ctx.memory["path"], after["above"])

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        if not self._is_folder():
            return super().returns(ctx, change)
        dest = ctx.memory["path"] if self.remote_src else expanded(self.dest).rstrip("/") + "/"
        return {"dest": dest, "src": ctx.memory["entry"]["name"], **facts(dest)}

    def _is_folder(self) -> bool:
        if isinstance(self.src, dict):
            return bool(self.src.get("folder"))
        return self.src is not None and os.path.isdir(expanded(self.src))

    def _pieces(self, ctx: HostContext) -> list[Entry]:
        """The folder itself, then what is in it, each folder before its contents."""
        entry = ctx.memory["entry"]
        # A folder that gets the contents of another is made as usual, not with the other's mode.
        mode = None if entry["trailing_slash"] else entry.get("copied_mode")
        top = {"path": "", "kind": "directory", "copied_mode": mode}
        return [top, *sorted(entry["files"], key=lambda piece: piece["path"].split("/"))]

    def _at(self, ctx: HostContext, piece: Entry) -> str:
        top: str = ctx.memory["path"]
        return os.path.join(top, piece["path"]) if piece["path"] else top

    def _piece_state(
        self, ctx: HostContext, piece: Entry, current: Optional[State]
    ) -> Optional[State]:
        """What should be at one place in the folder; None when it is so already."""
        if piece["kind"] == "directory":
            given = current and not piece["path"] and ctx.memory["entry"]["trailing_slash"]
            if given or (
                current and current["kind"] == "link" and os.path.isdir(self._at(ctx, piece))
            ):
                return None
            mode = (
                self.directory_mode if current else self.directory_mode or piece.get("copied_mode")
            )
            target = {
                "kind": "directory",
                **mode_state(mode, current, "directory"),
                **self.owner_state(ctx, current),
            }
        elif piece["kind"] == "link":
            target = {"kind": "link", "target": piece["target"]}
        elif current and not self.force:
            return None
        else:
            target = self.entry_state(ctx, piece, current)
            if self.mode is None and current is None:
                target.update(mode_state(piece.get("copied_mode"), None, "file"))
        if current and all(current.get(key) == value for key, value in target.items()):
            return None
        return replacing(current, target)

    def _apply_piece(self, ctx: HostContext, piece: Entry, change: Change) -> None:
        if not change:
            return
        if piece["kind"] == "file":
            self.deliver(ctx, self._at(ctx, piece), piece, change)
        else:
            apply_change(ctx, self._at(ctx, piece), change)

    def _on_host(self, source: str) -> Entry:
        """The entry for a file or folder that is on the host already."""
        info = stat_of(source, follow=True)
        if info is None:
            raise Failed(f"Source {source} not found", src=source)
        name = os.path.basename(source.rstrip("/"))
        if kind_of(info) != "directory":
            return {
                "name": name,
                "kind": "file",
                "from": source,
                "sha1": sha1_of(chunks_of(source)),
                "size": info.st_size,
                "mode": octal(info.st_mode),
            }
        return {
            "name": name,
            "folder": True,
            "trailing_slash": source.endswith("/"),
            "copied_mode": octal(info.st_mode),
            "files": list(self._walk(source.rstrip("/"), "")),
        }

    def _walk(self, top: str, below: str) -> Any:
        for name in sorted(os.listdir(os.path.join(top, below))):
            path, full = os.path.join(below, name), os.path.join(top, below, name)
            if os.path.islink(full):
                yield {"path": path, "kind": "link", "target": os.readlink(full)}
            elif os.path.isdir(full):
                yield {
                    "path": path,
                    "kind": "directory",
                    "copied_mode": octal(os.stat(full).st_mode),
                }
                yield from self._walk(top, path)
            else:
                entry = self._on_host(full)
                yield {**entry, "path": path, "copied_mode": entry["mode"]}
