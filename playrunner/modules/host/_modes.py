"""File modes as playbooks write them: 0644 as a number, "0644" as text, or symbolic as chmod takes
them."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Union

_BITS = {"r": 4, "w": 2, "x": 1}
_SHIFTS = {"u": 6, "g": 3, "o": 0}


def mode_bits(mode: Union[int, str], current: int, is_folder: bool) -> int:
    """The permission bits that `mode` asks of something whose bits are `current`."""
    if isinstance(mode, int):
        return mode
    try:
        return int(mode, 8)
    except ValueError:
        pass
    for clause in mode.split(","):
        current = _symbolic(clause.strip(), current, is_folder, mode)
    return current


def octal(bits: int) -> str:
    return f"0{bits & 0o7777:03o}"


def default_bits(kind: str) -> int:
    """The permissions of a new file or folder when none are given."""
    umask = os.umask(0o077)
    os.umask(umask)
    return (0o777 if kind == "directory" else 0o666) & ~umask


def _symbolic(clause: str, current: int, is_folder: bool, whole: str) -> int:
    who = clause[: len(clause) - len(clause.lstrip("ugoa"))]
    rest = clause[len(who) :]
    if not rest:
        raise _not_a_mode(whole)
    while rest:
        operator, rest = rest[0], rest[1:]
        letters = rest[: len(rest) - len(rest.lstrip("rwxXstugo"))]
        rest = rest[len(letters) :]
        if operator not in "+-=" or (rest and rest[0] not in "+-="):
            raise _not_a_mode(whole)
        everyone = not who or "a" in who
        for user_class in "ugo" if everyone else who:
            bits = _letters(letters, user_class, current, is_folder)
            if not who:
                bits &= ~_umask()
            if operator == "+":
                current |= bits
            elif operator == "-":
                current &= ~bits
            else:
                special = {"u": 0o4000, "g": 0o2000, "o": 0o1000}[user_class]
                current = current & ~(7 << _SHIFTS[user_class] | special) | bits
    return current


def _letters(letters: str, user_class: str, current: int, is_folder: bool) -> int:
    bits = 0
    for letter in letters:
        if letter in _BITS:
            bits |= _BITS[letter] << _SHIFTS[user_class]
        elif letter == "X":
            bits |= 1 << _SHIFTS[user_class] if is_folder or current & 0o111 else 0
        elif letter == "s":
            bits |= {"u": 0o4000, "g": 0o2000, "o": 0}[user_class]
        elif letter == "t":
            bits |= 0o1000 if user_class == "o" else 0
        else:
            bits |= (current >> _SHIFTS[letter] & 7) << _SHIFTS[user_class]
    return bits


def _umask() -> int:
    return 0o777 & ~default_bits("directory")


def _not_a_mode(mode: str) -> Failed:
    return Failed(
        f'mode must be in octal or symbolic form, not "{mode}"; write it as "0644" or "u=rw,go=r"'
    )


def umask_of(text: Optional[str]) -> int:
    """A umask such as "0022" for ctx.run; -1, which leaves it as it is, when none is given."""
    if text is None:
        return -1
    try:
        return int(str(text), 8)
    except ValueError:
        raise Failed(f"umask must be an octal number, not {text!r}") from None
