"""AWS as modules use it: reads that are shared, changes that are never done twice by accident,
errors in plain words.

boto3 is loaded with the first call. Its own retries are off, because only this file knows what may
be repeated: a throttled call always, a read always, a change whose answer was lost only when it
carries a token by which the service knows it again.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from playrunner.aws.answers import bounded, checked, unreadable
from playrunner.cloud.journal import Journal, written_down
from playrunner.cloud.resource import Refused, Unanswered
from playrunner.cloud.shared_reads import SHARED_SECONDS, SharedReads
from playrunner.errors import BadInput, HostUnreachable, PlayrunnerError

ATTEMPTS = 9
FIRST_BACKOFF, LONGEST_BACKOFF = 0.1, 10.0

_THROTTLED = (
    "Throttl",
    "TooManyRequests",
    "RequestLimitExceeded",
    "SlowDown",
    "PriorRequestNotComplete",
    "BandwidthLimit",
)
# A role or instance profile that was made seconds ago is not known everywhere yet; the call has
# done nothing.
_NOT_YET = ("could not be assumed", "cannot be assumed", "Invalid IAM Instance Profile")
_ALREADY = (
    "AlreadyExists",
    "Duplicate",
    "AlreadyOwnedByYou",
    "MountTargetConflict",
    "ResourceInUse",
    "AlreadyAssociated",
)
_IN_USE = (
    "DependencyViolation",
    "InUse",
    "DeleteConflict",
    "ResourceConflict",
    "IncorrectState",
    "IncorrectInstanceState",
    "BucketNotEmpty",
    "HasDependency",
)
_NOT_FOUND = ("NotFound", "NoSuch", ".Malformed")
_DENIED = (
    "AccessDenied",
    "UnauthorizedOperation",
    "AuthFailure",
    "InvalidClientTokenId",
    "ExpiredToken",
    "UnrecognizedClient",
    "SignatureDoesNotMatch",
    "InvalidSignature",
    "OptInRequired",
)


@dataclass(frozen=True)
class AwsSettings:
    """Which account and region, and how to come in; empty fields are boto3's own to find."""

    region: str = ""
    profile: str = ""
    # Instead of ~/.aws/credentials; keys themselves have no place in an inventory
    credentials_file: str = ""
    endpoint_url: str = ""


def settings_of(lookup: Callable[[str], Any]) -> AwsSettings:
    """From the variables of an inventory: aws_region, aws_profile, ..."""
    names = AwsSettings.__dataclass_fields__
    return AwsSettings(**{name: str(lookup(f"aws_{name}") or "") for name in names})


class Account:
    """One account and region for a whole run: clients, and the reads that steps share."""

    def __init__(self, settings: AwsSettings) -> None:
        self.settings = settings
        self._clients: dict[str, Any] = {}
        self._reads = SharedReads()
        self._client_lock = threading.Lock()
        self._session: Any = None

    def client(self, service: str) -> Any:
        with self._client_lock:
            if service not in self._clients:
                self._clients[service] = self._make(service)
            return self._clients[service]

    @property
    def region(self) -> str:
        return str(self.client("sts").meta.region_name)

    def read(
        self, service: str, operation: str, arguments: Mapping[str, Any], not_before: float
    ) -> Any:
        """The answer to a read that started after `not_before`, whoever started it."""
        key = service, operation, json.dumps(arguments, sort_keys=True, default=str)
        return self._reads.read(
            key, service, not_before, lambda: self._pages(service, operation, arguments)
        )

    def change(self, service: str, operation: str, arguments: Mapping[str, Any]) -> Any:
        client = self.client(service)
        return _answered(client, operation, False, lambda: getattr(client, operation)(**arguments))

    def changed(self, service: str) -> None:
        """What was read of a service before is not believed any more."""
        self._reads.changed([service])

    def _pages(self, service: str, operation: str, arguments: Mapping[str, Any]) -> Any:
        client = self.client(service)
        if client.can_paginate(operation):
            return _answered(
                client,
                operation,
                True,
                lambda: client.get_paginator(operation).paginate(**arguments).build_full_result(),
            )
        return _answered(client, operation, True, lambda: getattr(client, operation)(**arguments))

    def _make(self, service: str) -> Any:
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError

        given = self.settings
        local = "://127." in given.endpoint_url or "://localhost" in given.endpoint_url
        try:
            self._session = self._session or self._open()
            if not self._session.region_name:
                raise BadInput(
                    "no AWS region is set; give aws_region in the inventory, or AWS_REGION"
                )
            return bounded(
                self._session.client(
                    service,
                    endpoint_url=given.endpoint_url or None,
                    config=Config(
                        retries={"total_max_attempts": 1, "mode": "standard"},
                        connect_timeout=10,
                        read_timeout=60,
                        max_pool_connections=32,
                        user_agent_extra="playrunner",
                        **({"proxies": {}} if local else {}),
                    ),
                )
            )
        except (BotoCoreError, ValueError) as error:
            raise BadInput(f"AWS cannot be used: {error}") from None

    def _open(self) -> Any:
        try:
            import boto3
            import botocore.session
        except ImportError:
            raise BadInput(
                'AWS needs boto3; install it with: pip install "playrunner[aws]"'
            ) from None
        given, inner = (
            self.settings,
            botocore.session.Session(profile=self.settings.profile or None),
        )
        if given.credentials_file:
            inner.set_config_variable("credentials_file", given.credentials_file)
        return boto3.Session(botocore_session=inner, region_name=given.region or None)


