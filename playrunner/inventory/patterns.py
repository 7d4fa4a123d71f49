"""Host patterns: `all`, `gpu:&ready:!bad`, globs, `~regex`, `gpu[0]`, `gpu[1:3]`, `--limit`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from playrunner.errors import BadInput, Place
from playrunner.inventory.inventory import LOCALHOST_NAMES, Inventory
from playrunner.project import program
from playrunner.text.did_you_mean import did_you_mean
from playrunner.text.documents import read_text

_SUBSCRIPT = re.compile(r"(.+)\[(?:(-?\d{1,9})|(\d{1,9})[:-](\d{0,9}))\]")
_NAME_AND_PORT = re.compile(r"[^:\[\]]+:\d+")


def select(
    inventory: Inventory, pattern: str | Sequence[str], limit: str | None = None
) -> list[str]:
    """Names of the hosts a pattern means, in inventory order, parts of the pattern one after
    another."""
    names = _evaluate(inventory, _split(inventory, pattern))
    if not limit:
        return names
    parts = _limit_parts(inventory, limit)
    for part, place in parts:
        _refuse_unknown(inventory, part, place)
    allowed = set(_evaluate(inventory, [part for part, _ in parts]))
    return [name for name in names if name in allowed]


def _split(inventory: Inventory, pattern: str | Sequence[str]) -> list[str]:
    if not isinstance(pattern, str):
        return [part for text in pattern for part in _split(inventory, str(text))]
    texts = pattern.split(",")
    return [
        part.strip()
        for text in texts
        for part in _split_at_colons(inventory, text.strip())
        if part.strip()
    ]


def _split_at_colons(inventory: Inventory, text: str) -> list[str]:
    """Parts between colons; those of ranges, IPv6 addresses, ports and regular expressions'
    brackets do not count."""
    if (
        ":" not in text
        or text in inventory.hosts
        or text in inventory.groups
        or _NAME_AND_PORT.fullmatch(text)
    ):
        return [text]
    if _is_ipv6(text.lstrip("!&")):
        return [text]
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[(") - (letter in "])")
        if letter == ":" and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _is_ipv6(text: str) -> bool:
    if text.count(":") < 2 or text.strip("0123456789abcdefABCDEF:.%"):
        return False
    import ipaddress

    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _evaluate(inventory: Inventory, parts: Sequence[str]) -> list[str]:
    """Whatever order they are written in: first everything that adds, then what narrows, then what
    removes."""
    adding = [part for part in parts if part[0] not in "&!"]
    if not adding and parts:
        adding = ["all"]
    names: dict[str, None] = {}
    for part in adding:
        names.update(dict.fromkeys(_match(inventory, part)))
    for part in parts:
        if part[0] == "&":
            kept = set(_match(inventory, part[1:]))
            names = {name: None for name in names if name in kept}
    for part in parts:
        if part[0] == "!":
            removed = set(_match(inventory, part[1:]))
            names = {name: None for name in names if name not in removed}
    return list(names)


def _match(inventory: Inventory, part: str) -> list[str]:
    if part in inventory.hosts:
        return [part]
    name, subscript = _split_subscript(part)
    hosts = _match_name(inventory, name)
    if subscript is None or not hosts:
        return hosts
    if isinstance(subscript, slice):
        return hosts[subscript]
    if not -len(hosts) <= subscript < len(hosts):
        count = "1 host" if len(hosts) == 1 else f"{len(hosts)} hosts"
        raise BadInput(f'pattern "{part}": "{name}" has {count}, counted from 0')
    return [hosts[subscript]]


def _split_subscript(part: str) -> tuple[str, int | slice | None]:
    """The name before `[...]`, and the index or the hosts from first to last that it asks for."""
    match = None if part.startswith("~") else _SUBSCRIPT.fullmatch(part)
    if match is None:
        return part, None
    if match[2] is not None:
        return match[1], int(match[2])
    return match[1], slice(int(match[3]), int(match[4]) + 1 if match[4] else None)


def _match_name(inventory: Inventory, name: str) -> list[str]:
    hosts, groups = inventory.hosts, inventory.groups
    if name in ("all", "*"):
        return list(hosts)
    if name in groups:
        return list(groups[name])
    if name in hosts:
        return [name]
    if name in LOCALHOST_NAMES:
        return [next((known for known in LOCALHOST_NAMES if known in hosts), LOCALHOST_NAMES[0])]
    if not _is_open(name):
        return []
    found: dict[str, None] = {}
    for group in _matching(groups, name):
        found.update(dict.fromkeys(groups[group]))
    found.update(dict.fromkeys(_matching(hosts, name)))
    return list(found)


def _is_open(name: str) -> bool:
    """Whether a name is a glob or regular expression, which may match nothing."""
    return name.startswith("~") or any(mark in name for mark in "*?[")


def _matching(names: Iterable[str], pattern: str) -> list[str]:
    if not pattern.startswith("~"):
        return [name for name in names if fnmatchcase(name, pattern)]
    try:
        expression = re.compile(pattern[1:])
    except (re.error, OverflowError, RecursionError) as error:
        raise BadInput(f'pattern "{pattern}" is not a valid regular expression: {error}') from None
    return [name for name in names if expression.match(name)]


def _limit_parts(inventory: Inventory, limit: str) -> list[tuple[str, Place | None]]:
    """The parts of a limit and where each was written; `@FILE` means the lines of a file."""
    parts: list[tuple[str, Place | None]] = []
    for text in limit.split(","):
        text = text.strip()
        if not text.startswith("@"):
            parts += [(part, None) for part in _split(inventory, text)]
            continue
        file = Path(text[1:])
        if not file.exists():
            raise BadInput(f"Unable to find limit file {file}")
        if file.is_dir():
            raise BadInput(f'Limit starting with "@" must be a file, not a directory: {file}')
        for number, line in enumerate(read_text(file).splitlines(), start=1):
            if line.strip() and not line.strip().startswith("#"):
                parts += [(part, Place(str(file), number)) for part in _split(inventory, line)]
    return parts


def _refuse_unknown(inventory: Inventory, part: str, place: Place | None) -> None:
    name = part.lstrip("!&")
    known = {*inventory.hosts, *inventory.groups, *LOCALHOST_NAMES}
    bare, _ = _split_subscript(name)
    if name not in known and bare not in known and not _is_open(bare):
        remedy = did_you_mean(
            name, sorted(known), f"see them with: {program()} inventory.show --graph"
        )
        raise BadInput(f'--limit: no host or group is called "{name}"{remedy}', place)
