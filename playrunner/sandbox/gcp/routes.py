"""Which path is which call, of which service, and who answers it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from playrunner.sandbox.gcp import (
    buckets,
    catalogue,
    clusters,
    disks,
    networking,
    nodes,
    operations,
    pools,
    quotas,
    repositories,
    services,
)
from playrunner.sandbox.gcp.auth import Entrance
from playrunner.sandbox.gcp.gcp_state import GcpState
from playrunner.sandbox.gcp.messages import Call, Request
from playrunner.sandbox.gcp.permissions import permission_of

Answer = Callable[[Call], Any]


@dataclass(frozen=True)
class Route:
    """One call: its method and path, its name, and its answer."""

    method: str
    path: re.Pattern[str]
    service: str
    action: str
    answer: Answer

    @property
    def mutating(self) -> bool:
        return (
            self.method != "GET" and self.service != "oauth2" and not self.action.endswith(".wait")
        )


def _route(method: str, path: str, service: str, action: str, answer: Answer) -> Route:
    named = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/:]+)", path).replace("{}", "")
    return Route(method, re.compile(named), service, action, answer)


def table(entrance: Entrance) -> list[Route]:
    return [*_container(), *_compute(), *_storage(), *_others(entrance)]


def recognised(routes: list[Route], state: GcpState, request: Request) -> tuple[Call, Route | None]:
    for route in routes:
        found = route.path.fullmatch(request.path) if route.method == request.method else None
        if found:
            at = {name: value for name, value in found.groupdict().items() if value}
            at.setdefault("location", at.get("zone") or at.get("region") or "")
            asked = permission_of(route.service, route.action, at)
            return Call(
                state, request, route.service, route.action, asked, route.mutating, at
            ), route
    return Call(state, request, mutating=request.method != "GET"), None


def _container() -> list[Route]:
    def route(method: str, path: str, action: str, answer: Answer) -> Route:
        return _route(
            method,
            rf"/v1/projects/{{project}}/(?:locations|zones)/{{location}}{path}",
            "container",
            action,
            answer,
        )

    cluster, pool = "/clusters/{cluster}", "/clusters/{cluster}/nodePools/{pool}"
    return [
        route("POST", "/clusters", "clusters.create", clusters.create),
        route("GET", "/clusters", "clusters.list", clusters.listing),
        route("GET", cluster, "clusters.get", clusters.get),
        route("DELETE", cluster, "clusters.delete", clusters.delete),
        route("PUT", cluster, "clusters.update", clusters.update),
        route(
            "POST",
            f"{cluster}:setResourceLabels",
            "clusters.setResourceLabels",
            clusters.set_labels,
        ),
        route("GET", "/serverConfig", "clusters.getServerConfig", clusters.server_config),
        route("POST", "/clusters/{cluster}/nodePools", "nodePools.create", pools.create),
        route("GET", "/clusters/{cluster}/nodePools", "nodePools.list", pools.listing),
        route("GET", pool, "nodePools.get", pools.get),
        route("DELETE", pool, "nodePools.delete", pools.delete),
        route("PUT", pool, "nodePools.update", pools.update),
        route("POST", f"{pool}:setAutoscaling", "nodePools.setAutoscaling", pools.set_autoscaling),
        route("POST", f"{pool}:setSize", "nodePools.setSize", pools.set_size),
        route("POST", f"{pool}:setManagement", "nodePools.setManagement", pools.set_management),
        route("GET", "/operations", "operations.list", operations.listing),
        route("GET", "/operations/{name}", "operations.get", operations.get),
    ]


def _compute() -> list[Route]:
    def route(method: str, path: str, action: str, answer: Answer) -> Route:
        return _route(method, rf"/compute/v1/projects/{{project}}{path}", "compute", action, answer)

    zone = "/zones/{zone}"
    routes = [
        route("GET", "/zones", "zones.list", catalogue.list_zones),
        route("GET", "/zones/{name}", "zones.get", catalogue.get_zone),
        route("GET", "/regions", "regions.list", quotas.list_regions),
        route("GET", "/regions/{name}", "regions.get", quotas.get_region),
        route("GET", f"{zone}/machineTypes", "machineTypes.list", catalogue.list_machine_types),
        route(
            "GET", f"{zone}/machineTypes/{{name}}", "machineTypes.get", catalogue.get_machine_type
        ),
        route(
            "GET", f"{zone}/acceleratorTypes", "acceleratorTypes.list", catalogue.list_accelerators
        ),
        route(
            "GET",
            "/aggregated/acceleratorTypes",
            "acceleratorTypes.aggregatedList",
            catalogue.all_accelerators,
        ),
        route("GET", "/aggregated/instances", "instances.aggregatedList", nodes.all_instances),
        route("GET", f"{zone}/instances", "instances.list", nodes.list_instances),
        route(
            "GET",
            f"{zone}/instanceGroupManagers/{{name}}",
            "instanceGroupManagers.get",
            nodes.get_group,
        ),
        route("GET", "/aggregated/disks", "disks.aggregatedList", disks.aggregated),
        route("GET", f"{zone}/disks", "disks.list", disks.listing),
        route("POST", f"{zone}/disks", "disks.insert", disks.insert),
        route("GET", f"{zone}/disks/{{name}}", "disks.get", disks.get),
        route("DELETE", f"{zone}/disks/{{name}}", "disks.delete", disks.delete),
        route("POST", f"{zone}/disks/{{name}}/resize", "disks.resize", disks.resize),
        route("POST", f"{zone}/disks/{{name}}/setLabels", "disks.setLabels", disks.set_labels),
    ]
    for place in (zone, "/regions/{region}", "/global"):
        routes += [
            route("GET", f"{place}/operations/{{name}}", "operations.get", operations.get),
            route("POST", f"{place}/operations/{{name}}/wait", "operations.wait", operations.get),
            route("GET", f"{place}/operations", "operations.list", operations.listing_compute),
        ]
    for kind, place in (
        ("firewalls", "/global"),
        ("networks", "/global"),
        ("forwardingRules", "/regions/{region}"),
        ("targetPools", "/regions/{region}"),
        ("addresses", "/regions/{region}"),
    ):
        named = f"(?P<kind>{kind})"
        routes += [
            route("GET", f"{place}/{named}", f"{kind}.list", networking.listing),
            route("POST", f"{place}/{named}", f"{kind}.insert", networking.insert),
            route("GET", f"{place}/{named}/{{name}}", f"{kind}.get", networking.get),
            route("DELETE", f"{place}/{named}/{{name}}", f"{kind}.delete", networking.delete),
            route("GET", f"/aggregated/{named}", f"{kind}.aggregatedList", networking.aggregated),
        ]
    return routes


def _storage() -> list[Route]:
    thing = r"/(?P<object>.+)"
    return [
        _route("POST", "/storage/v1/b", "storage", "buckets.create", buckets.insert),
        _route("GET", "/storage/v1/b", "storage", "buckets.list", buckets.listing),
        _route("GET", "/storage/v1/b/{name}", "storage", "buckets.get", buckets.get),
        _route("PATCH", "/storage/v1/b/{name}", "storage", "buckets.update", buckets.patch),
        _route("DELETE", "/storage/v1/b/{name}", "storage", "buckets.delete", buckets.delete),
        _route("GET", "/storage/v1/b/{name}/o", "storage", "objects.list", buckets.list_objects),
        _route(
            "POST", "/upload/storage/v1/b/{name}/o", "storage", "objects.create", buckets.upload
        ),
        _route(
            "GET", f"/storage/v1/b/{{name}}/o{thing}", "storage", "objects.get", buckets.get_object
        ),
        _route(
            "GET",
            f"/download/storage/v1/b/{{name}}/o{thing}",
            "storage",
            "objects.get",
            buckets.get_object,
        ),
        _route(
            "DELETE",
            f"/storage/v1/b/{{name}}/o{thing}",
            "storage",
            "objects.delete",
            buckets.delete_object,
        ),
    ]


def _others(entrance: Entrance) -> list[Route]:
    place = "/v1/projects/{project}/locations/{location}/repositories"
    registry, usage = "artifactregistry", "serviceusage"
    return [
        _route("POST", place, registry, "repositories.create", repositories.create),
        _route("GET", place, registry, "repositories.list", repositories.listing),
        _route("GET", f"{place}/{{name}}", registry, "repositories.get", repositories.get),
        _route("PATCH", f"{place}/{{name}}", registry, "repositories.update", repositories.patch),
        _route("DELETE", f"{place}/{{name}}", registry, "repositories.delete", repositories.delete),
        _route(
            "GET",
            f"{place}/{{name}}/dockerImages",
            registry,
            "dockerimages.list",
            repositories.list_images,
        ),
        *(
            _route(
                "GET",
                f"/{version}/projects/{{project}}/locations",
                registry,
                "locations.list",
                repositories.list_locations,
            )
            for version in ("v1", "v1beta2")  # gcloud asks for the latter
        ),
        _route("GET", "/v1/projects/{project}/services", usage, "services.list", services.listing),
        _route(
            "GET", "/v1/projects/{project}/services/{name}", usage, "services.get", services.get
        ),
        _route(
            "POST",
            "/v1/projects/{project}/services/{name}:enable",
            usage,
            "services.enable",
            services.enable,
        ),
        _route(
            "GET",
            "/v1/projects/{project}",
            "cloudresourcemanager",
            "projects.get",
            services.project,
        ),
        _route("POST", "/token", "oauth2", "token", entrance.exchange),
        _route(
            "POST",
            "/v1/projects/-/serviceAccounts/{name}:generateAccessToken",
            "oauth2",
            "generateAccessToken",
            entrance.impersonate,
        ),
    ]
