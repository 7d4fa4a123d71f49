"""The tests of `x is changed` and the like: results of steps, patterns, lists, files of the
controller."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Mapping
from typing import Any

from playrunner.variables.filters.booleans import FALSE_WORDS
from playrunner.variables.filters.regex import compiled
from playrunner.variables.filters.undefined import is_missing
from playrunner.variables.filters.versions import version


def defined(value: Any) -> bool:
    return not is_missing(value)


def changed(result: Any) -> bool:
    """Whether a step, or one item of its loop, changed something."""
    found = _result(result, "changed")
    if "changed" in found:
        return bool(found["changed"])
    items = found.get("results")
    return isinstance(items, list) and any(
        isinstance(item, Mapping) and item.get("changed") for item in items
    )


def failed(result: Any) -> bool:
    return bool(_result(result, "failed").get("failed"))


def succeeded(result: Any) -> bool:
    return not failed(result)


def skipped(result: Any) -> bool:
    return bool(_result(result, "skipped").get("skipped"))


def unreachable(result: Any) -> bool:
    return bool(_result(result, "unreachable").get("unreachable"))


def reachable(result: Any) -> bool:
    return not unreachable(result)


def started(result: Any) -> bool:
    """Whether a step with `async` has begun; one without has by the time it has a result."""
    return bool(_result(result, "started").get("started", True))


def finished(result: Any) -> bool:
    return bool(_result(result, "finished").get("finished", True))


def timedout(result: Any) -> bool:
    found = _result(result, "timedout").get("timedout")
    return bool(found.get("period")) if isinstance(found, Mapping) else bool(found)


def regex(
    value: Any,
    pattern: Any = "",
    ignorecase: bool = False,
    multiline: bool = False,
    match_type: str = "search",
) -> bool:
    """Whether a pattern is found in a text; `match_type` is search, match (at the start) or
    fullmatch."""
    if match_type not in ("search", "match", "fullmatch"):
        raise ValueError(f"match_type is search, match or fullmatch, not {match_type!r}")
    found = getattr(compiled(pattern, ignorecase, multiline), match_type)(str(value))
    return found is not None


def match(value: Any, pattern: Any = "", ignorecase: bool = False, multiline: bool = False) -> bool:
    return regex(value, pattern, ignorecase, multiline, "match")


def search(
    value: Any, pattern: Any = "", ignorecase: bool = False, multiline: bool = False
) -> bool:
    return regex(value, pattern, ignorecase, multiline, "search")


def subset(first: Any, second: Any) -> bool:
    return all(value in second for value in first)


def superset(first: Any, second: Any) -> bool:
    return subset(second, first)


def contains(container: Any, value: Any) -> bool:
    return value in container


def truthy(value: Any, convert_bool: bool = False) -> bool:
    """Whether a value is neither empty, zero nor false; with `convert_bool` words such as no are
    false too."""
    if convert_bool and isinstance(value, str) and value.lower() in FALSE_WORDS:
        return False
    return bool(value)


def falsy(value: Any, convert_bool: bool = False) -> bool:
    return not truthy(value, convert_bool)


def nan(value: Any) -> bool:
    """Whether a value is the number that is none; other values are not."""
    return isinstance(value, float) and value != value


def is_uri(value: Any, schemes: Any = None) -> bool:
    """A text that can be read as a URI, whose scheme is among the given ones; Ansible also takes
    one without a scheme for a URI."""
    from urllib.parse import urlsplit

    try:
        found = urlsplit(str(value))
    except ValueError:
        return False
    return not schemes or found.scheme in schemes


def is_url(value: Any, schemes: Any = None) -> bool:
    """A URI that names a server."""
    from urllib.parse import urlsplit

    return is_uri(value, schemes) and bool(urlsplit(str(value)).netloc)


def is_urn(value: Any) -> bool:
    return is_uri(value, ["urn"])


RESULT_TESTS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("changed", "change"), changed),
    **dict.fromkeys(("failed", "failure"), failed),
    **dict.fromkeys(("succeeded", "success", "successful"), succeeded),
    **dict.fromkeys(("skipped", "skip"), skipped),
    "reachable": reachable,
    "unreachable": unreachable,
    "started": started,
    "finished": finished,
    "timedout": timedout,
}

VALUE_TESTS: dict[str, Callable[..., Any]] = {
    "defined": defined,
    "undefined": is_missing,
    "match": match,
    "search": search,
    "regex": regex,
    **dict.fromkeys(("version", "version_compare"), version),
    **dict.fromkeys(("subset", "issubset"), subset),
    **dict.fromkeys(("superset", "issuperset"), superset),
    "contains": contains,
    "any": any,
    "all": all,
    "truthy": truthy,
    "falsy": falsy,
    **dict.fromkeys(("nan", "isnan"), nan),
    "uri": is_uri,
    "url": is_url,
    "urn": is_urn,
    **dict.fromkeys(("abs", "is_abs"), os.path.isabs),
}

FILE_TESTS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("file", "is_file"), os.path.isfile),
    **dict.fromkeys(("directory", "is_dir"), os.path.isdir),
    **dict.fromkeys(("link", "is_link"), os.path.islink),
    **dict.fromkeys(("mount", "is_mount"), os.path.ismount),
    **dict.fromkeys(("same_file", "is_same_file"), os.path.samefile),
    "exists": os.path.exists,
    "link_exists": os.path.lexists,
}


def _result(value: Any, test: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    raise TypeError(
        f"{test!r} asks about the result of a step; give the registered variable itself, not"
        f" {value!r}"
    )
