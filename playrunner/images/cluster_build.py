"""Building in the cluster: a Job of BuildKit or Kaniko, for operators whose own machine cannot
build; nothing of it stays."""

from __future__ import annotations

import base64
import gzip
import io
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from playrunner import project
from playrunner.hostside.module import Failed
from playrunner.images import context, logins
from playrunner.images.build_host import LogLine
from playrunner.images.logins import Login
from playrunner.images.platform import ARCHITECTURE, PLATFORM
from playrunner.images.recipe import Recipe
from playrunner.images.settings import ImageSettings
from playrunner.text.documents import parse_yaml_all

if TYPE_CHECKING:
    from playrunner.cloud.owner import Owner
    from playrunner.kube.client.client import Kube
    from playrunner.kube.objects.set_objects import LiveObject

TEMPLATE = "nccl_image/build.yaml.j2"  # of manifests/
BUILD_SECONDS = 7200
MOST_BYTES = 900_000  # an object of a cluster holds 1 MiB in all
_ARGUMENTS = {"buildkit": ("--opt", "build-arg:{}={}"), "kaniko": ("--build-arg={}={}",)}
_LABELS = {"buildkit": ("--opt", "label:{}={}"), "kaniko": ("--label={}={}",)}


class ClusterContext(Protocol):
    """What a build needs of a step's context."""

    @property
    def kube(self) -> Kube: ...

    @property
    def owner(self) -> Owner: ...

    def progress(self, text: str, /) -> None: ...


def build_in_cluster(
    ctx: ClusterContext,
    recipe: Recipe,
    settings: ImageSettings,
    logins_by_registry: Mapping[str, Login],
    log: LogLine,
) -> None:
    """Build and push it there; ends with the Job, and deletes all its objects."""
    from playrunner.kube.objects.compare import CLUSTER, SET, marked
    from playrunner.kube.objects.set_objects import LiveObject
    from playrunner.kube.objects.wait import wait_ready

    kube, home = ctx.kube, ctx.kube.namespace
    made: list[LiveObject] = []
    try:
        for body in objects(recipe, settings, logins_by_registry, home):
            labels = {CLUSTER: ctx.owner.cluster, SET: body["metadata"]["name"]}
            resource = kube.known(body["apiVersion"], body["kind"])
            made.append(
                LiveObject(
                    resource, kube.apply(resource, marked(body, labels, ctx.owner.run, home))
                )
            )
        log(f"{made[-1].title} builds {recipe.reference}")
        wait_ready(kube, made[-1:], BUILD_SECONDS, ctx.progress)
    finally:
        for line in _job_logs(kube, home, made):
            log(line)
        for live in reversed(made):
            kube.delete(live.resource, live.namespace, live.name)


def objects(
    recipe: Recipe, settings: ImageSettings, logins_by_registry: Mapping[str, Login], namespace: str
) -> list[dict[str, Any]]:
    """The ConfigMap, the Secret and the Job, as they are applied."""
    from jinja2 import Environment, StrictUndefined

    kind = settings.cluster_builder
    if kind not in _ARGUMENTS:
        raise Failed(f'image_cluster_builder is "{kind}"; it takes {", ".join(_ARGUMENTS)}')
    template = project.find("manifests", TEMPLATE)
    if template is None:
        raise Failed(f"manifests/{TEMPLATE} is neither in this project nor in the package")
    if not settings.cluster_image:
        raise Failed(
            f"image_cluster_image is not set: the image of {kind}, as in manifests/versions.yaml"
        )
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    text = environment.from_string(template.read_text()).render(
        name=f"build-{recipe.reference.tag}".lower().replace("_", "-").replace(".", "-")[:63],
        namespace=namespace,
        builder=kind,
        image=settings.cluster_image,
        service_account=settings.cluster_service_account,
        seconds=BUILD_SECONDS,
        architecture=ARCHITECTURE,
        platform=PLATFORM,
        reference=str(recipe.reference),
        plain_http=settings.plain_http or recipe.reference.loopback,
        options=[
            *_words(_ARGUMENTS[kind], recipe.build_args),
            *_words(_LABELS[kind], recipe.labels),
        ],
        context=_coded(_packed(recipe)),
        logins=_coded(logins.only(logins_by_registry).encode()),
    )
    return parse_yaml_all(text, str(template), plain=True)


def _words(pattern: Sequence[str], values: Mapping[str, str]) -> list[str]:
    return [word.format(name, value) for name, value in sorted(values.items()) for word in pattern]


def _packed(recipe: Recipe) -> bytes:
    with tempfile.TemporaryDirectory(prefix="playrunner-image-") as scrap:
        context.lay_out(Path(scrap), recipe.dockerfile, recipe.files())
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            for path in sorted(Path(scrap).rglob("*")):
                archive.add(path, str(path.relative_to(scrap)), recursive=False)
    packed = gzip.compress(out.getvalue(), mtime=0)
    if len(packed) > MOST_BYTES:
        raise Failed(
            f"what goes into {recipe.name} is {len(packed) >> 10} KiB, and a ConfigMap holds"
            f" {MOST_BYTES >> 10}: build it on a host of the inventory (image_builder_host), or"
            " mount large files where the image runs"
        )
    return packed


def _coded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _job_logs(kube: Kube, namespace: str, made: Sequence[LiveObject]) -> list[str]:
    """The logs of the Job's pods, as far as they can still be read."""
    from playrunner.kube.client.errors import KubeError
    from playrunner.kube.watch.explain import PODS

    lines = list[str]()
    for job in (live for live in made if live.kind == "Job"):
        kube.refresh()
        for pod in kube.listing(PODS, namespace, f"job={job.name}").items:
            try:
                lines += str(
                    kube.text(
                        f"{PODS.path(namespace, pod['metadata']['name'])}/log", container="build"
                    )
                ).splitlines()
            except KubeError as error:
                lines.append(f"the log of {pod['metadata']['name']} cannot be read: {error}")
    return lines
