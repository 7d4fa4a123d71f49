"""State: a resource described by plain values; Change: from one state to another.

Travels to hosts, so: the standard library only, Python 3.9, and nothing that is slow to import
(`typing` included).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    State = dict[str, Any]
else:
    State = dict

# The fields by which services identify an item of a list, the most specific first.
_NAMING_KEYS = ("name", "Name", "Key", "key", "id")


class Change:
    """From `before` to `after`; None means absent. `observed` is the whole observed state."""

    __slots__ = ("after", "before", "observed")

    def __init__(
        self, before: State | None, after: State | None, observed: State | None = None
    ) -> None:
        self.before, self.after, self.observed = before, after, observed

    @classmethod
    def between(cls, observed: State | None, target: State | None) -> Change:
        """The change from the observed state to the target, limited to the fields of the target."""
        if observed is None or target is None:
            return cls(observed, target, observed)
        return cls(narrow(observed, target), target, observed)

    def __bool__(self) -> bool:
        return self.before != self.after

    def same_as(self, other: Change) -> bool:
        return self.before == other.before and self.after == other.after

    @property
    def creates(self) -> bool:
        return self.before is None and self.after is not None

    @property
    def removes(self) -> bool:
        return self.before is not None and self.after is None

    def touches(self, *keys: str) -> bool:
        """Whether any of these fields is to be different afterwards."""
        if self.before is None or self.after is None:
            return bool(self)
        return any(self.before.get(key) != self.after.get(key) for key in keys)


def narrow(observed: Any, target: Any) -> Any:
    """The part of `observed` that `target` names, so that defaults of a service never show as
    differences."""
    if isinstance(target, dict) and isinstance(observed, dict):
        return {key: narrow(observed.get(key), value) for key, value in target.items()}
    if isinstance(target, list) and isinstance(observed, list):
        key = _naming_key(target)
        if key and _naming_key(observed) == key:
            by_name = {item[key]: item for item in observed}
            narrowed = [narrow(by_name[item[key]], item) for item in target if item[key] in by_name]
            named = {item[key] for item in target}
            return narrowed + [item for item in observed if item[key] not in named]
    return observed


def _naming_key(items: list[Any]) -> str | None:
    for key in _NAMING_KEYS:
        if items and all(isinstance(item, dict) and key in item for item in items):
            return key
    return None
