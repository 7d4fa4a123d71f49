"""Requirements as pip writes them: which package, and does an installed version do?"""

from __future__ import annotations

from playrunner.modules.host._lines import read_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

RELATIONS = ("===", "==", ">=", "<=", "!=", "~=", ">", "<")


def listed(names: Any) -> list[str]:
    """Packages named one by one or with commas between; a comma before a relation belongs to the
    package."""
    packages: list[str] = []
    for part in (part.strip() for item in names or [] for part in str(item).split(",")):
        if part.startswith(("=", "<", ">", "!", "~")) and packages:
            packages[-1] += "," + part
        elif part:
            packages.append(part)
    return packages


def in_file(path: str) -> list[str]:
    """The requirements in a file; options and nested files count as one that only pip can read."""
    lines = [line.partition(" #")[0].strip() for line in read_lines(path)]
    return [line for line in lines if line and not line.startswith("#")]


def package_of(text: str) -> str:
    """The normal name of the package a requirement asks for."""
    if "#egg=" in text:
        return normal(text.partition("#egg=")[2])
    return normal(_split(text)[0])


def met_by(text: str, version: str) -> bool:
    """Whether an installed version does; False also when only pip can tell."""
    name, conditions = _split(text)
    if ":" in name or "/" in name or ";" in text or text.startswith("-"):
        return False
    have = _numbers(version)
    for condition in filter(None, conditions.split(",")):
        relation = next((sign for sign in RELATIONS if condition.strip().startswith(sign)), None)
        if relation is None:
            return False
        wanted = condition.strip()[len(relation) :].strip()
        need = _numbers(wanted)
        if wanted == version and "=" in relation and relation != "!=":
            continue
        if have is None or need is None or not _holds(have, relation, need):
            return False
    return True


def words(text: Optional[str]) -> list[str]:
    import shlex

    return shlex.split(text) if text else []


def normal(name: str) -> str:
    import re

    return re.sub(r"[-_.]+", "-", name.partition("[")[0].strip()).lower()


def _split(text: str) -> tuple[str, str]:
    import re

    found = re.match(r"([^=<>!~;\s]+)\s*([^;]*)", text)
    return (found.group(1), found.group(2)) if found else (text, "")


def _numbers(version: str) -> Optional[tuple[int, ...]]:
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else None


def _holds(have: tuple[int, ...], relation: str, need: tuple[int, ...]) -> bool:
    width = max(len(have), len(need))
    left, right = have + (0,) * (width - len(have)), need + (0,) * (width - len(need))
    if relation == "~=":
        return left >= right and have[: len(need) - 1] == need[:-1]
    return {
        "==": left == right,
        "===": left == right,
        "!=": left != right,
        ">=": left >= right,
        "<=": left <= right,
        ">": left > right,
        "<": left < right,
    }[relation]
