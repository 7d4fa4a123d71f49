"""Requests to web servers for get_url, uri and unarchive."""

from __future__ import annotations

from playrunner.hostside.module import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Optional

_CHUNK = 1024 * 1024  # bytes read at a time


class Answer:
    """What a server said; the body is read as it is needed."""

    def __init__(self, response: Any, asked: str, decompress: bool = True) -> None:
        self._response, self._decompress = response, decompress
        # A file:// address has no status: what can be read is there.
        self.status: int = getattr(response, "status", None) or response.code or 200
        self.url: str = response.geturl()
        self.redirected = self.url != asked
        self.reason: str = getattr(response, "reason", "") or ""
        self.headers: list[tuple[str, str]] = list(response.headers.items())
        self.length = self.header("content-length") or "unknown"

    @property
    def said(self) -> str:
        if self.status >= 300:
            return f"HTTP Error {self.status}: {self.reason}"
        return f"OK ({self.length} bytes)"

    def header(self, name: str) -> Optional[str]:
        return next((value for key, value in self.headers if key.lower() == name), None)

    def chunks(self) -> Iterator[bytes]:
        packed = self._decompress and self.header("content-encoding") == "gzip"
        return self._unpacked() if packed else self._raw()

    def _raw(self) -> Iterator[bytes]:
        with self._response:
            while True:
                chunk = self._response.read(_CHUNK)
                if not chunk:
                    return
                yield chunk

    def _unpacked(self) -> Iterator[bytes]:
        import zlib

        unpacking = zlib.decompressobj(16 + zlib.MAX_WBITS)  # 16: with the head of a gzip file
        try:
            for chunk in self._raw():
                yield unpacking.decompress(chunk)
            yield unpacking.flush()
        except zlib.error as error:
            raise Failed(f"{self.url}: the answer cannot be decompressed: {error}") from None

    def close(self) -> None:
        self._response.close()


def fetch(
    url: str,
    method: str = "GET",
    body: Optional[bytes] = None,
    headers: Optional[dict[str, str]] = None,
    timeout: float = 30,
    user: Optional[str] = None,
    password: Optional[str] = None,
    basic_at_once: bool = False,
    verify: bool = True,
    follow: str = "safe",
    **tls: Any,
) -> Answer:
    """Ask and return the answer, whatever its status; no answer at all is a failure."""
    import urllib.error
    import urllib.parse
    import urllib.request

    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https", "ftp", "file"):
        shown = without_login(url)
        raise Failed(
            f"{shown} is not a web address: it should begin with http:// or https://", url=shown
        )
    if "@" in parts.netloc and user is None:
        user, password = (
            urllib.parse.unquote(parts.username or ""),
            urllib.parse.unquote(parts.password or ""),
        )
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    sent = {str(name): str(value) for name, value in (headers or {}).items()}
    once = {name.lower() for name in tls.get("unredirected_headers") or ()}
    request = urllib.request.Request(
        url,
        data=body,
        headers={name: value for name, value in sent.items() if name.lower() not in once},
        method=method,
    )
    for name, value in sent.items():
        if name.lower() in once:
            request.add_unredirected_header(name, value)
    if user is None and tls.get("use_netrc") and not request.has_header("Authorization"):
        user, password = _login_of(parts.hostname or "")
        basic_at_once = True
    if user is not None and basic_at_once:
        import base64

        token = base64.b64encode(f"{user}:{password or ''}".encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {token}")
    try:
        return Answer(
            _opener(url, user, password, verify, follow, tls).open(request, timeout=timeout),
            url,
            tls.get("decompress", True),
        )
    except urllib.error.HTTPError as error:
        return Answer(error, url, tls.get("decompress", True))
    except (OSError, ValueError) as error:  # URLError is an OSError
        reason = getattr(error, "reason", error)
        raise Failed(
            f"Request failed: {url}: {reason}; see that the address is right and reachable from"
            " this host",
            status=-1,
            status_code=-1,
            url=url,
            elapsed=0,
        ) from None


def _login_of(host: str) -> tuple[Optional[str], Optional[str]]:
    """Who to log in as at a host, as ~/.netrc says; nobody when it says nothing."""
    import netrc
    import os

    path = os.environ.get("NETRC") or os.path.expanduser("~/.netrc")
    if not os.path.exists(path):
        return None, None
    try:
        login = netrc.netrc(path).authenticators(host)
    except (OSError, netrc.NetrcParseError):
        return None, None
    return (login[0], login[2]) if login else (None, None)


def without(secret: Optional[str], value: Any) -> Any:
    """A value to be shown, with the secret hidden where a server, or a message, repeats it."""
    if not secret:
        return value
    if isinstance(value, str):
        return value.replace(secret, "********")
    if isinstance(value, dict):
        return {without(secret, key): without(secret, item) for key, item in value.items()}
    return [without(secret, item) for item in value] if isinstance(value, list) else value


def without_login(url: str) -> str:
    """An address to be shown: the password of user:password@host stays out."""
    begin, at, _ = url.partition("://")[2].partition("/")[0].rpartition("@")
    user, colon, _ = begin.partition(":")
    return url.replace(f"{begin}@", f"{user}:********@", 1) if at and colon else url


def _opener(
    url: str,
    user: Optional[str],
    password: Optional[str],
    verify: bool,
    follow: str,
    tls: dict[str, Any],
) -> Any:
    import urllib.request

    class Redirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(
            self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
        ) -> Any:
            if follow in ("none", "no") or (
                follow == "safe" and req.get_method() not in ("GET", "HEAD")
            ):
                return None
            new = super().redirect_request(req, fp, code, msg, headers, newurl)
            if new is not None and (
                req.get_method() == "HEAD" or (follow in ("all", "yes") and code in (307, 308))
            ):
                new.method = req.get_method()
                new.data = req.data
            return new

    handlers: list[Any] = [Redirects()]
    if url.startswith("https"):
        handlers.append(urllib.request.HTTPSHandler(context=_tls(verify, tls)))
    if tls.get("proxy") is False:
        handlers.append(urllib.request.ProxyHandler({}))
    if tls.get("unix_socket"):
        handlers.append(_socket_handler(tls["unix_socket"]))
    if user is not None:
        known = urllib.request.HTTPPasswordMgrWithDefaultRealm()
        known.add_password(None, url, user, password or "")
        handlers += [
            urllib.request.HTTPBasicAuthHandler(known),
            urllib.request.HTTPDigestAuthHandler(known),
        ]
    return urllib.request.build_opener(*handlers)


def _tls(verify: bool, tls: dict[str, Any]) -> Any:
    import ssl

    context = ssl.create_default_context(cafile=tls.get("ca_path"))
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls.get("ciphers"):
        try:
            context.set_ciphers(":".join(tls["ciphers"]))
        except ssl.SSLError as error:
            raise Failed(f"ciphers: {error}; see openssl ciphers") from None
    if tls.get("client_cert"):
        context.load_cert_chain(tls["client_cert"], tls.get("client_key"))
    return context


def _socket_handler(path: str) -> Any:
    import http.client
    import socket
    import urllib.request

    class Connection(http.client.HTTPConnection):
        def connect(self) -> None:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.connect(path)

    class Handler(urllib.request.HTTPHandler):
        def http_open(self, req: Any) -> Any:
            return self.do_open(Connection, req)

    return Handler()
