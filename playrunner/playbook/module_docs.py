"""The manual of modules, made from their own code: the class's docstring, its fields, and the
comment of each."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from playrunner.errors import BadInput
from playrunner.hostside.module import Action, Module, Probe
from playrunner.playbook import arguments, external_modules, module_index

_SUMMARY = re.compile(r'"""[\w.]+: (.*?)(?:"""|\n\n)', re.DOTALL)
_COMMENT = re.compile(r"#\s*(.*?)(?:\s*# noqa.*)?$")


def summaries() -> dict[str, str]:
    """Every module's first line, read from its file without importing it."""
    found = {}
    for name, path in module_index.names().items():
        match = _SUMMARY.match(module_index.source_file(path).read_text())
        found[name] = " ".join(match.group(1).split()) if match else ""
    return found


def describe(name: str) -> dict[str, Any]:
    full = module_index.canonical(name)
    if full is None:
        close = module_index.nearest_module(name)
        raise BadInput(
            f'there is no module "{name}"' + (f'; did you mean "{close}"?' if close else "")
        )
    if external_modules.is_external(full):
        file = external_modules.module_file(full).path
        raise BadInput(
            f'"{name}" is a module written for Ansible ({file}); "ansible-doc {name}" shows its'
            " manual"
        )
    cls = module_index.module_class(full)
    notes = _notes(cls)
    other = {
        target: sorted(alias for alias, to in cls.aliases.items() if to == target)
        for target in cls.aliases.values()
    }
    return {
        "name": full,
        "summary": inspect.getdoc(cls) or "",
        "kind": _kind(cls),
        "runs_on": "the host" if module_index.runs_on_host(full) else "the controller",
        "arguments": [
            {
                "name": field.name,
                "type": _type(field.kind),
                "required": field.required,
                "default": None if field.required else field.default,
                "help": notes.get(field.name, ""),
                "aliases": other.get(field.name, []),
            }
            for field in arguments.fields(cls).values()
        ],
    }


def page(manual: dict[str, Any]) -> str:
    lines = [
        f"{manual['name']}  ({manual['kind']}, runs on {manual['runs_on']})",
        "",
        manual["summary"],
        "",
    ]
    for field in manual["arguments"]:
        given = "required" if field["required"] else f"default {field['default']!r}"
        also = f"; also {', '.join(field['aliases'])}" if field["aliases"] else ""
        lines.append(f"  {field['name']} ({field['type']}, {given}{also})")
        if field["help"]:
            lines.append(f"      {field['help']}")
    return "\n".join(lines)


def _kind(cls: type[Module]) -> str:
    return (
        "probe: only looks"
        if issubclass(cls, Probe)
        else "action: done each run"
        if issubclass(cls, Action)
        else "state"
    )


def _notes(cls: type[Module]) -> dict[str, str]:
    found: dict[str, str] = {}
    for parent in reversed(cls.__mro__):
        if parent not in (object, Module, Probe, Action):
            found.update(_field_comments(textwrap.dedent(inspect.getsource(parent))))
    return found


def _field_comments(source: str) -> Iterator[tuple[str, str]]:
    """Each field with its comment: at the end of its line, or on the lines above it."""
    lines = source.splitlines()
    (cls,) = ast.parse(source).body
    assert isinstance(cls, ast.ClassDef)
    for node in cls.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            comment = _comment_at(lines, node.lineno - 1, (node.end_lineno or node.lineno) - 1)
            if comment:
                yield node.target.id, comment


def _comment_at(lines: list[str], first: int, last: int) -> str:
    beside = [found[1] for line in lines[first : last + 1] if (found := _COMMENT.search(line))]
    if beside:
        return " ".join(beside)
    above = first
    while lines[above - 1].lstrip().startswith("#"):
        above -= 1
    return " ".join(line.strip(" #") for line in lines[above:first])


def _type(kind: Any) -> str:
    text = (
        getattr(kind, "__name__", None)
        if isinstance(kind, type) and not getattr(kind, "__args__", None)
        else str(kind)
    )
    return re.sub(r"typing\.|Optional", "", str(text)).replace("NoneType", "None")
