"""The rights that a user needs in a cluster, read from the calls in the code and the objects in the
templates: nobody keeps a list that could be out of date."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import playrunner
from playrunner.frozen import frozen
from playrunner.kube.client.resource import Resource, group_of
from playrunner.project import folders
from playrunner.training.kube.launchers import KINDS

READ = ("get", "list", "watch")
WRITE = ("get", "list", "watch", "create", "patch", "delete")
_METHODS = {
    "GET": ("get",),
    "POST": ("create",),
    "PUT": ("update",),
    "PATCH": ("patch",),
    "DELETE": ("delete",),
}
_CALLS = {
    "get": ("get",),
    "listing": ("list",),
    "apply": ("create", "patch"),
    "delete": ("delete",),
}
_LOOKED_UP = ("resource", "known")
_STREAMS = ("exec", "portforward")
_CODE = {
    "training": ("training/kube", "kube/watch", "kube/streams", "modules/k8s/secret.py"),
    "add-ons": (
        "modules/k8s",
        "kube/watch",
        "kube/objects",
        "kube/nodes/contract.py",
        "kube/nodes/edit.py",
    ),
    "quarantine": ("kube/nodes/quarantine.py",),
}
_OBJECT = re.compile(r"^apiVersion: (\S+)\nkind: (\S+)$", re.MULTILINE)
# A kind that a template chooses, and objects that steps of roles name: for proofs and dry runs
_CHOSEN = re.compile(r"^apiVersion: (\S+)\nkind: \{\{(.*)\}\}$", re.MULTILINE)
_QUOTED = re.compile(r"'([A-Z]\w+)'")
_IN_STEPS = re.compile(r"apiVersion: ([\w./-]+)(?:,|\n) *kind: ([A-Z]\w+)")
_WATCHED = re.compile(r"\b([a-z][\w.-]*/v\w+)/([A-Z]\w+)")
_GRANTING = {"Role": ("bind", "escalate"), "ClusterRole": ("bind", "escalate")}
_CLUSTER_WIDE = {
    "ClusterQueue",
    "ClusterRole",
    "ClusterRoleBinding",
    "CSIDriver",
    "CustomResourceDefinition",
    "IngressClass",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "Queue",
    "ResourceFlavor",
    "RuntimeClass",
    "StorageClass",
    "ValidatingWebhookConfiguration",
}
_PLURALS = {"StorageClass": "storageclasses", "PriorityClass": "priorityclasses"}


@frozen
class Right:
    group: str
    resource: str  # with its subresource: pods/log
    verb: str
    everywhere: bool = False  # in all namespaces, or of a kind without one


def roles(purpose: str) -> list[dict[str, Any]]:
    """The Role and ClusterRoles for `training`, `add-ons` or `audit`."""
    if purpose == "training":
        own = list(training_rights())
        return [
            _role("playrunner-training", [right for right in own if not right.everywhere]),
            _role("playrunner-training-view", [right for right in own if right.everywhere], True),
            _role("playrunner-quarantine", list(called("quarantine")), True),
        ]
    if purpose == "add-ons":
        return [_role("playrunner-add-ons", list(add_on_rights()), True)]
    seen = {
        (right.group, right.resource)
        for right in (*training_rights(), *add_on_rights(), *called("quarantine"))
        if "/" not in right.resource and right.resource != "secrets"
    }
    return [
        _role(
            "playrunner-audit",
            [Right(*what, verb, True) for what in seen for verb in READ],
            True,
        )
    ]


def training_rights() -> Iterator[Right]:
    yield from called("training")
    for kind in KINDS.values():
        yield from _rights(*kind.resource, WRITE)
    yield from _templates(["training"], WRITE)


def add_on_rights() -> Iterator[Right]:
    """Objects of all templates but training's, and what the modules of roles call; whoever grants
    rights must be allowed to."""
    names = sorted(
        each.name
        for folder in folders("manifests")
        for each in folder.iterdir()
        if each.is_dir() and each.name != "training"
    )
    yield from _templates(names, WRITE)
    yield from _steps()
    yield from called("add-ons")
    yield from _rights("v1", "ConfigMap", WRITE)  # what was applied is recorded there
    for resource in ("nodes", "pods", "events"):
        for verb in READ:
            yield Right("", resource, verb, True)
    yield Right("", "pods/log", "get", True)


def called(purpose: str) -> Iterator[Right]:
    """From the calls of the client in the code of this purpose."""
    home = Path(playrunner.__file__).parent
    for name in _CODE[purpose]:
        place = home / name
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            if path.name == "__init__.py":
                continue
            words = path.relative_to(home.parent).with_suffix("").parts
            known = vars(importlib.import_module(".".join(words)))
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call):
                    yield from _of_call(node, known)
                elif isinstance(node, ast.JoinedStr) and _subresource(node) in _STREAMS:
                    yield from _of_path(node, known, ("get", "create"))


def _of_call(node: ast.Call, known: dict[str, Any]) -> Iterator[Right]:
    function, first = node.func, node.args[0] if node.args else None
    if isinstance(function, ast.Name) and function.id == "Collection":
        for verb in ("list", "watch"):
            yield from _right(_named(first, known), verb)
    if not isinstance(function, ast.Attribute):
        return
    if function.attr in _CALLS:
        everywhere = function.attr == "listing" and len(node.args) < 2
        for verb in _CALLS[function.attr]:
            yield from _right(_named(first, known), verb, everywhere=everywhere)
    elif function.attr in _LOOKED_UP and all(isinstance(one, ast.Constant) for one in node.args):
        words = [str(one.value) for one in node.args if isinstance(one, ast.Constant)]
        if len(words) == 2:  # a kind that not every server has is only read
            yield from _rights(words[0], words[1], READ)
    elif function.attr == "call" and isinstance(first, ast.Constant) and len(node.args) > 1:
        for verb in _METHODS[str(first.value)]:
            yield from _of_path(node.args[1], known, (verb,))
    elif function.attr == "text":
        yield from _of_path(first, known, ("get",))


def _of_path(node: ast.expr | None, known: dict[str, Any], verbs: Iterable[str]) -> Iterator[Right]:
    for inner in ast.walk(node) if node else ():
        if (
            isinstance(inner, ast.Call)
            and isinstance(inner.func, ast.Attribute)
            and inner.func.attr == "path"
        ):
            for verb in verbs:
                resource = _named(inner.func.value, known)
                yield from _right(resource, verb, _subresource(node))


def _subresource(node: ast.expr | None) -> str:
    """`log` of f"{PODS.path(namespace, name)}/log"."""
    for inner in ast.walk(node) if node else ():
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            match = re.match(r"/(log|exec|portforward|eviction|status)\b", inner.value)
            if match:
                return match[1]
    return ""


def _named(node: ast.expr | None, known: dict[str, Any]) -> Resource | None:
    found = known.get(node.id) if isinstance(node, ast.Name) else None
    return found if isinstance(found, Resource) else None


def _right(
    resource: Resource | None, verb: str, sub: str = "", everywhere: bool = False
) -> Iterator[Right]:
    if resource:
        name = f"{resource.plural}/{sub}" if sub else resource.plural
        yield Right(
            group_of(resource.api_version), name, verb, everywhere or not resource.namespaced
        )


def _templates(names: Iterable[str], verbs: Iterable[str]) -> Iterator[Right]:
    for folder in folders("manifests"):
        for name in names:
            for path in sorted((folder / name).glob("*.j2")):
                text = path.read_text()
                for version, kind in _OBJECT.findall(text):
                    yield from _rights(version, kind, verbs)
                for version, choice in _CHOSEN.findall(text):
                    for kind in _QUOTED.findall(choice):
                        yield from _rights(version, kind, verbs)


def _steps() -> Iterator[Right]:
    """Small objects by which roles prove that an operator works, and what stands between these and
    their pods."""
    for folder in folders("roles"):
        for path in sorted(folder.glob("*/tasks/*.yaml")) + sorted(folder.glob("*/vars/*.yaml")):
            text = path.read_text()
            for version, kind in _IN_STEPS.findall(text):
                if kind != "Pod":  # a template: its operator creates it
                    yield from _rights(version, kind, WRITE)
            for version, kind in _WATCHED.findall(text):
                yield from _rights(version, kind, READ)


def _rights(version: str, kind: str, verbs: Iterable[str]) -> Iterator[Right]:
    plural = _PLURALS.get(kind) or (
        f"{kind.lower()}es" if kind.endswith("s") else _plural(kind.lower())
    )
    for verb in (*verbs, *_GRANTING.get(kind, ())):
        yield Right(group_of(version), plural, verb, kind in _CLUSTER_WIDE)


def _plural(word: str) -> str:
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def _role(name: str, rights: list[Right], everywhere: bool = False) -> dict[str, Any]:
    """Resources of one group that have the same verbs share a rule."""
    verbs: dict[tuple[str, str], set[str]] = {}
    for one in rights:
        verbs.setdefault((one.group, one.resource), set()).add(one.verb)
    rules: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), allowed in sorted(verbs.items()):
        rules.setdefault((group, tuple(sorted(allowed))), []).append(resource)
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole" if everywhere else "Role",
        "metadata": {"name": name},
        "rules": [
            {"apiGroups": [group], "resources": resources, "verbs": list(allowed)}
            for (group, allowed), resources in sorted(rules.items())
        ],
    }
