"""What things may be called: names, labels and annotations of every object."""

from __future__ import annotations

import re
import secrets
from typing import Any

from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.schema.problems import Problem, invalid_value, required

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # no vowels: no words
ANNOTATIONS_LIMIT = 256 * 1024

SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
    " and must start and end "
    "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must"
    " start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for"
    " validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
LABEL_1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an"
    " alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123',"
    " regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or"
    " '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_KEY_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end"
    " with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for"
    " validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def generated(prefix: str) -> str:
    """A name that nothing has yet, very likely."""
    return prefix[:58] + "".join(secrets.choice(_LETTERS) for _ in range(5))


def metadata_problems(kind: Kind, metadata: dict[str, Any]) -> list[Problem]:
    """What is wrong with the metadata of an object of this kind."""
    name = metadata.get("name", "")
    problems = (
        [required("metadata.name", "name or generateName is required")]
        if not name
        else _name_problems(kind, name)
    )
    problems += label_problems(metadata.get("labels") or {}, "metadata.labels")
    for key in metadata.get("annotations") or {}:
        if not _key_fits(key.lower()):
            problems.append(invalid_value("metadata.annotations", key, _KEY_RULE))
    size = sum(len(key) + len(value) for key, value in (metadata.get("annotations") or {}).items())
    if size > ANNOTATIONS_LIMIT:
        problems.append(
            Problem(
                "metadata.annotations",
                "FieldValueTooLong",
                f"Too long: must have at most {ANNOTATIONS_LIMIT} bytes",
            )
        )
    return problems


def label_problems(labels: dict[str, str], path: str) -> list[Problem]:
    problems = [invalid_value(path, key, _KEY_RULE) for key in labels if not _key_fits(key)]
    for value in labels.values():
        if len(value) > 63:
            problems.append(invalid_value(path, value, "must be no more than 63 characters"))
        elif value and not _QUALIFIED.fullmatch(value):
            problems.append(invalid_value(path, value, _VALUE_RULE))
    return problems


def is_label(text: str) -> bool:
    return len(text) <= 63 and bool(_LABEL.fullmatch(text))


def is_subdomain(text: str) -> bool:
    return len(text) <= 253 and bool(_SUBDOMAIN.fullmatch(text))


def _key_fits(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return bool(
        len(name) <= 63 and _QUALIFIED.fullmatch(name) and (not slash or is_subdomain(prefix))
    )


def _name_problems(kind: Kind, name: str) -> list[Problem]:
    if kind.group == "rbac.authorization.k8s.io":
        fits, rule = "/" not in name and name not in (".", ".."), "may not contain '/'"
    elif kind.type_name == "core.v1.Service":
        fits, rule = len(name) <= 63 and bool(_LABEL_1035.fullmatch(name)), LABEL_1035_RULE
    elif kind.type_name == "core.v1.Namespace":
        fits, rule = is_label(name), LABEL_RULE
    else:
        fits, rule = is_subdomain(name), SUBDOMAIN_RULE
    return [] if fits else [invalid_value("metadata.name", name, rule)]
