"""Credentials: application-default ones, a service account's file, or another service account in
their name."""

from __future__ import annotations

from typing import Any

from playrunner.cloud.extras import packages_of
from playrunner.errors import BadInput
from playrunner.gcp.settings import GcpSettings

SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
LOG_IN = (
    'log in with "gcloud auth application-default login", or set gcp_credentials_file in the'
    " inventory"
)


def find(settings: GcpSettings) -> tuple[Any, str]:
    """Credentials of google-auth, and the project that they know of themselves."""
    google = _loaded()
    try:
        if settings.credentials_file:
            credentials = _account(settings.credentials_file)
            project = credentials.project_id
        else:
            credentials, project = google.default(scopes=SCOPES)
    except google.exceptions.DefaultCredentialsError as error:
        raise BadInput(f"Google Cloud credentials are missing: {_first(error)}; {LOG_IN}") from None
    except (OSError, ValueError, google.exceptions.GoogleAuthError) as error:
        raise BadInput(
            f"Google Cloud credentials cannot be read: {_first(error)}; {LOG_IN}"
        ) from None
    if settings.impersonate:
        credentials = _in_the_name_of(settings, credentials)
    return credentials, str(project or "")


def _account(file: str) -> Any:
    from google.oauth2.service_account import Credentials

    return Credentials.from_service_account_file(file, scopes=SCOPES)  # type: ignore[no-untyped-call]


def _in_the_name_of(settings: GcpSettings, source: Any) -> Any:
    from google.auth import impersonated_credentials

    from playrunner.gcp.addresses import address

    endpoint = ""
    if settings.endpoint_url:
        path = f"projects/-/serviceAccounts/{settings.impersonate}:generateAccessToken"
        endpoint = address("iamcredentials", path, settings.endpoint_url)
    return impersonated_credentials.Credentials(  # type: ignore[no-untyped-call]
        source_credentials=source,
        target_principal=settings.impersonate,
        target_scopes=list(SCOPES),
        iam_endpoint_override=endpoint or None,
    )


def _loaded() -> Any:
    with packages_of("gcp", "Google Cloud needs google-auth and requests"):
        import google.auth
        import google.auth.exceptions
        import requests  # noqa: F401 - whoever asks for credentials sends them with it

    return google.auth


def _first(error: Exception) -> str:
    return (
        str(error).strip().splitlines()[0].rstrip(".")
        if str(error).strip()
        else type(error).__name__
    )
