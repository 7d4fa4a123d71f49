"""gcp.artifact_repository: a place for images."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from playrunner.cloud.resource import HoldsData
from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.modules.gcp._base import GcpModule, with_marks

if TYPE_CHECKING:
    from playrunner.run.context import Context


class ArtifactRepository(GcpModule):
    """One repository of Artifact Registry."""

    identity: ClassVar[tuple[str, ...]] = ("name", "location")

    name: str  # small letters, digits and dashes
    location: str = ""  # a region, or us, europe, asia; by default the inventory's region
    format: Literal["DOCKER", "PYTHON", "GENERIC"] = "DOCKER"  # what it holds; fixed
    description: str = ""  # in words
    immutable_tags: bool = False  # a tag that was pushed can not be pushed again
    labels: dict[str, str] = {}  # more labels, beside the owner's
    # When it is deleted, its images go with it; otherwise only an empty one is deleted
    empty_on_delete: bool = False

    def observe(self, ctx: Context) -> State | None:
        repository = ctx.gcp.read("artifactregistry", self._path(ctx))
        if not repository:
            return None
        parts = str(repository["name"]).split("/")
        uri = repository.get("registryUri") or f"{parts[3]}-docker.pkg.dev/{parts[1]}/{parts[5]}"
        docker = repository.get("dockerConfig") or {}
        return {
            **repository,
            "labels": repository.get("labels") or {},
            "description": repository.get("description") or "",
            "uri": uri,
            "immutableTags": bool(docker.get("immutableTags")),
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        if current is not None and current["format"] != self.format:
            raise Failed(
                f"repository {self.name} holds {current['format']} and cannot hold {self.format};"
                " give the new one another name, or delete this one first"
            )
        return {
            "format": self.format,
            "description": self.description,
            "labels": dict(self.labels),
            **({"immutableTags": self.immutable_tags} if self.format == "DOCKER" else {}),
        }

    def apply(self, ctx: Context, change: Change) -> None:
        path = self._path(ctx)
        if change.removes:
            if not self.empty_on_delete and ctx.gcp.listing(
                "artifactregistry", f"{path}/dockerImages", "dockerImages"
            ):
                raise HoldsData(
                    f"the repository {self.name} holds images; set empty_on_delete: true to delete"
                    " them with it"
                )
            begun = ctx.gcp.call("DELETE", "artifactregistry", path)
            ctx.gcp.finished("artifactregistry", begun)
            return
        body: State = {"description": self.description, "labels": with_marks(ctx, change, "labels")}
        if self.format == "DOCKER":
            body["dockerConfig"] = {"immutableTags": self.immutable_tags}
        if change.creates:
            begun = ctx.gcp.call(
                "POST",
                "artifactregistry",
                path.rpartition("/")[0],
                {"format": self.format, **body},
                repositoryId=self.name,
            )
            ctx.gcp.finished("artifactregistry", begun)
        else:
            ctx.gcp.call("PATCH", "artifactregistry", path, body, updateMask=",".join(body))

    def label(self, state: State) -> str:
        return str(state.get("uri", self.name))

    def _path(self, ctx: Context) -> str:
        location = self.location or ctx.gcp.region
        return f"projects/{ctx.gcp.project}/locations/{location}/repositories/{self.name}"
