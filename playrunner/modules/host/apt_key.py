"""host.apt_key: a key that apt trusts for all sources of packages."""

from __future__ import annotations

from playrunner.hostside.module import Failed, Module
from playrunner.modules.host._packages import needed
from playrunner.modules.host._paths import expanded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

_PLAIN = {"LC_ALL": "C", "APT_KEY_DONT_WARN_ON_DANGEROUS_USAGE": "1"}
_RETRIES = 5  # key servers often answer at the second try only


class AptKey(Module):
    """A key that apt trusts for all sources of packages; deb822_repository keeps one per source."""

    id: str | None = None  # the key's number; found out from the key when not given
    url: str | None = None  # where to fetch it from
    data: str | None = None  # the key itself, as text
    file: str | None = None  # a file of the host that holds it
    keyserver: str | None = None  # the key server to fetch `id` from
    keyring: str | None = None  # a keyring in /etc/apt/trusted.gpg.d to use
    state: Literal["absent", "present"] = "present"  # whether it should be trusted
    validate_certs: bool = True  # with url: check the server's certificate

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        given = [name for name in ("data", "file", "keyserver", "url") if arguments.get(name)]
        if len(given) > 1:
            return f"parameters are mutually exclusive: {'|'.join(given)}"
        if arguments.get("keyserver") and not arguments.get("id"):
            return "Missing key_id, required with keyserver."
        return None

    def observe(self, ctx: HostContext) -> State | None:
        needed("apt-key", "newer releases of Debian have none; use deb822_repository")
        identity = self.id or self._id_of_key(ctx)
        ctx.memory["identity"] = self._parsed(identity)
        before = ctx.memory["before"] = self._keys(ctx)
        return {"present": self._is_among(ctx, before)}

    def desired(self, ctx: HostContext, found: State | None) -> State | None:
        return {"present": self.state == "present"}

    def apply(self, ctx: HostContext, change: Change) -> None:
        identity: dict[str, str] = ctx.memory["identity"]
        wanted = (change.after or {})["present"]
        if wanted:
            self._add(ctx, identity)
        else:
            self._apt_key(ctx, ["del", identity["short_id"]], "Unable to remove a key")
        after = ctx.memory["after"] = self._keys(ctx)
        if self._is_among(ctx, after) != wanted:
            raise Failed(
                "apt-key did not return an error, but the key was not"
                f" {'added' if wanted else 'removed'} (check that the id is correct and not a"
                " subkey)",
                **identity,
            )

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        after = {"after": ctx.memory["after"]} if "after" in ctx.memory else {}
        return {**ctx.memory["identity"], "before": ctx.memory["before"], **after}

    def _is_among(self, ctx: HostContext, keys: list[str]) -> bool:
        identity: dict[str, str] = ctx.memory["identity"]
        short = len(identity["key_id"]) == 8
        return (identity["short_id"] if short else identity["fp"]) in keys

    def _parsed(self, identity: str) -> dict[str, str]:
        key = identity.upper()
        key = key[2:] if key.startswith("0X") else key
        if (
            not key
            or not all(sign in "0123456789ABCDEF" for sign in key)
            or len(key) not in (8, 16, *range(17, 65))
        ):
            raise Failed("Invalid key_id: 8, 16 or more hexadecimal digits are needed", id=identity)
        return {"id": identity, "short_id": key[-8:], "fp": key[-16:], "key_id": key}

    def _content(self, ctx: HostContext) -> str:
        """The key's bytes, as text that keeps every byte."""
        if self.data is not None:
            return self.data
        from playrunner.modules.host._http import fetch, without_login

        if "content" not in ctx.memory:
            answer = fetch(self.url or "", verify=self.validate_certs)
            data = b"".join(answer.chunks())
            if answer.status != 200:
                raise Failed(
                    f"Failed to download key at {without_login(self.url or '')}: {answer.said}"
                )
            ctx.memory["content"] = data.decode("utf-8", "surrogateescape")
        return str(ctx.memory["content"])

    def _id_of_key(self, ctx: HostContext) -> str:
        if not (self.file or self.data or self.url):
            raise Failed("nothing names the key: give id, url, data or file")
        tool = needed("gpg", "install the package gpg")
        source = expanded(self.file) if self.file else "-"
        ran = ctx.run(
            [tool, "--with-colons", source],
            stdin=None if self.file else self._content(ctx),
            env=_PLAIN,
        )
        numbers = _numbers(ran.out)
        if ran.rc or not numbers:
            raise Failed(
                f"Unable to extract key from '{self.file or 'inline data'}'",
                stdout=ran.out,
                stderr=ran.err,
            )
        return numbers[0]

    def _add(self, ctx: HostContext, identity: dict[str, str]) -> None:
        if self.keyserver:
            words = ["adv", "--no-tty", "--keyserver", self.keyserver, "--recv", identity["key_id"]]
            what = f"Error fetching key {identity['key_id']} from keyserver: {self.keyserver}"
            for attempt in range(_RETRIES):
                try:
                    self._apt_key(ctx, words, what)
                    return
                except Failed:
                    if attempt == _RETRIES - 1:
                        raise
        elif self.file:
            what = f"Unable to add a key from file {self.file}"
            self._apt_key(ctx, ["add", expanded(self.file)], what)
        elif self.data or self.url:
            self._apt_key(
                ctx, ["add", "-"], "Unable to add a key from binary data", self._content(ctx)
            )
        else:
            raise Failed("nothing to add: give url, data, file or keyserver", **identity)

    def _keys(self, ctx: HostContext) -> list[str]:
        words = ["adv", "--list-public-keys", "--keyid-format=long"]
        keys = _numbers(self._apt_key(ctx, words, "Unable to list public keys"))
        short = len(ctx.memory["identity"]["key_id"]) == 8
        return [key[-8:] for key in keys] if short else keys

    def _apt_key(
        self, ctx: HostContext, words: list[str], problem: str, stdin: Optional[str] = None
    ) -> str:
        tool = needed("apt-key", "newer releases of Debian have none; use deb822_repository")
        ring = ["--keyring", expanded(self.keyring)] if self.keyring else []
        ran = ctx.run([tool, *ring, *words], stdin=stdin, env=_PLAIN)
        if ran.rc:
            raise Failed(problem, rc=ran.rc, stdout=ran.out, stderr=ran.err)
        return str(ran.out)


def _numbers(text: str) -> list[str]:
    """The numbers of keys in a listing of gpg, for people or with colons; not of expired ones."""
    numbers = []
    for line in text.splitlines():
        if line[:3] in ("pub", "sub") and "expired" not in line:
            words = line.split()
            if len(words) > 1 and "/" in words[1]:
                numbers.append(words[1].partition("/")[2])
            elif line.count(":") > 4:
                numbers.append(line.split(":")[4])
    return numbers
