"""The projects of an inventory file: its credentials, and the instances and disks in each."""

from __future__ import annotations

import json
import os
from typing import Any

from playrunner.cloud.extras import packages_of
from playrunner.errors import BadInput
from playrunner.gcp import credentials
from playrunner.gcp.client import Gcp
from playrunner.gcp.project import Project
from playrunner.gcp.settings import GcpSettings
from playrunner.inventory_plugins.plugin_options import PluginOptions
from playrunner.text.answers import MOST_PAGES, BadAnswer

ACCOUNT_OPTIONS = (
    "access_token",
    "auth_kind",
    "endpoint_url",  # ours: one address for all services, instead of Google's
    "folders",
    "projects",
    "scopes",
    "service_account_contents",
    "service_account_email",
    "service_account_file",
)
KINDS = ("application", "serviceaccount", "machineaccount", "accesstoken")
_VARIABLES = {
    "auth_kind": ("GCP_AUTH_KIND",),
    "service_account_file": ("GCP_SERVICE_ACCOUNT_FILE", "GCE_CREDENTIALS_FILE_PATH"),
    "service_account_contents": ("GCP_SERVICE_ACCOUNT_CONTENTS",),
    "service_account_email": ("GCP_SERVICE_ACCOUNT_EMAIL",),
    "access_token": ("GCP_ACCESS_TOKEN",),
}


class GcpProjects:
    """What the projects of one inventory file hold."""

    def __init__(self, options: PluginOptions) -> None:
        self._options = options
        self._given = _credentials(options)
        self._settings = GcpSettings(
            credentials_file="" if self._given else _account_file(options),
            endpoint_url=options.text("endpoint_url"),
        )

    def names(self) -> list[str]:
        """The projects named, and those in the folders named."""
        in_folders = [
            str(project["projectId"])
            for folder in self._options.texts("folders")
            for project in self._client("").listing(
                "cloudresourcemanager", "projects", "projects", filter=f"parent.id = {folder}"
            )
        ]
        projects = [*self._options.texts("projects"), *in_folders]
        if not projects:
            raise BadInput("no project is named; give projects or folders")
        return projects

    def instances(self, project: str, query: str) -> dict[str, list[Any]]:
        """The instances of a project by their zones."""
        return self._by_zone(project, "instances", query)

    def images(self, project: str) -> dict[str, str]:
        """The image of each disk, by the disk's address."""
        disks = self._by_zone(project, "disks", "")
        return {
            str(disk["selfLink"]): str(disk.get("sourceImage") or disk["selfLink"]).split("/")[-1]
            for zone in disks.values()
            for disk in zone
        }

    def _by_zone(self, project: str, kind: str, query: str) -> dict[str, list[Any]]:
        """An aggregated list: pages of mappings by zone, not of items."""
        client, path = self._client(project), f"projects/{project}/aggregated/{kind}"
        asked: dict[str, Any] = {"maxResults": 500, **({"filter": query} if query else {})}
        zones: dict[str, list[Any]] = {}
        for _ in range(MOST_PAGES):
            page = client.read("compute", path, **asked) or {}
            for name, entry in _mapping(page.get("items"), path).items():
                items = _mapping(entry, path).get(kind) or []
                zones.setdefault(str(name).removeprefix("zones/"), []).extend(items)
            token = page.get("nextPageToken")
            if not token:
                return zones
            asked["pageToken"] = token
        raise BadAnswer(f"compute ({path}) answered {MOST_PAGES} pages of a list without an end")

    def _client(self, project: str) -> Gcp:
        settings = GcpSettings(
            project=project,
            credentials_file=self._settings.credentials_file,
            endpoint_url=self._settings.endpoint_url,
        )
        return Gcp(_GivenProject(settings, self._given))


class _GivenProject(Project):
    """A project opened with credentials that the inventory file gives."""

    def __init__(self, settings: GcpSettings, given: Any) -> None:
        super().__init__(settings)
        self._given = given

    def find_credentials(self) -> tuple[Any, str]:
        return (self._given, "") if self._given else super().find_credentials()


def option(options: PluginOptions, name: str) -> str:
    """An option, or the variable that stands for it where the file leaves it out."""
    variables = (os.environ.get(variable, "") for variable in _VARIABLES.get(name, ()))
    return options.text(name) or next(filter(None, variables), "")


def _account_file(options: PluginOptions) -> str:
    kind = option(options, "auth_kind") or KINDS[0]
    if kind not in KINDS:
        raise BadInput(f"auth_kind is one of {', '.join(KINDS)}, not {kind!r:.60}")
    if kind != "serviceaccount":
        return ""
    file = option(options, "service_account_file")
    if not file:
        raise BadInput(
            "auth_kind: serviceaccount needs service_account_file or service_account_contents",
            options.place("auth_kind"),
        )
    return os.path.expanduser(file)


def _credentials(options: PluginOptions) -> Any:
    """Credentials of google-auth that are not in a file; nothing where they are."""
    kind = option(options, "auth_kind")
    contents = option(options, "service_account_contents")
    token = option(options, "access_token")
    if kind == "accesstoken" and not token:
        raise BadInput("auth_kind: accesstoken needs access_token", options.place("auth_kind"))
    wanted = kind in ("accesstoken", "machineaccount") or (kind == "serviceaccount" and contents)
    if not wanted:
        return None
    with packages_of("gcp", "Google Cloud needs google-auth and requests"):
        from google.auth import compute_engine
        from google.oauth2 import credentials as tokens
        from google.oauth2 import service_account
    if kind == "accesstoken":
        return tokens.Credentials(token)  # type: ignore[no-untyped-call]
    if kind == "machineaccount":
        email = option(options, "service_account_email") or "default"
        return compute_engine.Credentials(email)  # type: ignore[no-untyped-call]
    try:
        return service_account.Credentials.from_service_account_info(  # type: ignore[no-untyped-call]
            json.loads(contents), scopes=options.texts("scopes") or credentials.SCOPES
        )
    except ValueError:
        raise BadInput(
            "service_account_contents is not the JSON of a service account's file",
            options.place("service_account_contents"),
        ) from None


def _mapping(value: Any, path: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadAnswer(f"compute ({path}) answered no mapping of zones")
    return value
