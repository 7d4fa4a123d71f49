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
from typing import Any

from playrunner.hostside.module import Failed
from playrunner.images import context, logins
from playrunner.images.build_host import Tell
from playrunner.images.logins import Login
from playrunner.images.platform import ARCHITECTURE, PLATFORM
from playrunner.images.recipe import Recipe
from playrunner.images.settings import ImageSettings
from playrunner.text.documents import parse_yaml_all

TEMPLATE = Path(__file__).parents[2] / "manifests" / "nccl_image" / "build.yaml.j2"
BUILD_SECONDS = 7200
MOST_BYTES = 900_000  # an object of a cluster holds 1 MiB in all
_ARGUMENTS = {"buildkit": ("--opt", "build-arg:{}={}"), "kaniko": ("--build-arg={}={}",)}
_LABELS = {"buildkit": ("--opt", "label:{}={}"), "kaniko": ("--label={}={}",)}


def build_in_cluster(
    ctx: Any, recipe: Recipe, settings: ImageSettings, found: Mapping[str, Login], tell: Tell
) -> None:
    """Build and push it there; ends when the Job has, and takes everything away again."""
    from playrunner.kube.objects.applyset import Live
    from playrunner.kube.objects.compare import CLUSTER, SET, marked
    from playrunner.kube.objects.wait import wait_ready

    kube, home = ctx.kube, str(ctx.kube.namespace)
    made: list[Live] = []
    try:
        for body in objects(recipe, settings, found, home):
            labels = {CLUSTER: ctx.owner.cluster, SET: body["metadata"]["name"]}
            resource = kube.known(body["apiVersion"], body["kind"])
            made.append(
                Live(resource, kube.apply(resource, marked(body, labels, ctx.owner.run, home)))
            )
        tell(f"{made[-1].title} builds {recipe.reference}")
        wait_ready(kube, made[-1:], BUILD_SECONDS, ctx.progress)
    finally:
        for line in _said(kube, home, made):
            tell(line)
        for one in reversed(made):
            kube.delete(one.resource, one.namespace, one.name)


def objects(
    recipe: Recipe, settings: ImageSettings, found: Mapping[str, Login], namespace: str
) -> list[dict[str, Any]]:
    """The ConfigMap, the Secret and the Job, as they are applied."""
    from jinja2 import Environment, StrictUndefined

    kind = settings.cluster_builder
    if kind not in _ARGUMENTS:
        raise Failed(f'image_cluster_builder is "{kind}"; it takes {", ".join(_ARGUMENTS)}')
    if not TEMPLATE.is_file():
        raise Failed(
            f"{TEMPLATE} is not there: building in the cluster needs a checkout of the project"
        )
    if not settings.cluster_image:
        raise Failed(
            f"image_cluster_image is not set: the image of {kind}, as in manifests/versions.yaml"
        )
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    text = environment.from_string(TEMPLATE.read_text()).render(
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
        logins=_coded(logins.only(found).encode()),
    )
    return parse_yaml_all(text, str(TEMPLATE), plain=True)


def _words(pattern: Sequence[str], values: Mapping[str, str]) -> list[str]:
    return [word.format(name, value) for name, value in sorted(values.items()) for word in pattern]


def _packed(recipe: Recipe) -> bytes:
    with tempfile.TemporaryDirectory(prefix="playrunner-image-") as scrap:
        context.lay_out(Path(scrap), recipe.dockerfile, recipe.pieces())
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


def _said(kube: Any, namespace: str, made: Sequence[Any]) -> list[str]:
    """What the Job's pods have written, as far as they can still be asked."""
    from playrunner.kube.client.errors import KubeError
    from playrunner.kube.watch.explain import PODS

    lines = list[str]()
    for job in (one for one in made if one.kind == "Job"):
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
