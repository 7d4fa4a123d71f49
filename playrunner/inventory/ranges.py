"""Host names with ranges and ports: `node[01:16]`, `rack[a:c]-n[0:10:2]`, `node1:2222`,
`[2001:db8::1]:22`."""

from __future__ import annotations

import re
from itertools import product
from string import ascii_letters

from playrunner.errors import BadInput, Place

# A slip such as [1:99999999] must not fill the memory.
MOST_HOSTS = 100_000

_BRACKETED = re.compile(r"\[([^\[\]]*)\]")
_WITH_PORT = re.compile(r"((?:[^:\[\]]|\[[^\[\]]*\])+):([0-9]{1,9})")
_IPV6_IN_BRACKETS = re.compile(
    r"\[([0-9A-Fa-f:.%]*:[0-9A-Fa-f:.%]*:[0-9A-Fa-f:.%]*)\](?::([0-9]{1,9}))?"
)


def expand(text: str, place: Place) -> tuple[list[str], int | None]:
    """The host names that a name with ranges expands to, and its port if it has one."""
    if not text.strip():
        raise BadInput("a host name is empty; name the host or remove the entry", place)
    name, port = split_port(text)
    if "[" not in name and "]" not in name:
        return [name], port
    return _expand_ranges(name, place), port


def split_port(text: str) -> tuple[str, int | None]:
    """A name and its port; the colons of ranges and IPv6 addresses are not ports."""
    address = _IPV6_IN_BRACKETS.fullmatch(text)
    if address:
        return address[1], int(address[2]) if address[2] else None
    with_port = _WITH_PORT.fullmatch(text)
    if with_port:
        return with_port[1], int(with_port[2]) or None
    return text, None


def _expand_ranges(name: str, place: Place) -> list[str]:
    pieces = _BRACKETED.split(name)
    fixed, ranges = pieces[0::2], pieces[1::2]
    if any("[" in piece or "]" in piece for piece in fixed):
        raise BadInput(
            f'host "{name}" has a bracket without its partner; a range is written node[01:16]',
            place,
        )
    choices = [_members(text, name, place) for text in ranges]
    total = 1
    for members in choices:
        total *= len(members)
    if total > MOST_HOSTS:
        raise BadInput(
            f'host "{name}" expands to {total} hosts; {MOST_HOSTS} is the most one range may give',
            place,
        )
    return [
        fixed[0]
        + "".join(member + rest for member, rest in zip(combination, fixed[1:], strict=True))
        for combination in product(*choices)
    ]


def _members(text: str, name: str, place: Place) -> list[str]:
    def refuse(reason: str) -> BadInput:
        return BadInput(f'host "{name}": range [{text}] {reason}', place)

    parts = text.split(":")
    if len(parts) not in (2, 3):
        raise refuse("must be [first:last] or [first:last:step]")
    first, last, step_text = parts[0] or "0", parts[1], parts[2] if len(parts) == 3 else "1"
    if not last:
        raise refuse("has no last value; write [first:last]")
    if not _is_number(step_text) or int(step_text) == 0:
        raise refuse("needs a step of 1 or more")
    step = int(step_text)
    if len(first) == len(last) == 1 and first in ascii_letters and last in ascii_letters:
        begin, end = ascii_letters.index(first), ascii_letters.index(last)
        if begin > end:
            raise refuse("ends before it begins; swap the two ends")
        return list(ascii_letters[begin : end + 1 : step])
    if not (_is_number(first) and _is_number(last)):
        raise refuse("must go from number to number or from letter to letter")
    width = len(first) if len(first) > 1 and first.startswith("0") else 0
    if width and len(last) != width:
        raise refuse(
            f"starts with {width} digits and ends with {len(last)}; write both with as many digits"
        )
    if int(first) > int(last):
        raise refuse("ends before it begins; swap the two ends")
    numbers = range(int(first), int(last) + 1, step)
    if len(numbers) > MOST_HOSTS:
        raise refuse(
            f"expands to {len(numbers)} hosts; {MOST_HOSTS} is the most one range may give"
        )
    return [f"{number:0{width}d}" if width else str(number) for number in numbers]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18
