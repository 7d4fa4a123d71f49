"""Where manifests come from: a template, a file, the playbook itself, or a pinned address."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, NotYet, Place, PlayrunnerError, UndefinedVariable
from playrunner.hostside.module import Failed
from playrunner.kube.objects.manifest import Manifest, Source, inline, parse
from playrunner.text.documents import read_text

FOLDER = "manifests"
MOST_BYTES = 32 << 20
_NAME_IN_QUOTES = re.compile(r"'([\w-]+)'")


def from_template(ctx: Any, name: str) -> list[Manifest]:
    file = _find(ctx, name)
    text = read_text(file)
    try:
        rendered = ctx.render_file(file)
    except NotYet:
        raise  # nobody can know yet: not the template's fault
    except PlayrunnerError as error:
        if str(file) in str(error):
            raise
        line = _line_of(text, str(error)) if isinstance(error, UndefinedVariable) else 0
        raise type(error)(f"{Place(str(file), line)}: {error}") from None
    return parse(Source(rendered, str(file), text))


def from_file(ctx: Any, name: str) -> list[Manifest]:
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
    wanted = sha256.lower().removeprefix("sha256:")
    folder = (
        Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "playrunner" / FOLDER
    )
    kept = folder / wanted
    if kept.is_file() and hashlib.sha256(kept.read_bytes()).hexdigest() == wanted:
        return parse(Source(kept.read_text(), url))
    data = _fetched(url)
    found = hashlib.sha256(data).hexdigest()
    if found != wanted:
        raise Failed(
            f"{url} is not what was pinned: its sha256 is {found}, not {wanted}; read what changed"
            " before you pin it"
        )
    folder.mkdir(parents=True, exist_ok=True)
    scrap = folder / f".{wanted}.{os.getpid()}"
    scrap.write_bytes(data)
    scrap.replace(kept)
    return parse(Source(data.decode(), url))


def _fetched(url: str) -> bytes:
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


def _find(ctx: Any, name: str) -> Path:
    """Beside the role or playbook, or in manifests/ where the program was started."""
    try:
        return Path(ctx.find(name, FOLDER))
    except BadInput:
        here = Path(FOLDER) / name
        if here.is_file():
            return here
        raise


def _line_of(template: str, message: str) -> int:
    """The line that reads the name a message speaks of."""
    found = _NAME_IN_QUOTES.search(message)
    if not found:
        return 0
    word = re.compile(rf"\b{re.escape(found[1])}\b")
    inside = [
        number
        for number, line in enumerate(template.splitlines(), 1)
        if word.search(line) and ("{{" in line or "{%" in line)
    ]
    return inside[0] if inside else 0
