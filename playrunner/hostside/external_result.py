"""What a module of Ansible's kind printed, as the result of a step.

Travels to hosts, so: the standard library only, Python 3.9, and nothing that is slow to import.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

_FLAGS = ("changed", "failed", "skipped", "unreachable", "unknown")
_SHOWN_CHARACTERS = 2000  # of output that is no result
_KIND = "__ansible_type"  # names the class of a value that is not plain JSON


def result_of(rc: int, out: str, err: str) -> dict[str, Any]:
    """The result in a module's output; output without one is a failure."""
    printed, trailing = _printed(out)
    if printed is None:
        return {
            "failed": True,
            "changed": False,
            "rc": rc,
            "module_stdout": out[-_SHOWN_CHARACTERS:],
            "module_stderr": err[-_SHOWN_CHARACTERS:],
            "msg": f"the module printed no result (status {rc}): {_last_line(err or out)}",
        }
    result = normalized(printed)
    if trailing:
        note = f"Module invocation had junk after the JSON data: {trailing[:_SHOWN_CHARACTERS]}"
        result["warnings"] = [*result.get("warnings", ()), note]
    return result


def normalized(printed: dict[str, Any]) -> dict[str, Any]:
    """A result with flags, texts and notes in the types that the controller expects."""
    result = {name: _plain(inner) for name, inner in printed.items() if name != _KIND}
    result.pop("invocation", None)  # its arguments, which Ansible does not register either
    for name in _FLAGS:
        if name in result:
            result[name] = bool(result[name])
    result.setdefault("changed", False)
    if "failed" not in result and result.get("rc") not in (None, 0, "0"):
        result["failed"] = True
    for name in ("msg", "exception", "ansible_job_id"):
        if result.get(name) is not None and not isinstance(result[name], str):
            result[name] = json.dumps(result[name])
    for name in ("stdout", "stderr"):
        if isinstance(result.get(name), str) and f"{name}_lines" not in result:
            result[f"{name}_lines"] = result[name].splitlines()
    _normalize_notes(result)
    return result


def _printed(out: str) -> tuple[Optional[dict[str, Any]], str]:
    """The JSON object in the output, and what was printed after it; what a login shell or a library
    printed before it is skipped."""
    lines = out.splitlines()
    starts = [number for number, line in enumerate(lines) if line.lstrip().startswith("{")]
    for start in starts:
        for end in range(len(lines), start, -1):
            if not lines[end - 1].rstrip().endswith("}"):
                continue
            try:
                value = json.loads("\n".join(lines[start:end]))
            except ValueError:
                continue
            if isinstance(value, dict):
                return value, "\n".join(lines[end:]).strip()
    return None, ""


def _plain(value: Any) -> Any:
    """Values that ansible-core marks with a class in its JSON, as the text they stand for; without
    ansible-core's internal keys."""
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if _KIND in value:
        event = value.get("event")
        if isinstance(event, dict):
            if value[_KIND] == "ErrorSummary":
                return event.get("formatted_traceback") or event.get("msg") or ""
            return event.get("msg") or ""
        if "value" in value:
            return _plain(value["value"])
    return {
        name: _plain(inner)
        for name, inner in value.items()
        if name != _KIND and not name.startswith("_ansible_")
    }


def _normalize_notes(result: dict[str, Any]) -> None:
    warnings = result.pop("warnings", None)
    if warnings:
        texts = warnings if isinstance(warnings, list) else [warnings]
        result["warnings"] = [_note(text) for text in texts]
    if not isinstance(result.get("ansible_facts", {}), dict):
        del result["ansible_facts"]
    diff = result.get("diff")
    if isinstance(diff, list):
        result["diff"] = [_plain_diff(part) for part in diff]
    elif diff is not None:
        result["diff"] = _plain_diff(diff)


def _plain_diff(diff: Any) -> dict[str, Any]:
    """A change with mappings or texts for its states; other states are shown as JSON."""
    if not isinstance(diff, dict):
        return {"prepared": str(diff)}
    odd = {
        side: json.dumps(diff[side], default=str, indent=4) + "\n"
        for side in ("before", "after")
        if not isinstance(diff.get(side), (dict, str, type(None)))
    }
    return {**diff, **odd}


def _note(text: Any) -> str:
    if isinstance(text, dict):
        return str(text.get("msg", text))
    return str(text)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no output"
