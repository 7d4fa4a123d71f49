"""Projects, and which APIs are enabled in them."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.gcp import operations
from playrunner.sandbox.gcp.gcp_state import PROJECT_NUMBER, now
from playrunner.sandbox.gcp.messages import Call, GcpError

NAMES = (
    "compute",
    "container",
    "storage",
    "artifactregistry",
    "serviceusage",
    "cloudresourcemanager",
    "iamcredentials",
)
# These need no permission: without them nothing could be enabled.
ALWAYS = ("serviceusage", "cloudresourcemanager", "oauth2", "iamcredentials", "unknown")


def refuse_disabled(call: Call) -> None:
    """No project, or an API that is not enabled in it."""
    project = call.project or call.request.query.get("project", "")
    if project and project not in call.state.settings.projects:
        raise GcpError(
            403,
            f"Permission denied on resource project {project}.",
            details=[_info("CONSUMER_INVALID", project)],
        )
    host = f"{call.service}.googleapis.com"
    if call.service not in ALWAYS and host in call.state.settings.disabled_services:
        raise GcpError(
            403,
            f"{host} has not been used in project {project} before or it is disabled. Enable it by"
            " visiting"
            f" https://console.developers.google.com/apis/api/{host}/overview?project={project}"
            " then retry.",
            reason="accessNotConfigured",
            details=[_info("SERVICE_DISABLED", project, service=host)],
        )


def listing(call: Call) -> dict[str, Any]:
    found = [_service(call, f"{name}.googleapis.com") for name in NAMES]
    if "ENABLED" in call.request.query.get("filter", ""):
        found = [one for one in found if one["state"] == "ENABLED"]
    return {"services": found}


def get(call: Call) -> dict[str, Any]:
    return _service(call, call.at["name"])


def enable(call: Call) -> dict[str, Any]:
    def finish() -> dict[str, Any]:
        off = call.state.settings.disabled_services
        off[:] = [name for name in off if name != call.at["name"]]
        return {"service": _service(call, call.at["name"])}

    return operations.long_running(call, "serviceusage.service", finish)


def project(call: Call) -> dict[str, Any]:
    return {
        "projectId": call.project,
        "projectNumber": PROJECT_NUMBER,
        "name": call.project,
        "lifecycleState": "ACTIVE",
        "createTime": now(),
    }


def _service(call: Call, name: str) -> dict[str, Any]:
    state = "DISABLED" if name in call.state.settings.disabled_services else "ENABLED"
    return {
        "name": f"projects/{PROJECT_NUMBER}/services/{name}",
        "config": {"name": name},
        "state": state,
        "parent": f"projects/{PROJECT_NUMBER}",
    }


def _info(reason: str, project: str, **more: str) -> dict[str, Any]:
    return {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason,
        "domain": "googleapis.com",
        "metadata": {"consumer": f"projects/{project}", **more},
    }
