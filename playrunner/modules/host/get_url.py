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
    scrap_beside,
    sha1_of,
)
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

    _path = ""
    _address = ""
    _scrap = ""
    _shown = dict[str, "Any"]()
    _sha1 = ""

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        if arguments.get("use_gssapi"):
            return "use_gssapi needs a library that hosts do not have; log in another way"
        return None

    def observe(self, ctx: HostContext) -> Optional[State]:
        self._path = expanded(self.dest)
        self._address = without_login(self.url)  # as it is shown
        if self._path.endswith("/") or os.path.isdir(self._path):
            self._path = os.path.join(self._path, _name_in(self.url))
        folder = os.path.dirname(self._path) or "."
        if not os.path.isdir(folder):
            raise Failed(
                f"Destination {folder} does not exist; make it first",
                dest=self._path,
                url=self._address,
            )
        self._path = os.path.realpath(self._path)
        return look(ctx, self._path)

    def desired(self, ctx: HostContext, current: Optional[State]) -> Optional[State]:
        algorithm, digest = self._expected(ctx)
        self._shown = {
            "url": self._address,
            "checksum_dest": current.get("sha1") if current else None,
            "checksum_src": None,
            "elapsed": 0,
        }
        if (
            current
            and digest
            and not self.force
            and digest == digest_of(chunks_of(self._path), algorithm)
        ):
            self._shown["msg"] = "file already exists"
            return {"kind": "file", **self.access_state(ctx, current)}
        if ctx.check:
            return self._foreseen(ctx, current)
        answer = self._ask(current)
        if answer.status == 304:
            answer.close()
            return {"kind": "file", **self.access_state(ctx, current)}
        self._download(ctx, answer)
        if digest and digest_of(chunks_of(self._scrap), algorithm) != digest:
            got = digest_of(chunks_of(self._scrap), algorithm)
            self._drop(ctx)
            raise Failed(
                f"The checksum for {self._path} did not match {digest}; it was {got}.",
                **self._shown,
            )
        small = os.path.getsize(self._scrap) <= _SHOWN_LIMIT
        data = read_bytes(self._scrap) if ctx.diff and small else None
        wanted = {**file_state(ctx, self._sha1, current, data), **self.access_state(ctx, current)}
        if current and all(current.get(key) == value for key, value in wanted.items()):
            self._drop(ctx)
        return wanted

    def apply(self, ctx: HostContext, change: Change) -> None:
        after = change.after
        fresh = bool(self._scrap) and after is not None and after.get("sha1") == self._sha1
        try:
            if fresh and self.backup and change.observed and change.touches("sha1"):
                self._shown["backup_file"] = backup_of(ctx, self._path)
            apply_change(
                ctx,
                self._path,
                change,
                chunks_of(self._scrap) if fresh else None,
                unsafe=self.unsafe_writes,
            )
        finally:
            self._drop(ctx)

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        return {"dest": self._path, **self._shown, **facts(self._path)}

    def _foreseen(self, ctx: HostContext, current: Optional[State]) -> State:
        """Under --check only the headers are asked for: the content stays unknown, and so
        different."""
        answer = self._ask(current, "HEAD")
        answer.close()
        if answer.status == 304:
            return {"kind": "file", **self.access_state(ctx, current)}
        return {
            "kind": "file",
            "sha1": "known after the download",
            **self.access_state(ctx, current),
        }

    def _ask(self, current: Optional[State], method: str = "GET") -> Answer:
        headers = {"User-Agent": self.http_agent, **self.headers}
        if current and not self.force and not self.checksum:
            modified = time.gmtime(os.stat(self._path).st_mtime)
            headers["If-Modified-Since"] = time.strftime("%a, %d %b %Y %H:%M:%S GMT", modified)
        elif self.force:
            headers["Cache-Control"] = "no-cache"
        answer = self._fetch(self.url, headers, method)
        self._shown.update(status_code=answer.status, msg=answer.said, size=None)
        if answer.status not in (200, 304):
            answer.close()
            raise Failed(
                f"Request failed: {answer.said}: {self._address}",
                status_code=answer.status,
                url=self._address,
                dest=self._path,
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

    def _download(self, ctx: HostContext, answer: Answer) -> None:
        started = time.monotonic()
        beside = os.path.join(expanded(self.tmp_dest), "x") if self.tmp_dest else self._path
        scrap = scrap_beside(beside)
        ctx.scrap(scrap)
        self._scrap = scrap
        try:
            fd = os.open(scrap, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "wb") as file:
                for chunk in answer.chunks():
                    file.write(chunk)
        except OSError as error:
            self._drop(ctx)
            refuse(error, self._path)
        self._sha1 = sha1_of(chunks_of(scrap))
        self._shown.update(
            checksum_src=self._sha1, elapsed=int(time.monotonic() - started), src=scrap
        )

    def _drop(self, ctx: HostContext) -> None:
        if self._scrap:
            if os.path.lexists(self._scrap):
                os.unlink(self._scrap)
            ctx.kept(self._scrap)
            self._scrap = ""

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