class Aws:
    """An account as one step sees it."""

    def __init__(
        self,
        account: Account,
        subject: str = "",
        journal: Journal | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.account_session, self.subject, self.journal, self.sleep = (
            account,
            subject,
            journal,
            sleep,
        )
        self.not_before = time.monotonic() - SHARED_SECONDS

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
        """Who asks; it does not change while a run lasts."""
        reader = Aws(self.account_session, self.subject, None, self.sleep)
        reader.not_before = 0.0
        return reader.read("sts", "get_caller_identity")

    def refresh(self) -> None:
        """From now on nothing that was read earlier will do."""
        self.not_before = time.monotonic()

    def read(
        self, service: str, operation: str, missing: tuple[str, ...] = (), **arguments: Any
    ) -> Any:
        """What a describe, list or get says, all pages of it; None when it ends in one of the
        `missing` codes."""
        for attempt in range(ATTEMPTS):
            try:
                return self.account_session.read(service, operation, arguments, self.not_before)
            except _boto_errors() as error:
                problem = _problem(error, service, operation)
                if isinstance(problem, Refused) and problem.code in missing:
                    return None
                if (
                    not isinstance(problem, (_Throttled, Unanswered, _NotReached))
                    or attempt == ATTEMPTS - 1
                ):
                    raise _final(problem) from error
                self._back_off(attempt)
        raise AssertionError("unreachable")

    def call(self, service: str, operation: str, token: str = "", **arguments: Any) -> Any:
        """A change. With `token`, the argument that carries one, it may be repeated; without, a
        lost answer is Unanswered."""
        call = f"{service}.{operation}"
        facts: dict[str, Any] = {"call": call, "subject": self.subject}
        if token:
            facts["token"] = arguments[token] = (
                self.journal.token(self.subject, call) if self.journal else _fresh()
            )
        try:
            with written_down(self.journal, **facts):
                return self._send(service, operation, arguments, repeatable=bool(token))
        finally:
            self.account_session.changed(service)
            self.refresh()

    def _send(
        self, service: str, operation: str, arguments: Mapping[str, Any], repeatable: bool
    ) -> Any:
        for attempt in range(ATTEMPTS):
            try:
                return self.account_session.change(service, operation, arguments)
            except _boto_errors() as error:
                problem = _problem(error, service, operation)
                may_repeat = isinstance(problem, (_Throttled, _NotReached)) or (
                    repeatable and isinstance(problem, Unanswered)
                )
                if not may_repeat or attempt == ATTEMPTS - 1:
                    raise _final(problem) from error
                self._back_off(attempt)
        raise AssertionError("unreachable")

    def _back_off(self, attempt: int) -> None:
        most = min(FIRST_BACKOFF * 2**attempt, LONGEST_BACKOFF)
        self.sleep(random.uniform(most / 2, most))
        self.refresh()


class _Throttled(Refused):
    """Not done, and may be asked again a little later."""


class _NotReached(Exception):
    """The service could not even be asked."""


def _problem(error: Exception, service: str, operation: str) -> Exception:
    """A botocore error in our own words."""
    from botocore import exceptions as boto
    from botocore.parsers import ResponseParserError

    what = f"{service}.{operation}"
    if isinstance(error, boto.ClientError):
        code = str(error.response.get("Error", {}).get("Code", ""))
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        text = f"{what}: {code}: {error.response.get('Error', {}).get('Message', '')}"
        if any(word in code for word in _THROTTLED) or any(words in text for words in _NOT_YET):
            return _Throttled(text, code)
        if "Insufficient" in code or code == "UnfulfillableCapacity":
            return Refused(text, code)  # EC2 says so with a 500, and has done nothing
        if status >= 500 and status != 501:
            return Unanswered(text)
        if any(word in code for word in _DENIED):
            text += "; the permissions needed are in docs/aws-permissions.md"
        return Refused(
            text,
            code,
            in_use=any(word in code for word in _IN_USE),
            already=any(word in code for word in _ALREADY),
            not_found=any(word in code for word in _NOT_FOUND),
        )
    if isinstance(error, (boto.EndpointConnectionError, boto.ConnectTimeoutError)):
        return _NotReached(f"{what}: AWS does not answer: {error}")
    if isinstance(error, (boto.ConnectionClosedError, boto.ReadTimeoutError, boto.HTTPClientError)):
        return Unanswered(f"{what}: no answer: {error}")
    if isinstance(
        error,
        (
            boto.NoCredentialsError,
            boto.PartialCredentialsError,
            boto.TokenRetrievalError,
            boto.UnauthorizedSSOTokenError,
            boto.CredentialRetrievalError,
        ),
    ):
        return BadInput(
            f"AWS credentials are missing or expired: {error};"
            ' log in (for example "aws sso login") or set aws_profile in the inventory'
        )
    if isinstance(error, ResponseParserError):
        return unreadable(service, operation, error)
    if isinstance(error, boto.ParamValidationError):
        return Refused(f"{what}: {error}", "ParamValidation")
    return Refused(f"{what}: {error}", type(error).__name__)


def _answered(client: Any, operation: str, reads: bool, call: Callable[[], Any]) -> Any:
    """Where every call passes: what botocore stumbles over in an answer is the answer's fault."""
    try:
        answer = call()
    except Exception as error:
        if isinstance(error, (*_boto_errors(), PlayrunnerError)):
            raise
        raise unreadable(client.meta.service_model.service_name, operation, error) from error
    return checked(client, operation, answer, reads=reads)


def _boto_errors() -> tuple[type[Exception], ...]:
    """What botocore raises; looked up when something was raised, so that the library loads with the
    first call only."""
    from botocore.exceptions import BotoCoreError, ClientError

    return BotoCoreError, ClientError


def _final(problem: Exception) -> Exception:
    return HostUnreachable(str(problem)) if isinstance(problem, _NotReached) else problem


def _fresh() -> str:
    import uuid

    return uuid.uuid4().hex
