"""host.rpm_key: a key that rpm trusts."""

from __future__ import annotations

import os
import re

from playrunner.hostside.module import Failed, Module
from playrunner.modules.host._packages import needed, program
from playrunner.modules.host._paths import expanded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

_PLAIN = {"LC_ALL": "C"}
_ARMORED = "-----BEGIN PGP PUBLIC KEY BLOCK-----"


class RpmKey(Module):
    """A key that rpm trusts, from a file, a URL, or by its number."""

    key: str  # a file of the host, a URL, or the key's number
    state: Literal["absent", "present"] = "present"  # whether it should be trusted
    fingerprint: list[str] | None = None  # what the key must have before it is imported
    validate_certs: bool = True  # with a URL: check the server's certificate

    def observe(self, ctx: HostContext) -> State | None:
        needed("rpm", "it is there on Red Hat's family only")
        ctx.memory["number"] = self._number(ctx)
        return {"imported": self._is_imported(ctx, ctx.memory["number"])}

    def desired(self, ctx: HostContext, found: State | None) -> State | None:
        imported = self.state == "present"
        if imported and found and not found["imported"]:
            if self._by_number():
                raise Failed("When importing a key, a valid file must be given")
            self._check_fingerprint(ctx)
        return {"imported": imported}

    def apply(self, ctx: HostContext, change: Change) -> None:
        number: str = ctx.memory["number"]
        if not (change.after or {})["imported"]:
            name = f"gpg-pubkey-{number[-8:].lower()}"
            self._run(ctx, ["rpm", "--erase", "--allmatches", name])
            return
        from tempfile import NamedTemporaryFile

        with NamedTemporaryFile(mode="w", errors="surrogateescape") as file:
            file.write(self._content(ctx))
            file.flush()
            self._run(ctx, ["rpm", "--import", file.name])

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        return {}

    def _by_number(self) -> bool:
        return "://" not in self.key and bool(re.match("(0x)?[0-9a-fA-F]{8}", self.key))

    def _number(self, ctx: HostContext) -> str:
        if self._by_number():
            return self.key.strip().upper().replace("0X", "", 1)
        for line in self._gpg(ctx, [], self._content(ctx)).splitlines():
            if line.startswith("pub:"):
                return line.split(":")[4]
        raise Failed("Unexpected gpg output")

    def _content(self, ctx: HostContext) -> str:
        if "content" not in ctx.memory:
            ctx.memory["content"] = self._read()
        return str(ctx.memory["content"])

    def _read(self) -> str:
        if "://" not in self.key:
            path = expanded(self.key)
            if not os.path.isfile(path):
                raise Failed(f"Not a valid key {self.key}")
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                return file.read()
        from playrunner.modules.host._http import fetch, without_login

        answer = fetch(self.key, verify=self.validate_certs)
        text = b"".join(answer.chunks()).decode("utf-8", "surrogateescape")
        if answer.status != 200:
            raise Failed(
                f"failed to fetch key at {without_login(self.key)} , error was: {answer.said}"
            )
        if _ARMORED not in text:
            raise Failed(f"Not a public key: {without_login(self.key)}")
        return text

    def _check_fingerprint(self, ctx: HostContext) -> None:
        wanted = {text.replace(" ", "").upper() for text in self.fingerprint or ()}
        if not wanted:
            return
        words = ["--import", "--import-options", "show-only", "--dry-run"]
        lines = self._gpg(ctx, words, self._content(ctx)).splitlines()
        found = {line.split(":")[9] for line in lines if line.startswith("fpr:")}
        if not wanted <= found:
            raise Failed(
                f"The specified fingerprint, '{', '.join(sorted(wanted))}', does not match any key"
                f" fingerprints in '{', '.join(sorted(found))}'"
            )

    def _is_imported(self, ctx: HostContext, number: str) -> bool:
        ran = ctx.run(["rpm", "-q", "gpg-pubkey", "--qf", "%{description}"], env=_PLAIN)
        if ran.rc:
            return False  # no key at all
        rows = [line.split(":") for line in self._gpg(ctx, [], ran.out).splitlines()]
        return any(number in row[4] for row in rows if len(row) > 4)

    def _gpg(self, ctx: HostContext, words: list[str], text: str) -> str:
        tool = program("gpg", "gpg2") or needed("gpg", "install the package gnupg")
        usual = ["--no-tty", "--batch", "--with-colons", "--fixed-list-mode"]
        return self._run(ctx, [tool, *usual, *words, "-"], text)

    def _run(self, ctx: HostContext, command: list[str], stdin: str | None = None) -> str:
        ran = ctx.run(command, stdin=stdin, env=_PLAIN)
        if ran.rc:
            raise Failed((ran.err or ran.out).strip(), rc=ran.rc)
        return str(ran.out)
