"""Filters between values and their JSON and YAML texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Undefined

from playrunner.errors import BadInput, StepFailed
from playrunner.text.documents import parse_json, parse_yaml, parse_yaml_all
from playrunner.text.written import DecryptedText


def to_json(
    value: Any, vault_to_text: bool = False, preprocess_unsafe: bool = False, **options: Any
) -> str:
    """JSON on one line, keys in their own order; text is written as it is, encrypted or not."""
    try:
        return json.dumps(value, default=_simpler, **options)
    except TypeError:
        if not options.get("sort_keys"):
            raise
        # Keys of several types have no order between them; as the texts they become, they have.
        return json.dumps(_text_keys(value), default=_simpler, **options)


def _text_keys(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key if isinstance(key, str) else json.dumps(key): _text_keys(each)
            for key, each in value.items()
        }
    return [_text_keys(each) for each in value] if isinstance(value, list | tuple) else value


def to_nice_json(value: Any, indent: int = 4, sort_keys: bool = True, **options: Any) -> str:
    """JSON over several lines, keys sorted."""
    return to_json(value, indent=indent, sort_keys=sort_keys, separators=(",", ": "), **options)


def to_yaml(value: Any, default_flow_style: bool | None = None, **options: Any) -> str:
    """YAML; the innermost lists and mappings on one line."""
    import yaml

    return str(
        yaml.dump(
            value,
            Dumper=_dumper(),
            allow_unicode=True,
            default_flow_style=default_flow_style,
            **options,
        )
    )


def to_nice_yaml(
    value: Any, indent: int = 4, default_flow_style: bool | None = False, **options: Any
) -> str:
    """YAML with every value on its own line."""
    return to_yaml(value, default_flow_style, indent=indent, **options)


def from_json(text: Any, **options: Any) -> Any:
    """The value of a JSON text."""
    if not isinstance(text, str | bytes):
        raise StepFailed(
            f"filter 'from_json': takes JSON text, not a value of type {type(text).__name__}"
        )
    return _read("from_json", lambda name: parse_json(text, name, **options))


def from_yaml(text: Any) -> Any:
    """The value of one YAML document; what is not text is returned as it is."""
    return (
        _read("from_yaml", lambda name: parse_yaml(text, name, plain=True))
        if isinstance(text, str)
        else text
    )


def from_yaml_all(text: Any) -> Any:
    """The values of all documents in a YAML text."""
    return (
        _read("from_yaml_all", lambda name: parse_yaml_all(text, name, plain=True))
        if isinstance(text, str)
        else text
    )


def _read(name: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(name)
    except BadInput as error:
        where = (
            f" (line {error.place.line} of the text)" if error.place and error.place.line else ""
        )
        raise StepFailed(f"filter '{name}': {error.message}{where}") from None


FILTERS: dict[str, Callable[..., Any]] = {
    "to_json": to_json,
    "to_nice_json": to_nice_json,
    "to_yaml": to_yaml,
    "to_nice_yaml": to_nice_yaml,
    "from_json": from_json,
    "from_yaml": from_yaml,
    "from_yaml_all": from_yaml_all,
}


def _simpler(value: Any) -> Any:
    """The JSON-ready form of a value JSON has no notation for."""
    if isinstance(value, Undefined):
        value._fail_with_undefined_error()
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if hasattr(value, "__iter__"):
        return list(value)
    raise TypeError(f"a value of type {type(value).__name__} cannot be written as JSON")


def _dumper() -> Any:
    """A dumper that also writes the subclasses of text, list and mapping that travel through
    templates."""
    import yaml

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        pass

    def refuse(_dumper: Any, value: Undefined) -> None:
        value._fail_with_undefined_error()

    Dumper.add_representer(
        DecryptedText,
        lambda dumper, value: dumper.represent_scalar(
            "!vault", DecryptedText.ciphertext_of(value), style="|"
        ),
    )
    Dumper.add_multi_representer(str, lambda dumper, value: dumper.represent_str(str(value)))
    Dumper.add_multi_representer(Mapping, lambda dumper, value: dumper.represent_dict(dict(value)))
    Dumper.add_multi_representer(dict, lambda dumper, value: dumper.represent_dict(value))
    Dumper.add_multi_representer(list, lambda dumper, value: dumper.represent_list(value))
    Dumper.add_multi_representer(tuple, lambda dumper, value: dumper.represent_list(list(value)))
    Dumper.add_multi_representer(Undefined, refuse)
    return Dumper
