"""AWS as one step sees it: reads are shared and repeated until they are answered, changes are never
done twice by accident.

Only this file knows what may be repeated: a throttled call always, a read always, a change whose
answer was lost only when it carries a token by which the service recognises it.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from playrunner.aws.errors import (
    NotReached,
    Throttled,
    boto_errors,
    final,
    is_of_used_token,
    problem,
)
from playrunner.aws.session import ENDING, Account, AwsSettings, settings_of
from playrunner.cloud.call_log import CallRecorder, logged_call
from playrunner.cloud.resource import Refused, Unanswered
from playrunner.cloud.retry import Retry, RetryPolicy
from playrunner.cloud.shared_reads import SHARED_SECONDS

__all__ = ["Account", "Aws", "AwsSettings", "settings_of"]

RETRIES = RetryPolicy(attempts=9)
NEW_SECONDS = 60.0  # how long a service may take to know a new thing everywhere


class Aws:
    """An account as one step sees it."""

    def __init__(
        self,
        account: Account,
        subject: str = "",
        call_log: CallRecorder | None = None,
        sleep: Callable[[float], None] = time.sleep,
        guarded: bool = True,
    ) -> None:
        self.account_session, self.subject, self.guarded = account, subject, guarded
        self.call_log, self.sleep = call_log, sleep
        self.not_before = time.monotonic() - SHARED_SECONDS
        # The cluster and region whose things are changed: two have steps of the same name
        self.stack = ""
        self.last_change = ""  # the operation of the last change that was asked for

    @property
    def region(self) -> str:
        return self.account_session.region

    @property
    def account(self) -> str:
        return str(self._identity()["Account"])

    @property
    def partition(self) -> str:
        return str(self._identity()["Arn"]).split(":")[1]

    def _identity(self) -> Any:
        """The caller, which does not change during a run."""
        reader = Aws(self.account_session, self.subject, None, self.sleep)
        reader.not_before = 0.0
        return reader.read("sts", "get_caller_identity")

    def refresh(self) -> None:
        """Reads from now on must not reuse earlier answers."""
        self.not_before = time.monotonic()

    def read(
        self, service: str, operation: str, missing: tuple[str, ...] = (), **arguments: Any
    ) -> Any:
        """The answer of a describe, list or get with all its pages; None when it is refused with
        one of the `missing` codes."""
        retry = Retry(RETRIES, self.sleep)
        while True:
            try:
                return self.account_session.read(service, operation, arguments, self.not_before)
            except boto_errors() as error:
                failure = problem(error, service, operation)
                if isinstance(failure, Refused) and failure.code in missing:
                    return None
                retryable = isinstance(failure, (Throttled, Unanswered, NotReached))
                if not self._is_not_yet_known(operation, failure, retry) and (
                    not retryable or retry.exhausted
                ):
                    raise final(failure) from error
                retry.wait()
                self.refresh()

    def call(self, service: str, operation: str, token: str = "", **arguments: Any) -> Any:
        """Send a change. With `token`, the argument that carries an idempotency token, it may be
        repeated; without one a lost answer raises Unanswered."""
        if self.guarded:
            self.account_session.confirm_lease()
        call = f"{service}.{operation}"
        self.last_change = operation
        facts: dict[str, Any] = {"call": call, "subject": self.subject}
        if self.stack:
            facts["stack"] = self.stack
        past = (
            self.call_log.past_token(self.subject, call, self.stack)
            if (token and self.call_log)
            else ""
        )
        if token:
            facts["token"] = arguments[token] = past or uuid.uuid4().hex
        try:
            with logged_call(self.call_log, **facts):
                return self._send(service, operation, arguments, repeatable=bool(token))
        except Refused as refusal:
            # Tags name the run, so the request of an earlier one was another: it was carried out
            refusal.already = refusal.already or bool(past and is_of_used_token(refusal))
            raise
        finally:
            self.account_session.changed(service)
            self.refresh()

    def _send(
        self, service: str, operation: str, arguments: Mapping[str, Any], repeatable: bool
    ) -> Any:
        retry = Retry(RETRIES, self.sleep)
        while True:
            try:
                return self.account_session.change(service, operation, arguments)
            except boto_errors() as error:
                failure = problem(error, service, operation)
                retryable = isinstance(failure, (Throttled, NotReached)) or (
                    repeatable and isinstance(failure, Unanswered)
                )
                if not self._is_not_yet_known(operation, failure, retry) and (
                    not retryable or retry.exhausted
                ):
                    raise final(failure) from error
                retry.wait()
                self.refresh()

    def _is_not_yet_known(self, operation: str, failure: Exception, retry: Retry) -> bool:
        """Whether the call names a thing that was made or shown a moment ago, and that the service
        does not know everywhere yet: the call has done nothing."""
        return (
            isinstance(failure, Refused)
            and failure.not_found
            and not operation.startswith(ENDING)
            and retry.seconds < NEW_SECONDS
            and self.account_session.has_seen(str(failure), NEW_SECONDS)
        )
