"""host.yum_repository: a source of packages for dnf and yum, in a .repo file."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed
from playrunner.modules.host._content import sha1_of
from playrunner.modules.host._paths import apply_change, expanded, file_state, look
from playrunner.modules.host._placed import Placed
from playrunner.modules.host._text_files import text_at
from playrunner.modules.host._yum_options import YumOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State


class YumRepository(YumOptions, Placed):
    """A source of packages for dnf and yum: one section of a .repo file."""

    aliases = {
        "async": "async_",
        "excludepkgs": "exclude",
        "ca_cert": "sslcacert",
        "client_cert": "sslclientcert",
        "client_key": "sslclientkey",
        "validate_certs": "sslverify",
    }
    name: str  # the section
    file: str | None = None  # the file, without .repo; the section's name when not given
    reposdir: str = "/etc/yum.repos.d"  # the folder of the file
    state: Literal["absent", "present"] = "present"  # whether it should be there
    description: str | None = None  # what people read; needed when it should be there

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        if arguments.get("state") == "absent":
            return None
        addresses = ("baseurl", "mirrorlist", "metalink")
        if not any(arguments.get(name) for name in addresses):
            return (
                "state is present but any of the following are missing: baseurl, mirrorlist,"
                " metalink"
            )
        if arguments.get("description") is None:
            return "state is present but all of the following are missing: description"
        return None

    def observe(self, ctx: HostContext) -> State | None:
        if not os.path.isdir(expanded(self.reposdir)):
            raise Failed(f"Repo directory '{self.reposdir}' does not exist.")
        return look(ctx, self._path(), content=self._is_open())

    def desired(self, ctx: HostContext, current: State | None) -> State | None:
        before = _parsed(text_at(self._path()) or "", self._path())
        after = _parsed(text_at(self._path()) or "", self._path())
        after.remove_section(self.name)
        if self.state == "present":
            after.add_section(self.name)
            for key, value in sorted(self.settings().items()):
                after.set(self.name, key, value)
        if _values(before) == _values(after):
            access = self.access_state(ctx, current) if current else {}
            return {"kind": current["kind"], **access} if current else None
        if not after.sections():
            return None
        data = ctx.memory["data"] = _written(after).encode()
        target = file_state(ctx, sha1_of((data,)), current, data if self._is_open() else None)
        return {**target, **self.access_state(ctx, current)}

    def apply(self, ctx: HostContext, change: Change) -> None:
        data = ctx.memory.get("data")
        forward = data is not None and (change.after or {}).get("sha1") == sha1_of((data,))
        apply_change(
            ctx,
            self._path(),
            change,
            (data or b"",) if forward else None,
            unsafe=self.unsafe_writes,
        )

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        return {"repo": self.name, "state": self.state}

    def _path(self) -> str:
        return os.path.join(expanded(self.reposdir), f"{self.file or self.name}.repo")

    def _is_open(self) -> bool:
        """Whether the file's text may be shown: not with a password in it."""
        return not (self.password or self.proxy_password)


def _parsed(text: str, path: str) -> Any:
    import configparser

    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error as error:
        reason = str(error).replace("\n", " ")
        raise Failed(f"{path} cannot be read as a .repo file: {reason}") from None
    return parser


def _values(parser: Any) -> dict[str, dict[str, str]]:
    return {section: dict(parser.items(section)) for section in parser.sections()}


def _written(parser: Any) -> str:
    import io

    file = io.StringIO()
    parser.write(file)
    return file.getvalue()
