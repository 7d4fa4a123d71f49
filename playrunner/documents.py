"""YAML in, plain values out, with the line each mapping and key was written on."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from playrunner.errors import BadInput, Place
from playrunner.written import Plain, TemplateText, Written, written

__all__ = ["MOST_NESTED", "VAULT_REMEDY", "Located", "Plain", "parse_yaml", "read_text", "read_yaml"]

# The C parser reads a playbook about ten times faster; the pure one is there on every machine.
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MOST_NESTED = 100

VAULT_REMEDY = (
    "vault values are not supported; read the secret from the environment"
    " ({{ lookup('env', 'NAME') }}) or from your secret manager ({{ lookup('pipe', 'COMMAND') }})"
)


class Located(dict[Any, Any]):
    """A mapping that remembers its file, its first line and the line of each key."""

    file: str = ""
    line: int = 0
    key_lines: dict[Any, int]

    def place(self, key: object = None) -> Place:
        return Place(self.file, self.key_lines.get(key, self.line))


class _Loader(_Base):  # type: ignore[misc]
    file_name = ""

    def construct_yaml_map(self, node: yaml.MappingNode) -> Any:
        found = Located()
        found.file, found.line, found.key_lines = self.file_name, node.start_mark.line + 1, {}
        yield found
        self.flatten_mapping(node)
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if type(key) is Written:
                key = str(key)  # names are looked up often, which costs less for plain text
            line = key_node.start_mark.line + 1
            if not isinstance(key, Hashable):
                raise BadInput("a mapping key must be a plain value, not a list or mapping; quote it if it holds {{ }}",
                               Place(self.file_name, line))
            found[key] = self.construct_object(value_node, deep=True)
            found.key_lines[key] = line

    def refuse_vault(self, node: yaml.Node) -> Any:
        raise BadInput(VAULT_REMEDY, Place(self.file_name, node.start_mark.line + 1))

    def written_text(self, node: yaml.Node) -> Any:
        # What is read here is the author's own: never use this loader for text from a host or a service.
        return written(self.construct_scalar(node))

    def unsafe_text(self, node: yaml.Node) -> Any:
        # !unsafe marks text that must not be rendered.
        return Written(self.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:map", _Loader.construct_yaml_map)
_Loader.add_constructor("tag:yaml.org,2002:str", _Loader.written_text)
_Loader.add_constructor("!vault", _Loader.refuse_vault)
_Loader.add_constructor("!vault-encrypted", _Loader.refuse_vault)
_Loader.add_constructor("!unsafe", _Loader.unsafe_text)
for _kind in (Written, TemplateText):  # PyYAML writes no subclass of str by itself
    yaml.representer.SafeRepresenter.add_representer(_kind, lambda dumper, text: dumper.represent_str(str(text)))


def parse_yaml(text: str, file: str) -> Any:
    """The value of one YAML document; mappings in it are `Located`."""
    try:
        _refuse_deep_nesting(text, file)
        loader = _Loader(text)
    except yaml.YAMLError as error:
        raise _not_yaml(error, file) from None
    loader.file_name = file
    try:
        return loader.get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _not_yaml(error, file) from None
    finally:
        loader.dispose()


def _not_yaml(error: Exception, file: str) -> BadInput:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        return BadInput(f"not valid YAML: {error.problem or error.context}", Place(file, mark.line + 1 if mark else 0))
    return BadInput(f"not valid YAML: {' '.join(str(error).split())}", Place(file, 1))


def _refuse_deep_nesting(text: str, file: str) -> None:
    # The C parser builds values by recursion and has no limit of its own: a deep enough text ends the process.
    if max(text.count("["), text.count("{"), text.count("- "), text.count("? ")) <= MOST_NESTED:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_Base):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_NESTED:
            raise BadInput(f"nested more than {MOST_NESTED} deep", Place(file, event.start_mark.line + 1))


def read_text(path: Path) -> str:
    """The text of a file the user named; a missing or unreadable one is bad input."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadInput("no such file", Place(str(path))) from None
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8 text ({error.reason} at byte {error.start})", Place(str(path))) from None
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", Place(str(path))) from None


def read_yaml(path: Path) -> Any:
    text = read_text(path)
    if text.startswith("$ANSIBLE_VAULT"):
        raise BadInput(VAULT_REMEDY, Place(str(path), 1))
    return parse_yaml(text, str(path))
