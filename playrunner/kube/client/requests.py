"""Requests to the API server, repeated while it restarts, throttles or fails inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from playrunner.cloud.resource import Unanswered
from playrunner.cloud.retry import Retry, RetryPolicy
from playrunner.errors import HostUnreachable
from playrunner.kube.client.errors import KubeError, problem
from playrunner.kube.client.transport import NoAnswer, NotReached
from playrunner.text.answers import BadAnswer, described

if TYPE_CHECKING:
    from playrunner.kube.client.client import Cluster

RESTART_SECONDS = 60.0  # how long a server that was reached before may be away
FIRST_SECONDS = 10.0  # the same for one that was never reached
THROTTLED_SECONDS = 120.0
INTERNAL_ATTEMPTS = 4  # a server's internal error seldom passes
RETRIES = RetryPolicy(longest_seconds=5.0)  # given up after the seconds above
_REPEATABLE = ("GET", "PATCH", "PUT", "DELETE")  # idempotent


class Requests:
    """Requests to one API server, with retries."""

    def __init__(self, cluster: Cluster, sleep: Callable[[float], None]) -> None:
        self.cluster, self.sleep = cluster, sleep

    def send(
        self,
        method: str,
        path: str,
        body: Any,
        content_type: str,
        query: Mapping[str, Any],
        patient: bool,
    ) -> tuple[bytes, str]:
        """The body and content type of the answer; retried where that cannot do harm.

        Without `patient`, "too many requests" is raised like any other refusal.
        """
        transport, renewed = self.cluster.transport, False
        retry = Retry(RETRIES, self.sleep)
        while True:
            retry_after = ""
            try:
                status, headers, data = transport.send(method, path, query, body, content_type)
            except NotReached as error:
                self._raise_if_away(retry.seconds, str(error))
            except NoAnswer as error:
                if method not in _REPEATABLE:
                    raise Unanswered(f"{method} {path}: no answer: {error}") from None
                self._raise_if_away(retry.seconds, str(error))
            else:
                self.cluster.reached = True
                if status < 300:
                    self.cluster.hear_warnings(headers.get_all("Warning") or ())
                    return (b"{}" if status == 204 else data), headers.get("Content-Type") or ""
                if status == 404 and not data.startswith((b"{", b"404 page not found")):
                    # No API server answers like this, so the object may exist.
                    came = described(data, headers.get("Content-Type") or "")
                    raise BadAnswer(
                        f"{transport.source(path)} answered 404 with {came}; does the kubeconfig"
                        " name the right address?"
                    )
                refusal = problem(status, data, method, _spelled(path), transport.access.user)
                if status == 401 and not renewed:
                    renewed = True
                    if transport.access.credentials.renew():
                        continue
                if not refusal.passing or not self._worth_retrying(
                    refusal, method, retry.attempt, retry.seconds, patient
                ):
                    raise refusal
                retry_after = headers.get("Retry-After") or ""
            retry.wait(retry_after)

    def _raise_if_away(self, waited: float, why: str) -> None:
        limit = RESTART_SECONDS if self.cluster.reached else FIRST_SECONDS
        if waited > limit:
            server = self.cluster.transport.access.server
            raise HostUnreachable(
                f"the API server {server} has not answered for {limit:g} seconds: {why}; is the"
                " cluster up, and does the kubeconfig name the right address? (kube_via: HOST goes"
                " through a host of the inventory)"
            ) from None

    def _worth_retrying(
        self, refusal: KubeError, method: str, attempt: int, waited: float, patient: bool
    ) -> bool:
        if refusal.status == 429:
            return patient and waited < THROTTLED_SECONDS
        if refusal.status == 500:
            return attempt < INTERNAL_ATTEMPTS and method in _REPEATABLE
        return waited < RESTART_SECONDS and (method in _REPEATABLE or refusal.status == 503)


def _spelled(path: str) -> str:
    """A path as kubectl takes it: deployments x -n y."""
    words = [word for word in path.split("/") if word]
    words = words[2:] if words[:1] == ["api"] else words[3:]
    where = ""
    if words[:1] == ["namespaces"] and len(words) > 2:
        where, words = f" -n {words[1]}", words[2:]
    return " ".join(words) + where
