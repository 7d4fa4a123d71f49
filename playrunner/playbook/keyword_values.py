"""What the values of keywords have to be: checked when they are loaded, or once a template gave
them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from playrunner.errors import BadArgument, Place, StepFailed
from playrunner.playbook import arguments
from playrunner.text.documents import Located
from playrunner.variables.templating import is_template

if TYPE_CHECKING:
    from playrunner.variables.scope import Scope

MOST_SECONDS = 1_000_000_000  # 31 years; the system's clocks overflow at some more
MOST_TIMEOUT = 100_000_000  # Ansible's own limit
_FLAGS = (
    "become",
    "check_mode",
    "diff",
    "run_once",
    "ignore_errors",
    "ignore_unreachable",
    "no_log",
    "any_errors_fatal",
    "delegate_facts",
    "gather_facts",
    "force_handlers",
    "keep",
)
_LOOP_FLAGS = ("extended", "extended_allitems")
_TEXTS = (
    "become_user",
    "become_method",
    "become_flags",
    "become_exe",
    "delegate_to",
    "connection",
    "remote_user",
)
_NAMES = ("loop_var", "index_var")


def check(entry: Located) -> None:
    """Refuse the first keyword whose written value cannot be used; a template's is checked when it
    runs."""
    _check(entry, _KINDS)


def check_loop_control(entry: Located) -> None:
    """The same for loop_control, whose `pause` is a module's name on a task."""
    _check(entry, _LOOP_KINDS)


def _check(entry: Located, kinds: Mapping[str, Callable[[Any], Any]]) -> None:
    for word, value in entry.items():
        kind = kinds.get(word)
        if kind is None or value is None or is_template(value):
            continue
        if word == "gather_facts" and "hosts" not in entry:
            continue  # a task: there it is a module
        try:
            kind(value)
        except ValueError as error:
            message = f"{word} {error}"
            said = f"Timeout {value} is invalid: it {error}" if word == "timeout" else message
            raise BadArgument(message, entry.place(word), said) from None


def whole(word: str, value: Any, scope: Scope, place: Place) -> int:
    """A keyword as a whole number, perhaps through a template."""
    return int(_rendered(word, value, scope, place))


def number(word: str, value: Any, scope: Scope, place: Place) -> float:
    """A keyword as a number, perhaps through a template."""
    return float(_rendered(word, value, scope, place))


def name(word: str, value: Any, scope: Scope, place: Place) -> str:
    """A keyword as the name of a variable, perhaps through a template."""
    return str(_rendered(word, value, scope, place))


def _rendered(word: str, value: Any, scope: Scope, place: Place) -> Any:
    try:
        return {**_KINDS, **_LOOP_KINDS}[word](scope.run_vars.templar.render(value, scope))
    except ValueError as error:
        raise StepFailed(f"{place}: {word} {error}") from None


def _seconds(value: Any) -> float:
    return float(_number(value, float, 0, MOST_SECONDS, "seconds"))


def _timeout(value: Any) -> float:
    return float(_number(value, float, 0, MOST_TIMEOUT, "seconds"))


def _whole_seconds(value: Any) -> int:
    return int(_number(value, int, 0, MOST_SECONDS, "seconds"))


def _count(value: Any) -> int:
    return int(_number(value, int, 0, MOST_SECONDS, "a whole number"))


def _port(value: Any) -> int:
    return int(_number(value, int, 1, 65535, "a port"))


def _percentage(value: Any) -> float:
    text = value.strip().removesuffix("%") if isinstance(value, str) else value
    return float(_number(text, float, 0, MOST_SECONDS, "a percentage"))


def _number(value: Any, kind: Any, least: int, most: int, what: str) -> Any:
    try:
        if isinstance(value, bool):
            raise ValueError
        amount = arguments.convert(value, kind)
    except ValueError:
        raise ValueError(f"takes {what}, not {_shown(value)}") from None
    if not least <= amount <= most:
        raise ValueError(f"takes {what} from {least} to {most}, not {_shown(value)}")
    return amount


def _text(value: Any) -> str:
    if isinstance(value, (dict, list, set, bytes)):
        raise ValueError(f"takes plain text, not {_shown(value)}")
    return str(value)


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value.isidentifier():
        raise ValueError(f"takes the name of a variable, not {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list) else repr(value)[:60]


_KINDS: dict[str, Callable[[Any], Any]] = {
    "timeout": _timeout,
    "delay": _seconds,
    "poll": _seconds,
    "async": _whole_seconds,
    "retries": _count,
    "throttle": _count,
    "port": _port,
    "max_fail_percentage": _percentage,
    **dict.fromkeys(_FLAGS, arguments.as_bool),
    **dict.fromkeys(_TEXTS, _text),
}
_LOOP_KINDS: dict[str, Callable[[Any], Any]] = {
    "pause": _seconds,
    **dict.fromkeys(_LOOP_FLAGS, arguments.as_bool),
    **dict.fromkeys(_NAMES, _name),
}
