"""A host that lies: an interpreter which runs the agent as it is, and changes what it answers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

_INTERPRETER = """#!{python} -IS
import _json, json, sys
LIES = json.loads({lies!r})
honest_encoder = _json.make_encoder


def lying_encoder(*settings):
    encode = honest_encoder(*settings)

    def lying(frame, level):
        result = frame.get("result")
        if isinstance(result, dict):
            result.update(LIES["values"])
            if "ansible_facts" in result or LIES["always"]:
                result.setdefault("ansible_facts", {{}}).update(LIES["facts"])
        return encode(frame, level)

    return lying


_json.make_encoder = lying_encoder  # before the agent takes it
exec(compile(sys.argv[-1], "agent", "exec"))
"""


def interpreter(
    folder: Path, facts: dict[str, Any], values: dict[str, Any] | None = None, always: bool = False
) -> Path:
    """A python3 for `ansible_python_interpreter` that adds these facts, and these values, to
    results."""
    path = folder / "python3"
    lies = json.dumps({"facts": facts, "values": values or {}, "always": always})
    path.write_text(_INTERPRETER.format(python=sys.executable, lies=lies))
    path.chmod(0o755)
    return path
