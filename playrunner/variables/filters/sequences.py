"""Filters on lists: flattening, pairing, arranging, drawing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_NULLS = (None, "None", "null")


def flatten(values: Any, levels: int | None = None, skip_nulls: bool = True) -> list[Any]:
    """Lists within lists as one list, down to a number of levels."""
    flat: list[Any] = []
    for value in values:
        if skip_nulls and value in _NULLS:
            continue
        if isinstance(value, list | tuple) and (levels is None or levels > 0):
            flat.extend(flatten(value, None if levels is None else levels - 1, skip_nulls))
        else:
            flat.append(value)
    return flat


def subelements(items: Any, subelement: Any, skip_missing: bool = False) -> list[tuple[Any, Any]]:
    """Each mapping paired with each member of a list inside it; `a.b` goes two levels down."""
    keys = subelement if isinstance(subelement, list) else str(subelement).split(".")
    pairs: list[tuple[Any, Any]] = []
    for item in items.values() if isinstance(items, Mapping) else items:
        inner: Any = item
        for key in keys:
            if not isinstance(inner, Mapping):
                raise TypeError(f"{key!r} is looked for in a mapping, but there is {inner!r}")
            if key not in inner and not skip_missing:
                raise KeyError(
                    f"no key {key!r} in {inner!r}; skip_missing=True passes over such items"
                )
            inner = inner.get(key)
            if inner is None:
                break
        if inner is None and skip_missing:
            continue
        if not isinstance(inner, list):
            raise TypeError(f"{'.'.join(map(str, keys))!r} is not a list but {inner!r}")
        pairs.extend((item, member) for member in inner)
    return pairs


def zip_lists(*values: Any) -> list[Any]:
    return list(zip(*values, strict=False))


def zip_longest(*values: Any, fillvalue: Any = None) -> list[Any]:
    import itertools

    return list(itertools.zip_longest(*values, fillvalue=fillvalue))


def product(*values: Any, repeat: int = 1) -> list[Any]:
    import itertools

    return list(itertools.product(*values, repeat=repeat))


def permutations(values: Any, length: int | None = None) -> list[Any]:
    import itertools

    return list(itertools.permutations(values, length))


def combinations(values: Any, length: int) -> list[Any]:
    import itertools

    return list(itertools.combinations(values, length))


def random(end: Any, start: int | None = None, step: int | None = None, seed: Any = None) -> Any:
    """A number below `end`, or a member of a list; the same one each time for the same seed."""
    from random import Random

    draw = Random(seed)
    if isinstance(end, int):
        return draw.randrange(start or 0, end, step or 1)
    if start or step:
        raise ValueError("start and step go with a number, not with a list")
    if not len(end):
        raise ValueError("there is nothing to choose from")
    return draw.choice(end)


def shuffle(values: Any, seed: Any = None) -> list[Any]:
    """The members in another order; the same one each time for the same seed."""
    from random import Random

    mixed = list(values)
    Random(seed).shuffle(mixed)
    return mixed


FILTERS: dict[str, Callable[..., Any]] = {
    "flatten": flatten,
    "subelements": subelements,
    "zip": zip_lists,
    "zip_longest": zip_longest,
    "product": product,
    "permutations": permutations,
    "combinations": combinations,
    "random": random,
    "shuffle": shuffle,
}
