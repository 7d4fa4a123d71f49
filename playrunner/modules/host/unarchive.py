"""host.unarchive: an archive, unpacked in a folder."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed
from playrunner.modules.host._archive import Member, members_of, packed_owner, topmost
from playrunner.modules.host._content import chunks_of, refuse, sha1_of, stat_of, write
from playrunner.modules.host._labels import set_labels
from playrunner.modules.host._large_files import is_large, read_from
from playrunner.modules.host._modes import default_bits, octal
from playrunner.modules.host._owners import set_attributes
from playrunner.modules.host._paths import (
    expanded,
    facts,
    first_missing,
    kind_of,
    mode_state,
    remove,
)
from playrunner.modules.host._placed import Placed
from playrunner.modules.host._tar_program import TarProgram, as_file, is_known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

_SHOWN = 20  # names of different files that a state holds


class Unarchive(Placed):
    """A tar or zip archive, unpacked in a folder."""

    ships = "src"

    src: Any  # the archive: on the controller, or with remote_src on the host or at a URL
    dest: str  # the folder to unpack in
    remote_src: bool = False  # src is on the host already, or a URL
    creates: str | None = None  # do nothing when this path exists
    exclude: list[str] = []  # members to leave out
    include: list[str] = []  # members to unpack, when not all
    extra_opts: list[str] = []  # options of tar, such as --strip-components=1 or --transform=...
    keep_newer: bool = False  # leave files alone that are newer than those in the archive
    list_files: bool = False  # return the names of all members
    validate_certs: bool = True  # with a URL: check the server's certificate
    copy: bool = True  # an older name for the opposite of remote_src
    io_buffer_size: int = 65536  # accepted for Ansible's sake; it has no effect on the result
    # No sends a file that is encrypted with vault as it is; otherwise it is decrypted
    decrypt: bool = True

    def observe(self, ctx: HostContext) -> Optional[State]:
        if self.creates and os.path.exists(expanded(self.creates)):
            ctx.memory["skipped"] = True
            return {"unpacked": True, "different": [], "missing": []}
        folder = self._folder()
        if not os.path.isdir(folder):
            raise Failed(f"dest '{folder}' must be an existing dir; make it first", dest=folder)
        if not all(is_known(option) for option in self.extra_opts):
            ctx.memory["handler"] = "TarArchive"
            with self._as_file(ctx) as archive:
                by_tar = self._tar(archive).differs(ctx)
            ctx.memory["tar"] = by_tar
            return {"unpacked": not by_tar, "different": [], "missing": []}
        ctx.memory["handler"], packed = self._read(ctx)
        members = ctx.memory["members"] = [
            member for member in map(self._stripped, packed) if member and self._chosen(member.name)
        ]
        for member in members:
            if member.kind == "special":
                raise Failed(
                    f"the archive holds {member.name}, which is a device or a pipe; it is not"
                    " unpacked. Leave it out with exclude"
                )
            self._refuse_way_out(member)
        different = [member for member in members if self._differs(ctx, member)]
        absent = [self._at(member) for member in different if not os.path.lexists(self._at(member))]
        missing = topmost([first_missing(path) or path for path in absent])
        names = [member.name for member in different if os.path.lexists(self._at(member))]
        return {"unpacked": not different, "different": names[:_SHOWN], "missing": missing}

    def desired(self, ctx: HostContext, current: Optional[State]) -> Optional[State]:
        return {"unpacked": True, "different": [], "missing": []}

    def apply(self, ctx: HostContext, change: Change) -> None:
        after = change.after or {}
        if not after.get("unpacked"):
            for path in after.get("missing", ()):
                remove(path)
            if after.get("different"):
                raise Failed(
                    f"what was in {', '.join(after['different'])} before unpacking was not kept",
                    dest=self.dest,
                )
            return
        if "tar" in ctx.memory:
            self._unpack_by_tar(ctx)
            return
        folders = []
        try:
            for member in ctx.memory["members"]:
                self._refuse_way_out(member)  # a link that was unpacked a moment ago may lead out
                if member.kind == "directory":
                    os.makedirs(self._at(member), exist_ok=True)
                    folders.append(member)
                elif self._differs(ctx, member):
                    self._unpack(ctx, member)
            # Last and from the inside out: unpacking into a folder changes its time, and may need
            # more than its mode allows.
            for member in reversed(folders):
                self._finish(ctx, member)
        except OSError as error:
            refuse(error, error.filename if isinstance(error.filename, str) else self._folder())

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        if ctx.memory.get("skipped"):
            return {"skipped": True, "msg": f"skipped, since {self.creates} exists"}
        source = self.src["name"] if isinstance(self.src, dict) else self.src
        shown = {
            "dest": self._folder(),
            "src": source,
            "handler": ctx.memory["handler"],
            **facts(self._folder()),
        }
        if self.list_files:
            shown["files"] = [
                member.name + "/" * (member.kind == "directory") for member in ctx.memory["members"]
            ]
        return shown

    def _folder(self) -> str:
        return expanded(self.dest).rstrip("/") or "/"

    def _at(self, member: Member) -> str:
        return self._folder() if member.name == "." else os.path.join(self._folder(), member.name)

    def _read(self, ctx: HostContext) -> tuple[str, list[Member]]:
        if isinstance(self.src, dict):
            if is_large(ctx, self.src):
                return self._read_large(ctx, self.src)
            return members_of(self.src["name"], ctx.blob(self.src))
        if "://" in self.src:
            from playrunner.modules.host._http import fetch

            answer = fetch(self.src, verify=self.validate_certs)
            if answer.status >= 400:
                raise Failed(
                    f"Failure downloading {self.src}: {answer.said}", status_code=answer.status
                )
            return members_of(self.src, b"".join(answer.chunks()))
        source = expanded(self.src)
        if not os.path.exists(source):
            raise Failed(
                f"Source '{source}' does not exist; is it on the controller? Then leave out"
                " remote_src",
                src=source,
            )
        return members_of(source)

    def _read_large(self, ctx: HostContext, sent: dict[str, Any]) -> tuple[str, list[Member]]:
        """In a folder of this user's own, since /tmp may be memory; it is read from there for as
        long as it is open."""
        folder = os.path.join(os.path.expanduser("~"), ".playrunner")
        os.makedirs(folder, 0o700, exist_ok=True)
        try:
            handler, members = read_from(ctx, sent, folder, members_of)
            return handler, members
        except OSError as error:
            refuse(error, os.path.join(folder, sent["name"]))

    def _as_file(self, ctx: HostContext) -> Any:
        if isinstance(self.src, dict):
            return as_file(ctx, None, ctx.blob(self.src))
        if "://" in self.src:
            raise Failed("extra_opts: fetch the archive with get_url first, then unpack it")
        return as_file(ctx, expanded(self.src), b"")

    def _tar(self, archive: str) -> TarProgram:
        options = [f"--exclude={pattern}" for pattern in self.exclude]
        options += ["--keep-newer-files"] if self.keep_newer else []
        return TarProgram(archive, self._folder(), [*self.extra_opts, *options])

    def _unpack_by_tar(self, ctx: HostContext) -> None:
        with self._as_file(ctx) as archive:
            tar = self._tar(archive)
            tar.unpack(ctx)
            for name in tar.names(ctx):
                path = os.path.join(self._folder(), name)
                info = stat_of(path)
                if info is not None:
                    kind = kind_of(info)
                    current = {"kind": kind, "mode": octal(info.st_mode)}
                    access = {**mode_state(self.mode, current, kind), **self.owner_state(ctx, None)}
                    set_attributes(path, access)

    def _stripped(self, member: Member) -> Optional[Member]:
        """The member under the name it gets when leading folders are to be dropped."""
        for option in self.extra_opts:
            number = option.partition("=")[2]
            parts = member.name.split("/")[int(number) :]
            if not parts or member.name == ".":
                return None
            member.name = "/".join(parts)
            if member.kind == "hard":
                member.target = "/".join(member.target.split("/")[int(number) :]) or "."
        return member

    def _chosen(self, name: str) -> bool:
        from fnmatch import fnmatch

        def among(patterns: list[str]) -> bool:
            bare = [pattern.rstrip("/") for pattern in patterns]
            return any(fnmatch(name, pattern) or fnmatch(name, f"{pattern}/*") for pattern in bare)

        return not among(self.exclude) and (not self.include or among(self.include))

    def _wanted(self, ctx: HostContext, member: Member) -> State:
        """Mode and owner the member should have."""
        kind = "directory" if member.kind == "directory" else "file"
        umask = 0 if os.geteuid() == 0 else 0o777 & ~default_bits("directory")
        if os.geteuid() != 0 and kind == "file":
            umask |= 0o7000  # as tar does: only root's programs may come with another user's rights
        as_packed = {"kind": kind, "mode": octal(member.mode & ~umask)}
        path, labels = self._at(member), self.labels()
        return {
            "mode": as_packed["mode"],
            **mode_state(self.mode, as_packed, kind),
            **self.owner_state(ctx, None),
            **labels.wanted(ctx, path, labels.observed(ctx, path)),
        }

    def _differs(self, ctx: HostContext, member: Member) -> bool:
        path = self._at(member)
        info = stat_of(path, follow=member.kind == "directory")
        if info is None:
            return True
        if member.kind == "link":
            return kind_of(info) != "link" or os.readlink(path) != member.target
        if kind_of(info) != ("directory" if member.kind == "directory" else "file"):
            return True
        if member.kind == "file":
            if self.keep_newer and info.st_mtime > member.mtime:
                return False
            if info.st_size != member.size or int(info.st_mtime) != int(member.mtime):
                return True
            if sha1_of(chunks_of(path)) != sha1_of(member.chunks()):
                return True
        if member.kind == "hard":
            source = os.path.join(self._folder(), member.target)
            return not os.path.lexists(source) or not os.path.samestat(info, os.lstat(source))
        shown = {**facts(path, follow=True), **self.labels().observed(ctx, path)}
        return any(shown.get(key) != value for key, value in self._wanted(ctx, member).items())

    def _unpack(self, ctx: HostContext, member: Member) -> None:
        path = self._at(member)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path) and (member.kind != "file" or os.path.isdir(path)):
            remove(path)
        if member.kind == "link":
            os.symlink(member.target, path)
        elif member.kind == "hard":
            os.link(os.path.join(self._folder(), member.target), path, follow_symlinks=False)
        elif member.kind == "file":
            write(ctx, path, member.chunks(), {})
            self._finish(ctx, member)

    def _refuse_way_out(self, member: Member) -> None:
        """No part of a member's path, and none of the path a hard link shares a file with, may be a
        link out."""
        top = os.path.realpath(self._folder()).rstrip("/") + "/"
        path = self._at(member)
        ways = [path if member.kind == "directory" else os.path.dirname(path)]
        if member.kind == "hard":
            ways.append(os.path.dirname(os.path.join(self._folder(), member.target)))
        for way in ways:
            if not (os.path.realpath(way) + "/").startswith(top):
                raise Failed(
                    f"{path} would be unpacked through a link that leads out of {self._folder()}; "
                    "it is not unpacked"
                )

    def _finish(self, ctx: HostContext, member: Member) -> None:
        path = self._at(member)
        if os.geteuid() == 0 and self.owner is None and self.group is None and member.owner[1] >= 0:
            os.chown(path, *packed_owner(member))
        wanted = self._wanted(ctx, member)
        set_attributes(path, wanted)
        os.utime(path, (member.mtime, member.mtime))
        set_labels(ctx, path, wanted)
