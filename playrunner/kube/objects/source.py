"""Where manifests come from: a template, a file, the playbook itself, or a pinned address."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any, Protocol

from playrunner import project
from playrunner.cloud.extras import packages_of
from playrunner.errors import (
    BadInput,
    NotYet,
    Place,
    PlayrunnerError,
    TemplateFailed,
    UndefinedVariable,
)
from playrunner.hostside.module import Failed
from playrunner.kube.objects.manifest import Manifest, Source, inline, parse
from playrunner.text import atomic_write
from playrunner.text.documents import read_text

FOLDER = "manifests"
MOST_BYTES = 32 << 20


class FileFinder(Protocol):
    """A step's context: it knows the role's and playbook's folders and the step's variables."""

    def find(self, path: str, folder: str) -> Path: ...
    def render_file(self, path: Path) -> str: ...


def from_template(ctx: FileFinder, name: str) -> list[Manifest]:
    file = _find(ctx, name)
    text = read_text(file)
    try:
        rendered = ctx.render_file(file)
    except (NotYet, TemplateFailed):
        raise  # a value that is not known yet is no fault of the template
    except UndefinedVariable as error:
        place = Place(str(file), _line_that_reads(text, error.name))
        raise UndefinedVariable(f"{place}: {error}", error.name) from None
    except BadInput as error:
        raise BadInput(error.message, error.place or Place(str(file))) from None
    except PlayrunnerError as error:
        raise type(error)(f"{file}: {error}") from None
    return parse(Source(rendered, str(file), text))


def from_file(ctx: FileFinder, name: str) -> list[Manifest]:
    file = _find(ctx, name)
    return parse(Source(read_text(file), str(file)))


def from_playbook(definition: Any) -> list[Manifest]:
    return (
        parse(Source(str(definition), "definition"))
        if isinstance(definition, str)
        else inline(definition)
    )


def from_address(url: str, sha256: str) -> list[Manifest]:
    """A text that was fetched once and is known by its hash; another text than that is refused."""
    pinned = sha256.lower().removeprefix("sha256:")
    folder = (
        Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "playrunner" / FOLDER
    )
    cached = folder / pinned
    if cached.is_file() and hashlib.sha256(cached.read_bytes()).hexdigest() == pinned:
        return parse(Source(cached.read_text(), url))
    data = _fetch(url)
    fetched = hashlib.sha256(data).hexdigest()
    if fetched != pinned:
        raise Failed(
            f"{url} is not what was pinned: its sha256 is {fetched}, not {pinned}; read what"
            " changed before you pin it"
        )
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write.write_bytes(cached, data)
    return parse(Source(data.decode(), url))


def _fetch(url: str) -> bytes:
    with packages_of("k8s", "manifests from the internet need urllib3"):
        import urllib3

    try:
        again = urllib3.Retry(3, redirect=5)
        answer = urllib3.PoolManager().request(
            "GET", url, timeout=60, retries=again, preload_content=False
        )
        data = bytes(answer.read(MOST_BYTES + 1))
    except urllib3.exceptions.HTTPError as error:
        raise Failed(f"{url} cannot be fetched: {error}") from None
    if answer.status != 200:
        raise Failed(f"{url} cannot be fetched: status {answer.status}")
    if len(data) > MOST_BYTES:
        raise Failed(f"{url} is larger than {MOST_BYTES >> 20} MiB")
    return data


def _find(ctx: FileFinder, name: str) -> Path:
    """Beside the role or playbook, or in manifests/ of the project or the package."""
    try:
        return ctx.find(name, FOLDER)
    except BadInput:
        file = project.find(FOLDER, name)
        if file is None:
            raise
        return file


def _line_that_reads(template: str, name: str) -> int:
    """The first line with a template that reads this name; 0 when there is none."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    for number, line in enumerate(template.splitlines(), 1):
        if name and word.search(line) and ("{{" in line or "{%" in line):
            return number
    return 0
