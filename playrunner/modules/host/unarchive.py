"""host.unarchive: an archive, unpacked in a folder."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed
from playrunner.modules.host._archive import Member, members_of
from playrunner.modules.host._content import chunks_of, refuse, sha1_of, stat_of, write
from playrunner.modules.host._modes import default_bits, octal
from playrunner.modules.host._owners import set_attributes
from playrunner.modules.host._paths import (
    Placed,
    expanded,
    facts,
    first_missing,
    kind_of,
    mode_state,
    remove,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

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
    extra_opts: list[str] = []  # of tar's options, --strip-components=N
    keep_newer: bool = False  # leave files alone that are newer than those in the archive
    list_files: bool = False  # return the names of all members
    validate_certs: bool = True  # with a URL: check the server's certificate
    # No sends a file that ansible-vault encrypts as it is; otherwise it is refused
    decrypt: bool = True

    _members = list["Member"]()
    _handler = ""
    _skipped = False

    def observe(self, ctx: Any) -> Optional[State]:
        if self.creates and os.path.exists(expanded(self.creates)):
            self._skipped = True
            return {"unpacked": True, "different": [], "missing": []}
        folder = self._folder()
        if not os.path.isdir(folder):
            raise Failed(f"dest '{folder}' must be an existing dir; make it first", dest=folder)
        self._handler, members = self._read(ctx)
        self._members = [
            one for one in map(self._stripped, members) if one and self._chosen(one.name)
        ]
        for one in self._members:
            if one.kind == "special":
                raise Failed(
                    f"the archive holds {one.name}, which is a device or a pipe; it is not"
                    " unpacked. Leave it out with exclude"
                )
            self._refuse_way_out(one)
        different = [one for one in self._members if self._differs(ctx, one)]
        absent = [self._at(one) for one in different if not os.path.lexists(self._at(one))]
        missing = _topmost([first_missing(path) or path for path in absent])
        names = [one.name for one in different if os.path.lexists(self._at(one))]
        return {"unpacked": not different, "different": names[:_SHOWN], "missing": missing}

    def desired(self, ctx: Any, found: Optional[State]) -> Optional[State]:
        return {"unpacked": True, "different": [], "missing": []}

    def apply(self, ctx: Any, change: Change) -> None:
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
        folders = []
        try:
            for one in self._members:
                self._refuse_way_out(one)  # a link that was unpacked a moment ago may lead out
                if one.kind == "directory":
                    os.makedirs(self._at(one), exist_ok=True)
                    folders.append(one)
                elif self._differs(ctx, one):
                    self._unpack(ctx, one)
            # Last and from the inside out: unpacking into a folder changes its time, and may need
            # more than its mode allows.
            for one in reversed(folders):
                self._finish(ctx, one)
        except OSError as error:
            refuse(error, error.filename if isinstance(error.filename, str) else self._folder())

    def returns(self, ctx: Any, change: Change) -> dict[str, Any]:
        if self._skipped:
            return {"skipped": True, "msg": f"skipped, since {self.creates} exists"}
        source = self.src["name"] if isinstance(self.src, dict) else self.src
        shown = {
            "dest": self._folder(),
            "src": source,
            "handler": self._handler,
            **facts(self._folder()),
        }
        if self.list_files:
            shown["files"] = [one.name + "/" * (one.kind == "directory") for one in self._members]
        return shown

    def _folder(self) -> str:
        return expanded(self.dest).rstrip("/") or "/"

    def _at(self, one: Member) -> str:
        return self._folder() if one.name == "." else os.path.join(self._folder(), one.name)

    def _read(self, ctx: Any) -> tuple[str, list[Member]]:
        if isinstance(self.src, dict):
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

    def _stripped(self, one: Member) -> Optional[Member]:
        """The member under the name it gets when leading folders are to be dropped."""
        for option in self.extra_opts:
            name, _, number = option.partition("=")
            if name != "--strip-components" or not number.isdigit():
                raise Failed(
                    f"extra_opts: {option} is not supported; --strip-components=N is, and command"
                    " can run tar"
                )
            parts = one.name.split("/")[int(number) :]
            if not parts or one.name == ".":
                return None
            one.name = "/".join(parts)
            if one.kind == "hard":
                one.target = "/".join(one.target.split("/")[int(number) :]) or "."
        return one

    def _chosen(self, name: str) -> bool:
        from fnmatch import fnmatch

        def among(patterns: list[str]) -> bool:
            bare = [pattern.rstrip("/") for pattern in patterns]
            return any(fnmatch(name, pattern) or fnmatch(name, f"{pattern}/*") for pattern in bare)

        return not among(self.exclude) and (not self.include or among(self.include))

    def _wanted(self, ctx: Any, one: Member) -> State:
        """Mode and owner the member should have."""
        kind = "directory" if one.kind == "directory" else "file"
        umask = 0 if os.geteuid() == 0 else 0o777 & ~default_bits("directory")
        if os.geteuid() != 0 and kind == "file":
            umask |= 0o7000  # as tar does: only root's programs may come with another user's rights
        as_packed = {"kind": kind, "mode": octal(one.mode & ~umask)}
        return {
            "mode": as_packed["mode"],
            **mode_state(self.mode, as_packed, kind),
            **self.owner_state(ctx, None),
        }

    def _differs(self, ctx: Any, one: Member) -> bool:
        path = self._at(one)
        info = stat_of(path, follow=one.kind == "directory")
        if info is None:
            return True
        if one.kind == "link":
            return kind_of(info) != "link" or os.readlink(path) != one.target
        if kind_of(info) != ("directory" if one.kind == "directory" else "file"):
            return True
        if one.kind == "file":
            if self.keep_newer and info.st_mtime > one.mtime:
                return False
            if info.st_size != one.size or int(info.st_mtime) != int(one.mtime):
                return True
            if sha1_of(chunks_of(path)) != sha1_of(one.chunks()):
                return True
        if one.kind == "hard":
            source = os.path.join(self._folder(), one.target)
            return not os.path.lexists(source) or not os.path.samestat(info, os.lstat(source))
        shown = facts(path, follow=True)
        return any(shown[key] != value for key, value in self._wanted(ctx, one).items())

    def _unpack(self, ctx: Any, one: Member) -> None:
        path = self._at(one)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path) and (one.kind != "file" or os.path.isdir(path)):
            remove(path)
        if one.kind == "link":
            os.symlink(one.target, path)
        elif one.kind == "hard":
            os.link(os.path.join(self._folder(), one.target), path, follow_symlinks=False)
        elif one.kind == "file":
            write(ctx, path, one.chunks(), {})
            self._finish(ctx, one)

    def _refuse_way_out(self, one: Member) -> None:
        """No part of a member's path, and none of the path a hard link shares a file with, may be a
        link out."""
        top = os.path.realpath(self._folder()).rstrip("/") + "/"
        path = self._at(one)
        ways = [path if one.kind == "directory" else os.path.dirname(path)]
        if one.kind == "hard":
            ways.append(os.path.dirname(os.path.join(self._folder(), one.target)))
        for way in ways:
            if not (os.path.realpath(way) + "/").startswith(top):
                raise Failed(
                    f"{path} would be unpacked through a link that leads out of {self._folder()}; "
                    "it is not unpacked"
                )

    def _finish(self, ctx: Any, one: Member) -> None:
        path = self._at(one)
        if os.geteuid() == 0 and self.owner is None and self.group is None and one.owner[1] >= 0:
            os.chown(path, *_packed_owner(one))
        set_attributes(path, self._wanted(ctx, one))
        os.utime(path, (one.mtime, one.mtime))


def _packed_owner(one: Member) -> tuple[int, int]:
    import grp
    import pwd

    try:
        uid = pwd.getpwnam(one.owner[0]).pw_uid
    except KeyError:
        uid = one.owner[1]
    try:
        return uid, grp.getgrnam(one.group[0]).gr_gid
    except KeyError:
        return uid, one.group[1]


def _topmost(paths: list[str]) -> list[str]:
    """Those that do not lie below another of them."""
    chosen: list[str] = []
    for path in sorted(paths):
        if not chosen or not (path + "/").startswith(chosen[-1] + "/"):
            chosen.append(path)
    return chosen
