"""meta/argument_specs.yml: what a role wants of its variables, checked before its first step."""

from __future__ import annotations

from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.model import Keywords, Node, Role, Step
from playrunner.playbook.role_files import main_file
from playrunner.playbook.surroundings import Surroundings
from playrunner.text.documents import Located, read_yaml


def validation(role: Role, entry_point: str, around: Surroundings) -> tuple[Node, ...]:
    """The step that checks the variables of a role's entry point, where it has a specification."""
    specs = _specs(role)
    name = entry_point.removesuffix(".yml").removesuffix(".yaml")
    spec = specs.get(name) if specs is not None else None
    if specs is None or spec is None:
        return ()
    if not isinstance(spec, Located) or not isinstance(spec.get("options") or {}, dict):
        raise BadInput("each of argument_specs is a mapping with options", specs.place(name))
    title = f"Validating arguments against arg spec '{name}'"
    if spec.get("short_description"):
        title = f"{title} - {spec['short_description']}"
    arguments: dict[str, Any] = {
        "argument_spec": spec.get("options") or {},
        "provided_arguments": dict(role.params),
        "validate_args_context": {
            "type": "role",
            "name": role.name,
            "argument_spec_name": name,
            "path": str(role.path.absolute()),
        },
    }
    return (
        Step(
            title,
            "play.validate_argument_spec",
            arguments,
            specs.place(name),
            Keywords(tags=frozenset({"always"})).under(around.keywords),
            around.position(),
            role,
            directory=around.directory,
        ),
    )


def _specs(role: Role) -> Located | None:
    file = main_file(role.path, "meta", "argument_specs")
    source = file or main_file(role.path, "meta", "main")
    found = read_yaml(source) if source else None
    specs = found.get("argument_specs") if isinstance(found, Located) else None
    if file and specs is not None and not isinstance(specs, Located):
        raise BadInput("argument_specs is a mapping of entry points", Place(str(file), 1))
    return specs if isinstance(specs, Located) else None
