"""What a role would apply with an inventory: its templates rendered as the runner renders them,
with no cluster at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from playrunner.inventory.inventory import read_inventory
from playrunner.model import steps_of
from playrunner.playbook.playbook import roles_play
from playrunner.variables.host_memory import PlayVariables, RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import default_templar

ROOT = Path(__file__).parents[3]


def rendered(role: str, inventories: Sequence[str], **known: Any) -> str:
    """Every template of the role's k8s.manifest steps, one after the other; `known` stands for what
    other steps register."""
    play = roles_play([role])
    run_vars = RunVariables(
        read_inventory([str(ROOT / "inventories" / f"{name}.yaml") for name in inventories]),
        default_templar,
        known,
        {},
    )
    variables = PlayVariables(play, {"ansible_role_names": [one.name for one in play.roles]})
    for one in play.roles:
        variables.add_role(one)
    texts = []
    for step in (
        step
        for section in play.sections
        for step in steps_of(section)
        if step.module == "k8s.manifest"
    ):
        name = step.arguments.get("template")
        if step.role and step.role.name == role and name:
            texts.append(
                _text(ROOT / "manifests" / str(name), Scope(run_vars, "localhost", variables, step))
            )
    return "---\n".join(text if text.endswith("\n") else f"{text}\n" for text in texts)


def _text(file: Path, scope: Scope) -> str:
    return default_templar.render_file(file.read_text(), scope, name=str(file))


def container_of(body: Mapping[str, Any], place: int = 0) -> Any:
    """A container of a workload's pods."""
    return body["spec"]["template"]["spec"]["containers"][place]
