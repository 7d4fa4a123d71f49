"""botocore's errors as our own, with what to do about them."""

from __future__ import annotations

from typing import Any

from playrunner.aws.answers import unreadable
from playrunner.aws.permission_names import permission
from playrunner.cloud.resource import Refused, Unanswered
from playrunner.errors import HostUnreachable, RunRefused

_THROTTLED = (
    "Throttl",
    "TooManyRequests",
    "RequestLimitExceeded",
    "SlowDown",
    "PriorRequestNotComplete",
    "BandwidthLimit",
)
# A role or instance profile created seconds ago is not known everywhere yet; the call has done
# nothing.
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
_USED_TOKEN = ("IdempotentParameterMismatch", "IncompatibleParameter")
_NOT_FOUND = ("NotFound", "NoSuch", ".Malformed")
# S3 gives a HEAD that is denied no code but the status.
_DENIED = ("AccessDenied", "UnauthorizedOperation", "OptInRequired", "403", "Forbidden")
# The credentials themselves, whatever they may do.
_EXPIRED = ("ExpiredToken", "RequestExpired", "TokenRefreshRequired")
_NOT_VALID = (
    "AuthFailure",
    "InvalidClientTokenId",
    "InvalidAccessKeyId",
    "UnrecognizedClient",
    "SignatureDoesNotMatch",
    "InvalidSignature",
)
_LOG_IN = 'log in (for example "aws sso login") or set aws_profile in the inventory'


class Throttled(Refused):
    """Not done; may be sent again a little later."""


class NotReached(Exception):
    """The service could not be reached: the call was not done."""


def problem(error: Exception, service: str, operation: str) -> Exception:
    """A botocore error as one of ours."""
    from botocore import exceptions as boto
    from botocore.parsers import ResponseParserError

    what = f"{service}.{operation}"
    if isinstance(error, boto.ClientError):
        return _refusal(error, service, what)
    if isinstance(error, (boto.EndpointConnectionError, boto.ConnectTimeoutError)):
        return NotReached(f"{what}: AWS does not answer: {error}")
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
        return RunRefused(f"AWS credentials are missing or expired: {error}; {_LOG_IN}")
    if isinstance(error, ResponseParserError):
        return unreadable(service, operation, error)
    if isinstance(error, boto.ParamValidationError):
        return Refused(f"{what}: {error}", "ParamValidation")
    return Refused(f"{what}: {error}", type(error).__name__)


def _refusal(error: Any, service: str, what: str) -> Exception:
    """What a service answered instead of doing it."""
    code = str(error.response.get("Error", {}).get("Code", ""))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    text = f"{what}: {code}: {error.response.get('Error', {}).get('Message', '')}"
    if any(word in code for word in _THROTTLED) or any(words in text for words in _NOT_YET):
        return Throttled(text, code)
    if "Insufficient" in code or code == "UnfulfillableCapacity":
        return Refused(text, code)  # EC2 says so with a 500, and has done nothing
    if status >= 500 and status != 501:
        return Unanswered(text)
    for words, state in ((_EXPIRED, "have expired"), (_NOT_VALID, "are not valid")):
        if any(word in code for word in words):
            return RunRefused(
                f"AWS credentials {state} ({code}); {_LOG_IN}, and run this again: what was"
                " done so far is kept"
            )
    if any(word in code for word in _DENIED):
        needed = permission(service, error.operation_name)
        text += f"; it needs the permission {needed} (docs/aws-permissions.md)"
    return Refused(
        text,
        code,
        in_use=any(word in code for word in _IN_USE),
        already=any(word in code for word in _ALREADY),
        not_found=any(word in code for word in _NOT_FOUND),
    )


def is_of_used_token(refusal: Refused) -> bool:
    """Whether the service has carried out another request with this idempotency token. EKS
    documents no code for that, so a message that names the token counts."""
    return any(word in refusal.code for word in _USED_TOKEN) or "token" in str(refusal).lower()


def boto_errors() -> tuple[type[Exception], ...]:
    """What botocore raises; imported late, so that the library loads with the first call only."""
    try:
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError:
        return ()  # who needs it reports that it is missing
    return BotoCoreError, ClientError


def final(error: Exception) -> Exception:
    """The error as a step sees it once there are no more attempts."""
    return HostUnreachable(str(error)) if isinstance(error, NotReached) else error
