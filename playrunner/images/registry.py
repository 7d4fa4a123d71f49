"""Registry: one repository of a registry, read over its HTTP API; nothing is pulled.

oras speaks the protocol. Its own retries are not used: it waits two minutes before it reports a
wrong login.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from playrunner.cloud.bounded_http import bound
from playrunner.cloud.resource import Refused
from playrunner.cloud.retry import Retry, RetryPolicy
from playrunner.errors import HostUnreachable
from playrunner.frozen import frozen
from playrunner.hostside.module import Failed
from playrunner.images.credentials import Credentials
from playrunner.images.platform import ARCHITECTURE
from playrunner.images.reference import Reference
from playrunner.project import install_extra
from playrunner.text import answers
from playrunner.text.answers import MOST_PAGES, BadAnswer, Shape, document, fitting

if TYPE_CHECKING:
    import requests

RETRIES = RetryPolicy(attempts=4, first_seconds=0.2)
ANSWER_SECONDS = 60
_INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    *_INDEXES,
)
_MANIFEST: Shape = {
    "manifests": [{"digest!": str, "platform": {"architecture": str}}],
    "config": {"digest!": str},
    "layers": [{"size!": int}],
}
_CONFIG: Shape = {"architecture": str, "config": {"Labels": {"*": str}}}
_TAGS: Shape = {"tags": [str]}


@frozen
class Kept:
    """An image as a registry keeps it."""

    digest: str
    architectures: tuple[str, ...]
    labels: Mapping[str, str]
    size: int  # bytes of its layers as they are stored


class Registry:
    """One repository of a registry."""

    def __init__(
        self, home: Reference, credentials: Credentials, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.home, self._credentials, self._sleep = home, credentials, sleep
        self._prefix = "http" if home.loopback or credentials.settings.plain_http else "https"
        self._client: Any = None

    def image(self, which: str) -> Kept | None:
        """The image behind a tag or digest, or None."""
        answer = self._ask("GET", f"manifests/{which}", accept=_MANIFESTS)
        if answer is None:
            return None
        digest = "sha256:" + hashlib.sha256(answer.content).hexdigest()
        named = answer.headers.get("Docker-Content-Digest", digest)
        if named != digest:
            raise Failed(
                f"{self.home}:{which}: the registry calls it {named}, but what it sends is {digest}"
            )
        if which.startswith("sha256:") and which != digest:  # also an index that names itself
            raise BadAnswer(f"{self.home}@{which}: what the registry sends is {digest}")
        manifest = _checked(answer, _MANIFEST)
        architectures = tuple(_architecture(entry) for entry in manifest.get("manifests") or ())
        if not architectures:
            return self._single(digest, manifest)
        ours = next(
            (
                entry["digest"]
                for entry in manifest["manifests"]
                if _architecture(entry) == ARCHITECTURE
            ),
            "",
        )
        inner = self.image(ours) if ours else None
        return Kept(
            digest, architectures, inner.labels if inner else {}, inner.size if inner else 0
        )

    def tags(self) -> list[str]:
        """Every tag of the repository, all pages of them."""
        names, path = list[str](), "tags/list?n=500"
        for _ in range(MOST_PAGES):
            answer = self._ask("GET", path)
            if answer is None:
                return sorted(set(names))
            names += _checked(answer, _TAGS).get("tags") or []
            path = (
                answer.links.get("next", {})
                .get("url", "")
                .rpartition(f"{self.home.repository}/")[2]
            )
            if not path:
                return sorted(set(names))
        raise BadAnswer(f"{self.home}: the registry's list of tags does not come to its end")

    def delete(self, tag: str, digest: str) -> None:
        """Delete an image: its tag where the registry can do so, otherwise the manifest behind the
        tag."""
        for which in (tag, digest):
            answer = self._ask("DELETE", f"manifests/{which}", also=(400, 405))
            if answer is None or answer.ok:
                if which == tag and self.image(digest) is not None:
                    self._ask("DELETE", f"manifests/{digest}", also=(400, 405))
                return
        raise Refused(
            f"{self.home}:{tag}: the registry does not delete images over its API; delete it where"
            " the registry is managed (a registry of your own takes storage.delete.enabled)",
            "UNSUPPORTED",
        )

    def _single(self, digest: str, manifest: Mapping[str, Any]) -> Kept:
        answer = self._ask("GET", f"blobs/{manifest['config']['digest']}")
        if answer is None:
            raise Failed(
                f"{self.home}@{digest}: its configuration is missing in the registry; push it again"
            )
        config = _checked(answer, _CONFIG)
        labels = (config.get("config") or {}).get("Labels") or {}
        return Kept(
            digest,
            (str(config.get("architecture", "")),),
            labels,
            sum(layer["size"] for layer in manifest["layers"]),
        )

    def _ask(
        self, method: str, path: str, accept: tuple[str, ...] = (), also: tuple[int, ...] = ()
    ) -> requests.Response | None:
        """An answer that is fine or among `also`; None when there is no such thing."""
        _load_oras()
        import requests

        url = f"{self._prefix}://{self.home.api_host}/v2/{self.home.repository}/{path}"
        retry = Retry(RETRIES, self._sleep)
        while True:
            retry_after = ""
            try:
                answer = self._opened().do_request(
                    url, method, headers={"Accept": ", ".join(accept)} if accept else {}
                )
            except (requests.ConnectionError, requests.Timeout) as error:
                problem = _plain(error)
            except (requests.exceptions.MissingSchema, requests.exceptions.InvalidURL):
                # It wants a login by password, and oras took the realm for a token's address.
                raise self._denied(401) from None
            except requests.RequestException as error:
                raise BadAnswer(
                    f"{answers.shown(url)} answered what cannot be read: {_plain(error)[:200]}"
                ) from None
            except ValueError:
                # oras's way to say that it has no login for the registry
                raise self._denied(401) from None
            except (AttributeError, KeyError, TypeError, RecursionError) as error:
                # oras does not check the answer of a token's address
                raise BadAnswer(
                    f"the registry {self.home.registry} answered to a login what cannot be read"
                ) from error
            else:
                if answer.status_code < 500 and answer.status_code != 429:
                    return self._accepted(answer, also)
                problem = f"{answer.status_code} {answer.reason}"
                retry_after = answer.headers.get("Retry-After") or ""
            if retry.exhausted:
                raise HostUnreachable(
                    f"the registry {self.home.registry} does not answer: {problem}"
                )
            retry.wait(retry_after)

    def _accepted(
        self, answer: requests.Response, also: tuple[int, ...]
    ) -> requests.Response | None:
        if answer.ok or answer.status_code in also:
            return answer
        if answer.status_code == 404:
            return None
        if answer.status_code in (401, 403):
            raise self._denied(answer.status_code)
        raise Refused(
            f"{self.home}: {answer.status_code}: {_message(answer)}", str(answer.status_code)
        )

    def _denied(self, status: int) -> Refused:
        login = self._credentials.of(self.home.registry)
        who = (
            f'as "{login.user}"'
            if login and login.user
            else "with a token"
            if login
            else "without a login"
        )
        return Refused(
            f"the registry {self.home.registry} refuses {self.home.repository} {who} ({status});"
            " log in with"
            f' "docker login {self.home.registry}" (or set image_user and image_password), and see'
            " that the user may"
            " use the repository",
            "DENIED",
        )

    def _opened(self) -> Any:
        if self._client is None:
            self._client = _client(self.home, self._prefix == "http", self._credentials)
        return self._client


def _load_oras() -> None:
    try:
        import oras.logger  # type: ignore[import-untyped,import-not-found]
        import oras.provider  # type: ignore[import-untyped,import-not-found]  # noqa: F401
    except ImportError:
        raise Failed(f"registries need oras; install it with: {install_extra('image')}") from None


def _client(home: Reference, insecure: bool, credentials: Credentials) -> Any:
    _load_oras()
    import oras.logger  # type: ignore[import-untyped,import-not-found]
    import oras.provider  # type: ignore[import-untyped,import-not-found]

    class Direct(oras.provider.Registry):  # type: ignore[misc]
        def do_request(self, *given: Any, **settings: Any) -> Any:
            return oras.provider.Registry.do_request.__wrapped__(self, *given, **settings)

    oras.logger.logger.set_level(
        logging.CRITICAL
    )  # this program has one way to speak, and it is not a logger
    scheme, login = _scheme(home, insecure), credentials.of(home.registry)
    client = Direct(
        home.api_host,
        insecure=insecure,
        auth_backend="basic" if scheme == "basic" and login else "token",
    )
    bound(client.session, ANSWER_SECONDS, secure=not insecure)
    if home.loopback:
        client.session.trust_env = False  # reached directly, whatever proxy the environment names
    if login:
        client.auth.set_basic_auth(login.user, login.secret)
    return client


def _scheme(home: Reference, insecure: bool) -> str:
    """The authentication scheme, which the registry names in its answer to an anonymous request."""
    import requests

    url = f"{'http' if insecure else 'https'}://{home.api_host}/v2/"
    with bound(requests.Session(), ANSWER_SECONDS) as session:
        session.trust_env = not home.loopback
        answer = session.get(url, timeout=ANSWER_SECONDS)
    return answer.headers.get("Www-Authenticate", "").partition(" ")[0].lower()


def _architecture(entry: Mapping[str, Any]) -> str:
    return str((entry.get("platform") or {}).get("architecture") or "")


def _message(answer: requests.Response) -> str:
    try:
        errors = _checked(answer, {"errors!": [{"message": str, "code": str}]})["errors"]
        return "; ".join(str(error.get("message") or error.get("code")) for error in errors)
    except BadAnswer:
        return answers.described(answer.content, answer.headers.get("Content-Type", ""))


def _checked(answer: requests.Response, shape: Shape) -> Any:
    source = answers.shown(answer.url)
    return fitting(
        document(answer.content, source, answer.headers.get("Content-Type", "")), shape, source
    )


def _plain(error: Exception) -> str:
    """What lies at the bottom of requests' long chain of reasons."""
    deepest: BaseException = error
    while deepest.__cause__ or deepest.__context__:
        deepest = deepest.__cause__ or deepest.__context__ or deepest
    return str(deepest) or type(deepest).__name__
