"""PluginOptions: the options of an inventory file that names a plugin, checked when read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.text.did_you_mean import did_you_mean
from playrunner.text.documents import Located

_YES = frozenset({"yes", "on", "1", "true", "t", "y"})
_NO = frozenset({"no", "off", "0", "false", "f", "n"})
# Options of every plugin about keeping answers between runs; each run asks the cloud anew.
CACHE_OPTIONS = (
    "cache",
    "cache_connection",
    "cache_plugin",
    "cache_prefix",
    "cache_timeout",
)


class PluginOptions:
    """The options by name, with the line of each for messages."""

    def __init__(self, options: Located, known: Iterable[str]) -> None:
        self._options = options
        names = ("plugin", *known)
        for name in options:
            if name not in names:
                raise BadInput(
                    f'the inventory plugin "{options["plugin"]}" has no option "{name}"'
                    + did_you_mean(str(name), names, f"it takes {', '.join(sorted(names))}"),
                    options.place(name),
                )

    def changed(self, change: Callable[[str, Any], Any]) -> PluginOptions:
        """The same options with other values, each by its name and value."""
        made = PluginOptions.__new__(PluginOptions)
        made._options = Located(
            {name: change(name, value) for name, value in self._options.items()}
        )
        made._options.file, made._options.line = self._options.file, self._options.line
        made._options.key_lines = self._options.key_lines
        return made

    def first(self, *names: str) -> str:
        """The text of the first of these options that is given: a name and its aliases."""
        return next((text for name in names if (text := self.text(name))), "")

    def get(self, name: str) -> Any:
        return self._options.get(name)

    def place(self, name: str) -> Place:
        return self._options.place(name)

    def place_in(self, option: str, key: object) -> Place:
        """The line of a key inside an option that is a mapping."""
        inner = self._options.get(option)
        return inner.place(key) if isinstance(inner, Located) else self.place(option)

    def place_of(self, inner: Any) -> Place:
        return inner.place() if isinstance(inner, Located) else self.place("plugin")

    def flag(self, name: str, default: bool = False) -> bool:
        value = self._options.get(name)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        word = str(value).lower()
        if word not in _YES | _NO:
            raise BadInput(f"{name} is yes or no, not {value!r:.60}", self.place(name))
        return word in _YES

    def text(self, name: str, default: str = "") -> str:
        value = self._options.get(name)
        if value is None:
            return default
        if isinstance(value, (dict, list)):
            raise BadInput(f"{name} is text, not {value!r:.60}", self.place(name))
        return str(value)

    def texts(self, name: str) -> list[str]:
        """A list of texts; a text alone is split at commas."""
        value = self._options.get(name)
        if value is None:
            return []
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        if not isinstance(value, list) or any(isinstance(item, (dict, list)) for item in value):
            raise BadInput(f"{name} is a list of texts, not {value!r:.60}", self.place(name))
        return [str(item) for item in value]

    def items(self, name: str) -> list[Any]:
        """A list of anything."""
        value = self._options.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise BadInput(f"{name} is a list, not {value!r:.60}", self.place(name))
        return value

    def mapping(self, name: str) -> Mapping[str, Any]:
        value = self._options.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise BadInput(
                f"{name} is a mapping of names to expressions, not {value!r:.60}", self.place(name)
            )
        return value

    def mappings(self, name: str, known: Iterable[str]) -> Sequence[Mapping[str, Any]]:
        """A list of mappings, each with no other keys than the known ones."""
        value = self._options.get(name) or []
        if not isinstance(value, list):
            raise BadInput(f"{name} is a list of mappings, not {value!r:.60}", self.place(name))
        names = tuple(known)
        for item in value:
            if not isinstance(item, dict):
                raise BadInput(f"{name} holds mappings, not {item!r:.60}", self.place(name))
            for key in item:
                if key not in names:
                    raise BadInput(
                        f'an entry of {name} has no "{key}"'
                        + did_you_mean(str(key), names, f"it takes {', '.join(names)}"),
                        item.place(key) if isinstance(item, Located) else self.place(name),
                    )
        return value
