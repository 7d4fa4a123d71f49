"""Manifests: from text to objects, each with its place, so that what is wrong with one is said with
file, line and field."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import yaml

from playrunner.errors import BadInput, Place
from playrunner.frozen import frozen
from playrunner.text.answers import plain
from playrunner.text.documents import parse_yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BREAK = re.compile(r"^---(\s|$)", re.MULTILINE)


@frozen
class Source:
    """A text that holds manifests; `template` is what it was rendered from."""

    text: str
    file: str
    template: str = ""

    def place(self, line: int) -> Place:
        """Where a line of the text was written."""
        return Place(
            self.file, _line_in_template(self.template, self.text, line) if self.template else line
        )


@frozen
class Manifest:
    """One declared object."""

    body: dict[str, Any]
    source: Source | None = field(default=None, compare=False)
    line: int = 0  # where its document starts

    @property
    def api_version(self) -> str:
        return str(self.body["apiVersion"])

    @property
    def kind(self) -> str:
        return str(self.body["kind"])

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.body["metadata"].get("namespace") or "")

    @property
    def title(self) -> str:
        return title(self.body)

    def place(self, field: str = "") -> Place | None:
        """Where a field such as spec.containers[0].image was written, or the nearest of those
        around it."""
        return (
            self.source.place(_line_of(self.source.text, self.line, field)) if self.source else None
        )


def title(body: Mapping[str, Any]) -> str:
    """A short name: Deployment kube-system/efs-csi-controller."""
    meta = body.get("metadata") or {}
    where = f"{meta['namespace']}/" if meta.get("namespace") else ""
    return f"{body.get('kind')} {where}{meta.get('name')}"


def parse(source: Source) -> list[Manifest]:
    """Every object of a text, lists taken apart; empty documents are passed over."""
    manifests = []
    for line, text in _documents(source.text):
        try:
            value = parse_yaml(text, source.file, plain=True)
        except BadInput as error:
            within = error.place.line if error.place and error.place.line else 1
            raise BadInput(error.message, source.place(line + within)) from None
        if value is not None:
            manifests += _objects(value, source, line)
    return _checked(manifests)


def inline(definition: Any) -> list[Manifest]:
    """Objects written in the playbook itself. Its text carries the mark of the playbook's author,
    which an object must not: it is compared with what the API server answers, type by type."""
    listed = definition if isinstance(definition, list) else [definition]
    return _checked([body for value in plain(listed) for body in _objects(value, None, 0)])


def _objects(value: Any, source: Source | None, line: int) -> list[Manifest]:
    if (
        isinstance(value, dict)
        and str(value.get("kind", "")).endswith("List")
        and isinstance(value.get("items"), list)
    ):
        return [one for item in value["items"] for one in _objects(item, source, line)]
    if not isinstance(value, dict):
        raise BadInput(
            "an object is a mapping with apiVersion, kind and metadata, not"
            f" {type(value).__name__}",
            source.place(_line_of(source.text, line, "")) if source else None,
        )
    return [Manifest(value, source, line)]


def _checked(manifests: list[Manifest]) -> list[Manifest]:
    seen: dict[tuple[str, str, str, str], Manifest] = {}
    for manifest in manifests:
        wrong = _complaint(manifest.body)
        if wrong:
            raise BadInput(f"{wrong[0]}: {wrong[1]}", manifest.place(wrong[0]))
        key = (
            manifest.api_version.rpartition("/")[0],
            manifest.kind,
            manifest.namespace,
            manifest.name,
        )
        if key in seen:
            raise BadInput(
                f"metadata.name: {manifest.title} is declared twice (also at"
                f" {seen[key].place('metadata.name')})",
                manifest.place("metadata.name"),
            )
        seen[key] = manifest
    return manifests


def _complaint(body: Mapping[str, Any]) -> tuple[str, str] | None:
    """The field that makes something no object, and why."""
    odd = _odd(body, "")
    if odd:
        return odd
    for name in ("apiVersion", "kind"):
        if not isinstance(body.get(name), str) or not body[name]:
            return (
                name,
                (
                    "is missing; every object needs apiVersion, kind and metadata.name"
                    if not body.get(name)
                    else f"must be text, not {body[name]!r}"
                ),
            )
    meta = body.get("metadata")
    if not isinstance(meta, dict):
        return "metadata", "is missing; an object is found again by metadata.name"
    if not isinstance(meta.get("name"), str) or not meta["name"]:
        hint = (
            " (generateName makes a new object each time, so it cannot be declared)"
            if meta.get("generateName")
            else ""
        )
        return "metadata.name", (
            f"must be text, not {meta['name']!r}; quote it"
            if meta.get("name")
            else f"is missing{hint}"
        )
    for name in ("labels", "annotations"):
        given = meta.get(name)
        if given is not None and not isinstance(given, dict):
            return f"metadata.{name}", "must be a mapping"
        for key, value in (given or {}).items():
            if not isinstance(value, str):
                return f"metadata.{name}.{key}", f"must be text, not {value!r}; quote it"
    return None


def _odd(value: Any, path: str) -> tuple[str, str] | None:
    """What YAML can say and JSON cannot: names that are no text (on, 1), and dates."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                return path, f"the name {key!r} in it must be text; quote it"
            problem = _odd(inner, f"{path}.{key}" if path else key)
            if problem:
                return problem
    elif isinstance(value, list):
        return next(
            (
                problem
                for number, inner in enumerate(value)
                if (problem := _odd(inner, f"{path}[{number}]"))
            ),
            None,
        )
    elif value is not None and not isinstance(value, (str, int, float)):
        return path, f"must be text, a number or true/false, not {value!r}; quote it"
    return None


def _documents(text: str) -> Iterator[tuple[int, str]]:
    """Each document with the number of lines before it."""
    starts = [match.start() for match in _BREAK.finditer(text)]
    for begin, end in zip([0, *starts], [*starts, len(text)], strict=True):
        piece = text[begin:end]
        if piece.strip():
            yield text.count("\n", 0, begin), piece


def _line_of(text: str, line: int, path: str) -> int:
    """The line of a field inside the document that starts after `line`; only worked out to tell of
    an error."""
    document = next((piece for number, piece in _documents(text) if number == line), "")
    try:
        node = yaml.compose(document, Loader=_Loader)
    except yaml.YAMLError:
        return line + 1
    found_line = line + (node.start_mark.line + 1 if node else 1)
    for word in _words(path):
        if isinstance(node, yaml.MappingNode):
            pair = next((pair for pair in node.value if pair[0].value == word), None)
            if pair is None:
                break
            found_line, node = line + pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and word.isdigit() and int(word) < len(node.value):
            node = node.value[int(word)]
            found_line = line + node.start_mark.line + 1
        else:
            break
    return found_line


def _words(path: str) -> Sequence[str]:
    """spec.containers[0].image, or metadata.labels.a.b as far as it goes."""
    return [word for word in re.split(r"[.\[\]\"]+", path) if word]


def _line_in_template(template: str, rendered: str, line: int) -> int:
    """The template's line from which a rendered line came, by what the two texts have in common."""
    matcher = difflib.SequenceMatcher(
        None, template.splitlines(), rendered.splitlines(), autojunk=False
    )
    for _, first, last, begin, end in matcher.get_opcodes():
        if begin < line <= end:
            return min(first + (line - begin), max(last, first + 1))
    return line
