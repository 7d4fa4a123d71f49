"""host.uri: a request to a web service, from the host."""

from __future__ import annotations

import json
import os
import time

from playrunner.hostside.module import Action, Failed
from playrunner.hostside.state import Change
from playrunner.modules.host._content import read_bytes, sha1_of
from playrunner.modules.host._http import Answer, fetch, without
from playrunner.modules.host._paths import apply_change, expanded, facts, file_state, look
from playrunner.modules.host._placed import Placed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext

_WORDS_OF_A_RESULT = (
    "failed",
    "skipped",
    "unreachable",
    "unknown",
    "warnings",
    "exception",
    "diff",
    "ansible_facts",
    "ansible_job_id",
)


class Uri(Placed, Action):
    """A request to a web service, from the host."""

    reaches_out = True
    aliases = {"user": "url_username", "password": "url_password"}

    url: str  # the address
    method: str = "GET"  # GET, POST, PUT, ...
    body: Any = None  # what to send
    # How body becomes text; with form-multipart a part is a text, or has filename and content
    body_format: Literal["raw", "json", "form-urlencoded", "form-multipart"] = "raw"
    headers: dict[str, str] = {}  # more headers
    status_code: list[int] = [200]  # the answers that count as success
    return_content: bool = False  # return the body also when it is not asked for otherwise
    dest: str | None = None  # write the body to this file
    src: str | None = None  # send this file of the host
    remote_src: bool = False  # accepted; src is always on the host
    creates: str | None = None  # do nothing when this path exists
    removes: str | None = None  # do nothing when this path does not exist
    # safe: GET and HEAD only
    follow_redirects: Literal["all", "none", "safe", "urllib2", "yes", "no"] = "safe"
    timeout: float = 30  # seconds to wait for the server
    url_username: str | None = None  # who to log in as
    url_password: str | None = None  # the password
    force_basic_auth: bool = False  # send the login with the first request
    validate_certs: bool = True  # check the server's certificate
    ca_path: str | None = None  # the authorities to trust
    client_cert: str | None = None  # a certificate to show
    client_key: str | None = None  # its key
    unix_socket: str | None = None  # ask through this socket
    use_proxy: bool = True  # ask through the proxy of the environment
    http_agent: str = "ansible-httpget"  # how to introduce oneself
    force: bool = False  # ask caches for a fresh answer
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

    def guard(self, ctx: HostContext) -> Optional[dict[str, Any]]:
        if ctx.check:
            return None
        if self.creates and os.path.exists(expanded(self.creates)):
            reason = f"skipped, since '{self.creates}' exists"
        elif self.removes and not os.path.exists(expanded(self.removes)):
            reason = f"skipped, since '{self.removes}' does not exist"
        else:
            return None
        return {"stdout": reason, "msg": reason}

    def act(self, ctx: HostContext) -> dict[str, Any]:
        try:
            shown: dict[str, Any] = without(self.url_password, self._ask(ctx))
        except Failed as failed:
            raise Failed(
                without(self.url_password, str(failed)), **without(self.url_password, failed.values)
            ) from None
        return shown

    def _ask(self, ctx: HostContext) -> dict[str, Any]:
        started = time.monotonic()
        body, kind = self._body()
        headers = {
            "User-Agent": self.http_agent,
            **({"Content-Type": kind} if kind else {}),
            **({"Cache-Control": "no-cache"} if self.force else {}),
            **self.headers,
        }
        answer = fetch(
            self.url,
            self.method.upper(),
            body,
            headers,
            self.timeout,
            self.url_username,
            self.url_password,
            self.force_basic_auth,
            self.validate_certs,
            self.follow_redirects,
            ca_path=self.ca_path,
            client_cert=self.client_cert,
            client_key=self.client_key,
            unix_socket=self.unix_socket,
            proxy=self.use_proxy,
            ciphers=self.ciphers,
            decompress=self.decompress,
            unredirected_headers=self.unredirected_headers,
            use_netrc=self.use_netrc,
        )
        data = b"".join(answer.chunks())
        shown = {
            **_named(answer.headers),
            "changed": False,
            "status": answer.status,
            "url": answer.url,
            "redirected": answer.redirected,
            "msg": answer.said,
            "elapsed": int(time.monotonic() - started),
            **_cookies(answer),
        }
        text = data.decode(_charset(answer), "replace")
        if "json" in (answer.header("content-type") or ""):
            try:
                shown["json"] = json.loads(text)
            except ValueError:
                pass
        if answer.status not in self.status_code:
            shown.pop("msg")
            raise Failed(
                f"Status code was {answer.status} and not {self.status_code}: {answer.said}",
                **{**shown, "content": text},
            )
        if self.return_content:
            shown["content"] = text
        if self.dest:
            shown.update(self._keep(ctx, data))
        return shown

    def _body(self) -> tuple[Optional[bytes], Optional[str]]:
        if self.src is not None:
            return read_bytes(expanded(self.src)), None
        if self.body is None:
            return None, None
        if self.body_format == "json":
            ready = isinstance(self.body, str) and _is_json(self.body)
            return (self.body if ready else json.dumps(self.body)).encode(), "application/json"
        if self.body_format == "form-urlencoded":
            from urllib.parse import urlencode

            text = self.body if isinstance(self.body, str) else urlencode(self.body, doseq=True)
            return text.encode(), "application/x-www-form-urlencoded"
        if self.body_format == "form-multipart":
            from playrunner.modules.host._multipart import encoded_form

            return encoded_form(self.body)
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode(), None

    def _keep(self, ctx: HostContext, data: bytes) -> dict[str, Any]:
        """Write the body to `dest` when it is not what is there."""
        path = expanded(self.dest or "")
        if os.path.isdir(path):
            path = os.path.join(path, os.path.basename(self.url.partition("?")[0]) or "index.html")
        found = look(ctx, path)
        wanted = {**file_state(ctx, sha1_of((data,)), found, data), **self.access_state(ctx, found)}
        change = Change.between(found, wanted)
        if change:
            apply_change(ctx, path, change, (data,), unsafe=self.unsafe_writes)
        return {"changed": bool(change), "path": path, **facts(path)}


def _charset(answer: Answer) -> str:
    import codecs

    name = (answer.header("content-type") or "").lower().partition("charset=")[2].split(";")[
        0
    ].strip(' "') or "utf-8"
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "utf-8"


def _named(headers: list[tuple[str, str]]) -> dict[str, str]:
    """Headers as values of the result; a server must not say what only the step itself can say."""
    named = {name.lower().replace("-", "_"): value for name, value in headers}
    return {name: value for name, value in named.items() if name not in _WORDS_OF_A_RESULT}


def _cookies(answer: Answer) -> dict[str, Any]:
    pairs = [
        value.split(";")[0].partition("=")
        for name, value in answer.headers
        if name.lower() == "set-cookie"
    ]
    return {
        "cookies": {name: value for name, _, value in pairs},
        "cookies_string": "; ".join(f"{name}={value}" for name, _, value in pairs),
    }


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
