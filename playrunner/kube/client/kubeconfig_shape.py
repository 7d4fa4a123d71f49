"""The shape of a kubeconfig: every field that is read has its type, or the complaint names file and
line."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playrunner.errors import BadInput, Place
from playrunner.text.answers import Shape
from playrunner.text.documents import Located, parse_yaml, read_text

_EXEC: Shape = {
    "command!": str,
    "args": [str],
    "env": [{"name!": str, "value!": str}],
    "apiVersion": str,
    "installHint": str,
    "provideClusterInfo": bool,
}
_CLUSTER: Shape = {
    "server": str,
    "certificate-authority": str,
    "certificate-authority-data": str,
    "tls-server-name": str,
    "proxy-url": str,
    "insecure-skip-tls-verify": bool,
}
_USER: Shape = {
    "client-certificate": str,
    "client-certificate-data": str,
    "client-key": str,
    "client-key-data": str,
    "token": str,
    "tokenFile": str,
    "username": str,
    "password": str,
    "exec": _EXEC,
    "auth-provider": dict,
}
_CONTEXT: Shape = {"cluster": str, "user": str, "namespace": str}
KUBECONFIG: Shape = {
    "current-context": str,
    "clusters": [{"name!": str, "cluster": _CLUSTER}],
    "users": [{"name!": str, "user": _USER}],
    "contexts": [{"name!": str, "context": _CONTEXT}],
}
REMEDY = (
    'correct it, or write it again ("aws eks update-kubeconfig", "gcloud container clusters'
    ' get-credentials")'
)
_NAMES = {dict: "a mapping", list: "a list", str: "text", bool: "true or false"}


def read(file: Path) -> Located:
    """A kubeconfig that has the shape of one; an empty file is one without contexts."""
    text = read_text(file)
    content = parse_yaml(text, str(file))
    if content is None:
        content = Located()
        content.file, content.key_lines = str(file), {}
    if not isinstance(content, Located):
        raise BadInput(
            f"is not a kubeconfig, which is a mapping with clusters, users and contexts; {REMEDY}",
            Place(str(file), 1),
        )
    _check(content, KUBECONFIG, "", Place(str(file), 1))
    return content


def _check(value: Any, shape: Shape, path: str, place: Place) -> None:
    kind = shape if isinstance(shape, type) else type(shape)
    # As kubectl has it, a number where text is meant is the text of that number.
    fits = isinstance(value, (str, int, float)) if kind is str else isinstance(value, kind)
    if not fits:
        raise BadInput(f"{path} is not {_NAMES[kind]}, as in every kubeconfig; {REMEDY}", place)
    if isinstance(shape, list):
        for index, item in enumerate(value):
            _check(
                item,
                shape[0],
                f"{path}[{index}]",
                Place(place.file, getattr(item, "line", 0) or place.line),
            )
    elif isinstance(shape, dict):
        _check_fields(value, shape, path, place)


def _check_fields(value: Any, shape: dict[str, Shape], path: str, place: Place) -> None:
    for name, inner in shape.items():
        field = name.rstrip("!")
        within = f"{path}.{field}" if path else field
        if value.get(field) is not None:
            _check(value[field], inner, within, value.place(field))
        elif field != name:
            raise BadInput(f"{path} has no {field}; {REMEDY}", place)


def address(url: str, what: str, place: Place) -> str:
    """An address that can be called: http or https, a host that can be looked up, a port that is
    one."""
    try:
        split = urlsplit(url)
        port = split.port
        (split.hostname or "").encode("idna")
    except ValueError as error:
        raise BadInput(
            f'{what} "{_shown(url)}" is no address: {error}; write it as https://HOST:PORT', place
        ) from None
    if (
        split.scheme not in ("http", "https")
        or not split.hostname
        or port == 0
        or not url.isprintable()
        or " " in url
    ):
        raise BadInput(
            f'{what} "{_shown(url)}" is no address; write it as https://HOST:PORT', place
        )
    return url.rstrip("/")


def server_name(name: str, place: Place) -> str:
    """A name that a certificate can carry."""
    try:
        name.encode("idna")
    except ValueError:
        raise BadInput("tls-server-name is no name of a host", place) from None
    if name.startswith(".") or not name.isprintable():
        raise BadInput("tls-server-name is no name of a host", place)
    return name


def header(value: str, what: str, place: Place) -> str:
    """A token or password, which travels in a header: no character ends that early."""
    if not (value.isascii() and value.isprintable()):
        raise BadInput(
            f"{what} holds characters that no token has (a line end, a control character, a letter"
            " beyond ASCII)",
            place,
        )
    return value


def _shown(url: str) -> str:
    """Without a password that may be in it."""
    start, found, rest = url.partition("@")
    return ascii(rest if found else start)[1:-1]
