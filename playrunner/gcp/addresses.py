"""Where each service listens: at Google, or all of them at one address (a rehearsal's)."""

from __future__ import annotations

HOSTS = {
    "container": "container.googleapis.com",
    "compute": "compute.googleapis.com",
    "storage": "storage.googleapis.com",
    "artifactregistry": "artifactregistry.googleapis.com",
    "serviceusage": "serviceusage.googleapis.com",
    "cloudresourcemanager": "cloudresourcemanager.googleapis.com",
    "iamcredentials": "iamcredentials.googleapis.com",
}
_ROOTS = {"compute": "compute/v1", "storage": "storage/v1"}


def address(service: str, path: str, endpoint_url: str = "") -> str:
    """The whole address of a path that is written as the service's own documentation has it,
    without its version."""
    base = endpoint_url.rstrip("/") or f"https://{HOSTS[service]}"
    return f"{base}/{_ROOTS.get(service, 'v1')}/{path}"
