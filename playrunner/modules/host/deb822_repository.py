"""host.deb822_repository: a source of Debian packages, as a file of fields with its key."""

from __future__ import annotations

import os
import re

from playrunner.hostside.module import Failed
from playrunner.modules.host._modes import mode_bits, octal
from playrunner.modules.host._paths import facts
from playrunner.modules.host._text_files import TextFiles, text_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

SOURCES = "/etc/apt/sources.list.d"
KEYRINGS = "/etc/apt/keyrings"
_NAMES = {"name": "X-Repolib-Name", "uris": "URIs"}  # fields that are not named by their argument
_ARMORED = "-----BEGIN PGP PUBLIC KEY BLOCK-----"


class Deb822Repository(TextFiles):
    """A source of Debian packages, as NAME.sources in /etc/apt/sources.list.d with its key."""

    name: str  # what the files are named after
    state: Literal["absent", "present"] = "present"  # whether it should be there
    types: list[Literal["deb", "deb-src"]] = ["deb"]  # packages, their sources, or both
    uris: list[str] | None = None  # where it is
    suites: list[str] | None = None  # releases, such as bookworm
    components: list[str] | None = None  # parts of a release, such as main
    architectures: list[str] | None = None  # only for these machines
    languages: list[str] | None = None  # translations of descriptions to fetch
    targets: list[str] | None = None  # which index files to fetch
    enabled: bool | None = None  # whether apt uses it
    # The key: a URL to fetch it from, a path on the host, its fingerprint, or its text
    signed_by: str | None = None
    trusted: bool | None = None  # use it whether or not its signature holds
    allow_insecure: bool | None = None  # use it without a signature
    allow_weak: bool | None = None  # use it with a weak signature
    allow_downgrade_to_insecure: bool | None = None  # use it when it lost its signature
    by_hash: bool | None = None  # fetch index files by their hashes
    check_date: bool | None = None  # refuse a release from the future
    check_valid_until: bool | None = None  # refuse a release that is out of date
    date_max_future: int | None = None  # how far in the future a release may be
    inrelease_path: str | None = None  # where its InRelease file is
    pdiffs: bool | None = None  # fetch differences of index files
    mode: Any = "0644"  # the mode of the file

    def observe(self, ctx: HostContext) -> State | None:
        paths = [self._path(), self._key_path("asc"), self._key_path("gpg")]
        state: State = {"files": {path: text_at(path) for path in paths}}
        if os.path.exists(self._path()):
            state["mode"] = octal(os.stat(self._path()).st_mode)
        return state

    def desired(self, ctx: HostContext, current: State | None) -> State | None:
        if self.state == "absent":
            return {"files": dict.fromkeys((current or {})["files"])}
        files: dict[str, Any] = {}
        key = self._key(files)
        ctx.memory["key_filename"] = key if key and os.path.isabs(key) else None
        text = "".join(f"{name}:{value}\n" for name, value in self._fields(key))
        files[self._path()] = ctx.memory["repo"] = text
        found = (current or {}).get("mode")
        mode = mode_bits(self.mode, int(found or "0644", 8), False)
        return {"files": files, "mode": octal(mode)}

    def apply(self, ctx: HostContext, change: Change) -> None:
        after = change.after or {}
        if any(os.path.dirname(path) == KEYRINGS for path in after.get("files", {})):
            os.makedirs(KEYRINGS, mode=0o755, exist_ok=True)
        super().apply(ctx, change)
        if after.get("mode") and os.path.exists(self._path()):
            os.chmod(self._path(), int(after["mode"], 8))

    def file_attributes(self, path: str) -> State:
        return {"mode": "0644"}

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        absent = self.state == "absent"
        return {
            **facts(self._path()),
            "repo": ctx.memory.get("repo"),
            "dest": self._path(),
            "key_filename": self._key_path("gpg") if absent else ctx.memory.get("key_filename"),
        }

    def _path(self) -> str:
        return os.path.join(SOURCES, f"{self._slug()}.sources")

    def _key_path(self, extension: str) -> str:
        return os.path.join(KEYRINGS, f"{self._slug()}.{extension}")

    def _slug(self) -> str:
        return re.sub("[^a-z0-9-]+", "", re.sub(r"[_\s]+", "-", self.name.lower()))

    def _fields(self, key: str | None) -> list[tuple[str, str]]:
        left_out = ("state", "mode")
        fields = []
        for name in sorted(self.__class__.__annotations__):
            value = key if name == "signed_by" else getattr(self, name)
            if value is not None and name not in left_out:
                shown = _NAMES.get(name, name.replace("_", "-").title())
                text = _formatted(value)
                fields.append((shown, text if text.startswith("\n") else f" {text}"))
        return fields

    def _key(self, files: dict[str, Any]) -> str | None:
        """What Signed-By says; a key behind a URL becomes one of the files."""
        given = self.signed_by
        if given is None or "://" not in given.split("\n")[0] or os.path.isfile(given):
            return given
        from playrunner.modules.host._http import fetch

        answer = fetch(given)
        data = b"".join(answer.chunks())
        if answer.status != 200:
            raise Failed(f"Could not fetch signed_by key: {answer.said}")
        if not data:
            return given
        text = data.decode("utf-8", "surrogateescape")
        path = self._key_path("asc" if _ARMORED in text else "gpg")
        files[path] = text
        return path


def _formatted(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(str(item) for item in value)
    text = str(value)
    if "\n" not in text:
        return text
    # A line that continues a field begins with a blank; an empty one is a dot.
    return "".join(f"\n    {line.strip() or '.'}" for line in text.strip().splitlines())
