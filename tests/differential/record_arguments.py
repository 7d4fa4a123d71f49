"""Record the modules of ansible.builtin with their arguments, as ansible-doc lists them:
`python -m tests.differential.record_arguments`. Names, types, choices and defaults only."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from . import ansible

RECORDED = Path(__file__).parent / "facts" / "builtin-arguments.json"
KEPT = ("type", "elements", "required", "aliases", "choices", "default")


def main() -> None:
    listed = _ansible_doc("-l", "ansible.builtin")
    manuals = json.loads(_ansible_doc("-j", *(line.split()[0] for line in listed.splitlines())))
    modules = {
        name.removeprefix("ansible.builtin."): _arguments(manual["doc"].get("options") or {})
        for name, manual in sorted(manuals.items())
    }
    RECORDED.parent.mkdir(exist_ok=True)
    RECORDED.write_text(_as_lines({"ansible_core": ansible.core_version(), "modules": modules}))


def _arguments(options: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {key: _plain(option[key]) for key in KEPT if option.get(key) not in (None, [])}
        for name, option in sorted(options.items())
    }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, dict) else value


def _as_lines(content: dict[str, Any]) -> str:
    """JSON with one line per argument, so that a later version shows as the lines that differ."""
    blocks = []
    for module, arguments in content["modules"].items():
        lines = [f"  {json.dumps(name)}: {json.dumps(arguments[name])}" for name in arguments]
        blocks.append(f" {json.dumps(module)}: {{\n" + ",\n".join(lines) + "\n }")
    version = json.dumps(content["ansible_core"])
    return f'{{"ansible_core": {version}, "modules": {{\n' + ",\n".join(blocks) + "\n}}\n"


def _ansible_doc(*words: str) -> str:
    command = [str(ansible.program().with_name("ansible-doc")), "-t", "module", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
