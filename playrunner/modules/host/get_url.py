"""host.get_url: a file from the web, downloaded by the host and checked."""

from __future__ import annotations

import os
import time

from playrunner.hostside.module import Failed
from playrunner.modules.host._content import (
    backup_of,
    chunks_of,
    read_bytes,
    refuse,
    sha1_of,
)
from playrunner.modules.host._drafts import Draft, delete_left
from playrunner.modules.host._http import Answer, fetch, without_login
from playrunner.modules.host._paths import apply_change, expanded, facts, file_state, look
from playrunner.modules.host._placed import Placed
from playrunner.modules.host.stat import digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State

_SHOWN_LIMIT = 256 * 1024  # bytes of a download that a diff holds


class GetUrl(Placed):
    """A file from the web, downloaded by the host and checked."""

    reaches_out = True
    former = ("sha256sum",)
    aliases = {"username": "url_username", "password": "url_password"}

    url: str  # the address
    dest: str  # where the file goes; a directory keeps the name in the address
    checksum: str = ""  # algorithm:hex, or algorithm:URL of a list of sums
    force: bool = False  # download even when the file is there
    backup: bool = False  # keep a copy of the file as it was
    headers: dict[str, str] = {}  # more headers
    timeout: float = 10  # seconds to wait for the server
    url_username: str | None = None  # who to log in as
    url_password: str | None = None  # the password
    force_basic_auth: bool = False  # send the login with the first request
    validate_certs: bool = True  # check the server's certificate
    ca_path: str | None = None  # the authorities to trust
    client_cert: str | None = None  # a certificate to show
    client_key: str | None = None  # its key
    use_proxy: bool = True  # ask through the proxy of the environment
    http_agent: str = "ansible-httpget"  # how to introduce oneself
    # Where the download waits until it is whole; beside dest when not given
    tmp_dest: str | None = None
    ciphers: list[str] | None = None  # the ciphers to offer, as OpenSSL names them
    decompress: bool = True  # unpack an answer that comes with gzip
    unredirected_headers: list[str] = []  # headers that are not sent on to another address
    use_gssapi: bool = False  # log in by GSSAPI; it needs a library and is refused
    use_netrc: bool = True  # take the login from ~/.netrc when none is given

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        if arguments.get("use_gssapi"):
            return "use_gssapi needs a library that hosts do not have; log in another way"
        return None

    def observe(self, ctx: HostContext) -> Optional[State]:
        path = expanded(self.dest)
        if path.endswith("/") or os.path.isdir(path):
            path = os.path.join(path, _name_in(self.url))
        folder = os.path.dirname(path) or "."
        if not os.path.isdir(folder):
            raise Failed(
                f"Destination {folder} does not exist; make it first",
                dest=path,
                url=self._address,
            )
        ctx.memory.update(path=os.path.realpath(path), draft=None, sha1="", shown={})
        return look(ctx, ctx.memory["path"])

    @property
    def _address(self) -> str:
        """The URL as it is shown."""
        return without_login(self.url)

    def desired(self, ctx: HostContext, current: Optional[State]) -> Optional[State]:
        algorithm, digest = self._expected(ctx)
        path = ctx.memory["path"]
        if not ctx.check:  # also where nothing is downloaded this time
            delete_left(ctx, self._drafts_in(path))
        shown = ctx.memory["shown"] = {
            "url": self._address,
            "checksum_dest": current.get("sha1") if current else None,
            "checksum_src": None,
            "elapsed": 0,
        }
        if (
            current
            and digest
            and not self.force
            and digest == digest_of(chunks_of(path), algorithm)
        ):
            shown["msg"] = "file already exists"
            return {"kind": "file", **self.access_state(ctx, current)}
        if ctx.check:
            return self._foreseen(ctx, current)
        answer = self._ask(ctx, current)
        if answer.status == 304:
            answer.close()
            return {"kind": "file", **self.access_state(ctx, current)}
        scrap = self._download(ctx, answer)
        if digest and digest_of(chunks_of(scrap), algorithm) != digest:
            got = digest_of(chunks_of(scrap), algorithm)
            self._drop(ctx)
            raise Failed(f"The checksum for {path} did not match {digest}; it was {got}.", **shown)
        data = read_bytes(scrap) if ctx.diff and os.path.getsize(scrap) <= _SHOWN_LIMIT else None
        sha1 = ctx.memory["sha1"]
        wanted = {**file_state(ctx, sha1, current, data), **self.access_state(ctx, current)}
        if current and all(current.get(key) == value for key, value in wanted.items()):
            self._drop(ctx)
        return wanted

    def apply(self, ctx: HostContext, change: Change) -> None:
        path, draft, after = ctx.memory["path"], ctx.memory["draft"], change.after
        fresh = draft is not None and after is not None and after.get("sha1") == ctx.memory["sha1"]
        try:
            if fresh and self.backup and change.observed and change.touches("sha1"):
                ctx.memory["shown"]["backup_file"] = backup_of(ctx, path)
            apply_change(
                ctx,
                path,
                change,
                chunks_of(draft.path) if fresh else None,
                unsafe=self.unsafe_writes,
            )
        finally:
            self._drop(ctx)

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        path = ctx.memory["path"]
        return {"dest": path, **ctx.memory["shown"], **facts(path)}

    def _foreseen(self, ctx: HostContext, current: Optional[State]) -> State:
        """Under --check only the headers are asked for: the content stays unknown, and so
        different."""
        answer = self._ask(ctx, current, "HEAD")
        answer.close()
        if answer.status == 304:
            return {"kind": "file", **self.access_state(ctx, current)}
        return {
            "kind": "file",
            "sha1": "known after the download",
            **self.access_state(ctx, current),
        }

    def _ask(self, ctx: HostContext, current: Optional[State], method: str = "GET") -> Answer:
        headers = {"User-Agent": self.http_agent, **self.headers}
        if current and not self.force and not self.checksum:
            modified = time.gmtime(os.stat(ctx.memory["path"]).st_mtime)
            headers["If-Modified-Since"] = time.strftime("%a, %d %b %Y %H:%M:%S GMT", modified)
        elif self.force:
            headers["Cache-Control"] = "no-cache"
        answer = self._fetch(self.url, headers, method)
        ctx.memory["shown"].update(status_code=answer.status, msg=answer.said, size=None)
        if answer.status not in (200, 304):
            answer.close()
            raise Failed(
                f"Request failed: {answer.said}: {self._address}",
                status_code=answer.status,
                url=self._address,
                dest=ctx.memory["path"],
                response=answer.said,
            )
        return answer

    def _fetch(self, url: str, headers: dict[str, str], method: str = "GET") -> Answer:
        return fetch(
            url,
            method,
            None,
            headers,
            self.timeout,
            self.url_username,
            self.url_password,
            self.force_basic_auth,
            self.validate_certs,
            "urllib2",
            ca_path=self.ca_path,
            client_cert=self.client_cert,
            client_key=self.client_key,
            proxy=self.use_proxy,
            ciphers=self.ciphers,
            decompress=self.decompress,
            unredirected_headers=self.unredirected_headers,
            use_netrc=self.use_netrc,
        )

    def _download(self, ctx: HostContext, answer: Answer) -> str:
        """The temporary file that holds the content."""
        started, path = time.monotonic(), ctx.memory["path"]
        try:
            draft = ctx.memory["draft"] = Draft(ctx, self._drafts_in(path))
            with os.fdopen(draft.fd, "wb") as file:
                for chunk in answer.chunks():
                    file.write(chunk)
        except OSError as error:
            self._drop(ctx)
            refuse(error, path)
        except BaseException:
            self._drop(ctx)
            raise
        sha1 = ctx.memory["sha1"] = sha1_of(chunks_of(draft.path))
        elapsed = int(time.monotonic() - started)
        ctx.memory["shown"].update(checksum_src=sha1, elapsed=elapsed, src=draft.path)
        return str(draft.path)

    def _drafts_in(self, path: str) -> str:
        return expanded(self.tmp_dest) if self.tmp_dest else os.path.dirname(path)

    def _drop(self, ctx: HostContext) -> None:
        if ctx.memory["draft"]:
            ctx.memory["draft"].end()
            ctx.memory["draft"] = None

    def _expected(self, ctx: HostContext) -> tuple[str, str]:
        """The algorithm and digest the file must have; empty when none is asked for."""
        if not self.checksum:
            return "", ""
        algorithm, colon, digest = self.checksum.partition(":")
        digest = digest.strip()
        if not colon:
            raise Failed(
                "The checksum parameter has to be in format <algorithm>:<checksum>, not"
                f' "{self.checksum}"'
            )
        if "://" in digest:
            digest = self._listed(digest)
        if not all(letter in "0123456789abcdef" for letter in digest.lower()):
            raise Failed(
                f"The checksum {digest} is not hexadecimal; write it as {algorithm}:<hex>, "
                "or give the URL of a list"
            )
        return algorithm, digest.lower()

    def _listed(self, address: str) -> str:
        """The digest of this file in a list such as sha256sum writes."""
        answer = self._fetch(address, {"User-Agent": self.http_agent, **self.headers})
        text = b"".join(answer.chunks()).decode("utf-8", "replace")
        if answer.status != 200:
            raise Failed(
                f"The list of checksums at {address} cannot be read: {answer.said}",
                status_code=answer.status,
            )
        name = _name_in(self.url)
        lines = [line.split(None, 1) for line in text.splitlines() if line.strip()]
        if len(lines) == 1 and len(lines[0]) == 1:
            return lines[0][0]
        for digest, listed in (line for line in lines if len(line) == 2):
            if os.path.basename(listed.strip().lstrip("*")) == name:
                return digest
        raise Failed(f"Unable to find a checksum for file '{name}' in '{address}'")


def _name_in(url: str) -> str:
    from urllib.parse import unquote, urlsplit

    name = os.path.basename(unquote(urlsplit(url).path)).replace("\0", "")
    return "index.html" if name in ("", ".", "..") else name
