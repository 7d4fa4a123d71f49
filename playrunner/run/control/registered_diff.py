"""`diff` of a registered result in the form that playbooks written for Ansible read.

Our modules answer with the state before and after, which rollback and the ledger need; Ansible's
file modules answer with texts and headers, in a list or alone, and some only in diff mode.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from playrunner.run.inflight import InFlightStep, LoopItem

Values = Mapping[str, Any]
Parts = dict[str, Any] | list[dict[str, Any]] | None


def with_registered_diff(inflight: InFlightStep, values: dict[str, Any]) -> dict[str, Any]:
    """The values of a step, or of each item of its loop, with `diff` as Ansible registers it."""
    form = _FORMS.get(inflight.step.module)
    if form is None:
        return values
    if not inflight.looped:
        return _converted(form, inflight.items[0], values)
    results = [
        _converted(form, item, result)
        for item, result in zip(inflight.items, values["results"], strict=True)
    ]
    return {**values, "results": results}


def _converted(form: _Form, item: LoopItem, values: dict[str, Any]) -> dict[str, Any]:
    if item.agent_request is None or values.get("skipped") or values.get("failed"):
        return values
    request = item.agent_request.request
    converted = form(values, request.get("args", {}), bool(request.get("diff")))
    without = {name: value for name, value in values.items() if name != "diff"}
    return without if converted is None else {**without, "diff": converted}


def _of_file(values: Values, arguments: Values, asked: bool) -> Parts:
    states = values.get("diff") or {}
    before, after = states.get("before"), states.get("after")
    if not asked or (before is None and after is None and values.get("state") == "absent"):
        return None
    path = str(values.get("path") or values.get("dest"))
    old: dict[str, Any] = {"path": path}
    new: dict[str, Any] = {"path": path}
    state = arguments.get("state")
    if _kind(before) != _kind(after):
        old["state"], new["state"] = _kind(before), state or _kind(after)
        if before and "path_content" in before:
            old["path_content"] = before["path_content"]
    elif values.get("changed") and state == "touch":
        old["state"], new["state"] = _kind(before), state
    _add_attributes(before, after, old, new)
    return {"before": old, "after": new}


def _add_attributes(
    before: Values | None, after: Values | None, old: dict[str, Any], new: dict[str, Any]
) -> None:
    if _kind(before) == "absent" or not before or not after:
        return
    names = {"mode": "mode", "owner": "owner", "group": "group", "target": "src"}
    for name, shown in {**names, "atime": "atime", "mtime": "mtime"}.items():
        if name in before and name in after and before[name] != after[name]:
            old[shown] = before[name]
            new[shown] = time.time() if after[name] == "now" else after[name]


def _of_copy(values: Values, arguments: Values, asked: bool) -> Parts:
    if not asked:
        return []
    states = values.get("diff") or {}
    before, after = states.get("before") or {}, states.get("after") or {}
    dest = str(values.get("dest") or arguments.get("dest"))
    if "below" in after:
        pieces = [
            _texts((before.get("below") or {}).get(name) or {}, piece, f"{dest}/{name}", name)
            for name, piece in after["below"].items()
            if piece and piece.get("kind") == "file" and "sha1" in piece
        ]
        return pieces
    if before.get("sha1") != after.get("sha1"):
        return [_texts(before, after, dest, str(values.get("src") or dest))]
    old, new = {"path": dest}, {"path": dest}
    _add_attributes(before, after, old, new)
    return {"before": old, "after": new}


def _texts(before: Values, after: Values, dest: str, source: str) -> dict[str, Any]:
    texts = {"before": before.get("content") or "", "after": after.get("content") or ""}
    headers = {"after_header": source}
    if _kind(before) != "absent":
        headers["before_header"] = dest
    return {**texts, **headers}


def _of_edit(values: Values, arguments: Values, asked: bool) -> Parts:
    states = values.get("diff") or {}
    before, after = states.get("before") or {}, states.get("after") or {}
    path = str(arguments.get("path"))
    content, attributes = f"{path} (content)", f"{path} (file attributes)"
    old: dict[str, Any] = {}
    new: dict[str, Any] = {}
    _add_attributes(before, after, old, new)
    changed = {"before": old, "after": new} if old else {}
    return [
        {
            "before": before.get("content") or "" if asked else "",
            "after": after.get("content") or "" if asked else "",
            "before_header": content,
            "after_header": content,
        },
        {**changed, "before_header": attributes, "after_header": attributes},
    ]


def _of_replace(values: Values, arguments: Values, asked: bool) -> Parts:
    states = values.get("diff")
    if not asked or not states:
        return None
    path = str(arguments.get("path"))
    return {
        "before": (states.get("before") or {}).get("content") or "",
        "after": (states.get("after") or {}).get("content") or "",
        "before_header": path,
        "after_header": path,
    }


def _kind(state: Values | None) -> str:
    return str(state.get("kind", "absent")) if state else "absent"


_Form = Callable[[Values, Values, bool], Parts]
_FORMS: dict[str, _Form] = {
    "host.file": _of_file,
    "host.copy": _of_copy,
    "host.template": _of_copy,
    "host.lineinfile": _of_edit,
    "host.blockinfile": _of_edit,
    "host.replace": _of_replace,
}
